// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/udp_worker.h"

#include "user/traffic/tuning.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

namespace bondtrace::traffic {
namespace {

constexpr std::size_t hellos_at_a_time = 512;
constexpr std::uint64_t hello_again_ns = 250'000'000;
constexpr unsigned most_hellos = 20;             // 5 s
constexpr int generous_buffer = 4 * 1024 * 1024; // of a receiver, bytes; cut to net.core.rmem_max

std::size_t held_size(const TestOptions& options) {
    if (options.gso) return udp_max_payload;
    // Nothing but the headers is looked at.
    return options.no_copy ? datagram_header_size : options.length;
}

std::size_t segments_of(const TestOptions& options, bool can_segment) {
    if (!options.gso || !can_segment) return 1;
    return std::clamp<std::size_t>(udp_max_payload / std::max(options.length, 1U), 1, udp_max_segments);
}

template<typename Value> bool set(int fd, int level, int name, const Value& value) {
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

bool join_datagrams(int fd) {
    return set(fd, IPPROTO_UDP, UDP_GRO, 1);
}

} // namespace

UdpWorker::UdpWorker(EngineShared& shared, std::optional<unsigned> cpu, Fd socket)
    : Worker(shared, cpu), socket_(std::move(socket)), tag_(datagram_tag(shared.token)),
      slot_of_(shared.flow_count, unknown),
      received_(shared.options.gso ? udp_joined_batch : udp_batch, held_size(shared.options)),
      to_send_(shared.options.gso ? udp_joined_batch : udp_batch,
               segments_of(shared.options, !shared.masked.has(Feature::udp_segment)), shared.options.length) {
    if (options().rate > 0) ns_per_datagram_ = 8e9 * options().length / options().rate;
}

UdpWorker::~UdpWorker() {
    join();
}

Result<Fd> UdpWorker::open_shared(const TestOptions& options, const IpAddress& listen, std::uint16_t port) {
    const auto where = endpoint_text(listen, port);
    Fd fd(socket(listen.v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd.valid()) return fail_errno(errno, "making a UDP socket");
    set(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
    if (listen.v6) {
        if (listen == IpAddress{true, {}}) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
        set(fd.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    } else {
        set(fd.get(), IPPROTO_IP, IP_PKTINFO, 1);
    }
    if (options.window == 0) set(fd.get(), SOL_SOCKET, SO_RCVBUF, generous_buffer);
    if (const auto refused = set_common_options(options, listen.v6, fd.get()))
        return fail_errno(refused->error, refused->step == Step::dscp
                                              ? "setting the DSCP of a UDP socket"
                                              : "setting the buffers of a UDP socket");
    if (options.dscp && listen.v6) set(fd.get(), IPPROTO_IP, IP_TOS, *options.dscp << 2);
    const SocketAddress local = to_socket_address(listen, port);
    if (bind(fd.get(), local.get(), local.length) != 0)
        return fail_errno(errno, "listening for UDP on " + where,
                          errno == EADDRINUSE ? "another program uses this UDP port: choose another --port"
                                              : "");
    return fd;
}

int UdpWorker::fd_of(std::size_t slot) const {
    return socket_.valid() ? socket_.get() : flows_[slot].fd.get();
}

void UdpWorker::on_launched() {
    if (!socket_.valid()) return;
    if (options().gso) {
        if (shared_.receives() && !shared_.masked.has(Feature::udp_gro) && join_datagrams(socket_.get()))
            features_.add(Feature::udp_gro);
        if (shared_.sends() && to_send_.segments() > 1 &&
            set(socket_.get(), IPPROTO_UDP, UDP_SEGMENT, static_cast<int>(options().length)))
            features_.add(Feature::udp_segment);
    }
    arm_receive(shared_slot);
}

// --- client: opening

void UdpWorker::on_open(std::size_t slot) {
    peers_.emplace_back();
    slot_of_[flows_[slot].index] = static_cast<std::uint32_t>(slot);
    to_greet_.push_back(slot);
    start_hellos();
}

void UdpWorker::start_hellos() {
    while (!to_greet_.empty() && greeting_ < hellos_at_a_time) {
        const std::size_t slot = to_greet_.front();
        to_greet_.pop_front();
        if (!open_socket(slot)) continue;
        Flow& flow = flows_[slot];
        ++greeting_;
        const SocketAddress remote = to_socket_address(flow.address.remote, flow.address.remote_port);
        if (connect(flow.fd.get(), remote.get(), remote.length) != 0) {
            hello_failed(slot, errno);
            continue;
        }
        if (const auto local = local_of(flow.fd.get())) {
            flow.address.local = local->first;
            flow.address.local_port = local->second;
        }
        if (shared_.receives() && options().window == 0)
            set(flow.fd.get(), SOL_SOCKET, SO_RCVBUF, generous_buffer);
        if (options().gso && shared_.receives() && !shared_.masked.has(Feature::udp_gro) &&
            join_datagrams(flow.fd.get()))
            features_.add(Feature::udp_gro);
        if (shared_.sends() && to_send_.segments() > 1) {
            if (!set(flow.fd.get(), IPPROTO_UDP, UDP_SEGMENT, static_cast<int>(options().length))) {
                hello_failed(slot, errno, Step::segment);
                continue;
            }
            features_.add(Feature::udp_segment);
        }
        arm_receive(slot);
        say_hello(slot);
    }
}

void UdpWorker::say_hello(std::size_t slot) {
    Flow& flow = flows_[slot];
    std::array<std::uint8_t, datagram_header_size> bytes{};
    encode(DatagramHeader{DatagramKind::hello, flow.index, tag_, 0, now_}, bytes);
    const int error = send_datagram(flow.fd.get(), bytes, nullptr);
    // A full queue of the device is no more than a loss; what an earlier hello brought back is final.
    if (error != 0 && error != EAGAIN && error != ENOBUFS) {
        hello_failed(slot, error);
        return;
    }
    ++peers_[slot].hellos;
    set_timer(slot, now_ + hello_again_ns);
}

void UdpWorker::hello_failed(std::size_t slot, int error, Step step) {
    Flow& flow = flows_[slot];
    if (flow.state != Flow::State::connecting) return;
    flow.timer_ns = 0;
    fail_flow(flow, words_.explain({step, error}, flow.address, options()).what);
    --greeting_;
    settle();
}

void UdpWorker::answered(std::size_t slot) {
    Flow& flow = flows_[slot];
    if (flow.state != Flow::State::connecting) return;
    flow.timer_ns = 0;
    --greeting_;
    established(flow);
    settle();
    if (start_ns_ != 0) begin_flow(slot);
    start_hellos();
}

// --- server: opening

void UdpWorker::accept_hello(const DatagramHeader& header, const DatagramEnds& ends) {
    std::uint32_t& slot = slot_of_[header.flow];
    if (slot == unknown) {
        // Another worker's, whose answer was lost on the way? That one answers.
        if (shared_.claimed[header.flow].exchange(true)) return;
        const auto remote = from_socket_address(ends.remote);
        if (!remote) return;
        slot = static_cast<std::uint32_t>(flows_.size());
        Flow& flow = flows_.emplace_back();
        flow.index = header.flow;
        flow.address.remote = remote->first;
        flow.address.remote_port = remote->second;
        if (const auto local = local_of(socket_.get())) {
            flow.address.local = local->first;
            flow.address.local_port = local->second;
        }
        if (ends.local6) {
            const auto local = to_socket_address(IpAddress{true, {}}, 0);
            SocketAddress mapped = local;
            reinterpret_cast<sockaddr_in6*>(&mapped.storage)->sin6_addr = ends.local6->ipi6_addr;
            if (const auto address = from_socket_address(mapped)) flow.address.local = address->first;
        } else if (ends.local4) {
            SocketAddress local = to_socket_address(IpAddress{}, 0);
            reinterpret_cast<sockaddr_in*>(&local.storage)->sin_addr = ends.local4->ipi_addr;
            if (const auto address = from_socket_address(local)) flow.address.local = address->first;
        }
        peers_.emplace_back().ends = ends;
        established(flow);
        if (start_ns_ != 0) begin_flow(slot);
    }
    std::array<std::uint8_t, datagram_header_size> bytes{};
    encode(DatagramHeader{DatagramKind::answer, header.flow, tag_, 0, now_}, bytes);
    (void)send_datagram(socket_.get(), bytes, &peers_[slot].ends); // lost: the client asks again
}

// --- receiving

void UdpWorker::arm_receive(std::size_t slot) {
    const int fd = slot == shared_slot ? socket_.get() : flows_[slot].fd.get();
    io_uring_prep_poll_add(ring_->prepare(user_data(Op::poll_in, slot)), fd, POLLIN);
}

void UdpWorker::receive(std::size_t slot) {
    const bool own = slot != shared_slot;
    const int fd = own ? flows_[slot].fd.get() : socket_.get();
    const int count = received_.receive(fd);
    if (count < 0 && count != -EAGAIN && count != -EINTR && own) {
        // ICMP has answered an earlier datagram.
        if (flows_[slot].state == Flow::State::connecting) {
            hello_failed(slot, -count);
            start_hellos();
        } else {
            fail_flow(flows_[slot],
                      words_.explain({Step::receive, -count}, flows_[slot].address, options()).what);
        }
        return;
    }
    for (std::size_t message = 0; message < static_cast<std::size_t>(std::max(count, 0)); ++message) {
        const auto bytes = received_.bytes(message);
        const std::size_t length = received_.length(message);
        std::size_t segment = options().gso ? received_.segment(message) : 0;
        if (segment == 0) segment = length;
        for (std::size_t at = 0; at < std::max<std::size_t>(length, 1); at += segment) {
            const auto header = at < bytes.size() ? decode_datagram(bytes.subspan(at)) : std::nullopt;
            if (!header || header->tag != tag_ || header->flow >= slot_of_.size())
                shared_.strays.fetch_add(1, std::memory_order_relaxed);
            else
                take_datagram(*header, std::min(segment, length - at), message);
            if (segment == 0) break;
        }
    }
    if (count == static_cast<int>(received_.capacity()))
        ready_receive_.push_back(slot); // there may be more
    else if (!own || flows_[slot].receiver || flows_[slot].state == Flow::State::connecting)
        arm_receive(slot);
}

void UdpWorker::take_datagram(const DatagramHeader& header, std::size_t length, std::size_t message) {
    if (header.kind == DatagramKind::hello) {
        if (socket_.valid()) accept_hello(header, received_.ends(message));
        return;
    }
    const std::uint32_t slot = slot_of_[header.flow];
    if (slot == unknown) {
        shared_.strays.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    if (header.kind == DatagramKind::answer) {
        if (!socket_.valid()) answered(slot);
        return;
    }
    Flow& flow = flows_[slot];
    if (!flow.receiver) return;
    peers_[slot].sequence.arrived(header.sequence, header.sent_ns, now_);
    count_received(flow, length, 1);
}

// --- sending

void UdpWorker::on_begin() {
    for (std::size_t slot = 0; slot < flows_.size(); ++slot)
        begin_flow(slot);
}

void UdpWorker::begin_flow(std::size_t slot) {
    Flow& flow = flows_[slot];
    if (!flow.sender) return;
    if (ns_per_datagram_ == 0) {
        ready_send_.push_back(slot);
        return;
    }
    // Not all at the same moment.
    flow.due_ns = start_ns_ + static_cast<std::uint64_t>(ns_per_datagram_ * static_cast<double>(flow.index) /
                                                         shared_.flow_count);
    set_timer(slot, flow.due_ns);
}

// How many datagrams the flow may send now.
std::size_t UdpWorker::due_datagrams(const Flow& flow) const {
    std::size_t most = to_send_.capacity() * to_send_.segments();
    if (options().pace.kind != Pace::Kind::none) most = to_send_.segments();
    if (options().bytes != 0)
        most = std::min<std::size_t>(most,
                                     (options().bytes - flow.sent + options().length - 1) / options().length);
    if (ns_per_datagram_ == 0) return most;
    if (flow.due_ns > now_) return 0;
    const double due = static_cast<double>(now_ - flow.due_ns) / ns_per_datagram_;
    return std::min<std::size_t>(most, 1 + static_cast<std::size_t>(due));
}

void UdpWorker::send(std::size_t slot) {
    Flow& flow = flows_[slot];
    if (!flow.sender || peers_[slot].waiting) return;
    const std::size_t wanted = due_datagrams(flow);
    if (options().pace.kind == Pace::Kind::busy) compute(options().pace.amount);
    if (options().pace.kind == Pace::Kind::yield) sched_yield();
    Peer& peer = peers_[slot];
    std::size_t done = 0;
    if (wanted != 0) {
        const std::size_t messages = to_send_.fill(
            DatagramHeader{DatagramKind::data, flow.index, tag_, peer.next_sequence, now_}, wanted);
        to_send_.address(socket_.valid() ? &peer.ends : nullptr);
        const int count = to_send_.send(fd_of(slot), messages);
        if (count == -EAGAIN) {
            peer.waiting = true;
            io_uring_prep_poll_add(ring_->prepare(user_data(Op::poll, slot)), fd_of(slot), POLLOUT);
            return;
        }
        if (count < 0 && count != -EINTR && count != -ENOBUFS) {
            fail_flow(flow, words_.explain({Step::send, -count}, flow.address, options()).what);
            return;
        }
        done = count > 0 ? to_send_.datagrams(static_cast<std::size_t>(count)) : 0;
    }
    after_send(slot, done);
}

void UdpWorker::after_send(std::size_t slot, std::size_t datagrams) {
    Flow& flow = flows_[slot];
    peers_[slot].next_sequence += datagrams;
    if (datagrams != 0) count_sent(flow, datagrams * options().length, datagrams);
    if (options().bytes != 0 && flow.sent >= options().bytes) {
        sender_ended(flow);
        return;
    }
    if (ns_per_datagram_ != 0) {
        flow.due_exact_ns += ns_per_datagram_ * static_cast<double>(datagrams);
        const auto whole = static_cast<std::uint64_t>(flow.due_exact_ns);
        flow.due_exact_ns -= static_cast<double>(whole);
        flow.due_ns += whole;
        flow.due_ns = std::max(flow.due_ns, now_ - most_debt_ns);
        set_timer(slot, std::max(flow.due_ns, now_));
    } else if (options().pace.kind == Pace::Kind::sleep) {
        set_timer(slot, now_ns() + options().pace.amount * 1'000);
    } else {
        ready_send_.push_back(slot);
    }
}

void UdpWorker::on_stop() {
    for (Flow& flow : flows_)
        sender_ended(flow);
    ready_send_.clear();
}

// --- what the loop brings

void UdpWorker::on_timer(std::size_t slot) {
    if (flows_[slot].state != Flow::State::connecting) {
        send(slot);
    } else if (peers_[slot].hellos >= most_hellos) {
        hello_failed(slot, ETIMEDOUT);
        start_hellos();
    } else {
        say_hello(slot);
    }
}

void UdpWorker::on_completion(Op op, std::size_t slot, int) {
    if (op == Op::poll_in) {
        receive(slot);
    } else if (op == Op::poll) {
        peers_[slot].waiting = false;
        send(slot);
    }
}

bool UdpWorker::on_ready() {
    for (std::size_t left = ready_receive_.size(); left != 0; --left) {
        const std::size_t slot = ready_receive_.front();
        ready_receive_.pop_front();
        receive(slot);
    }
    for (std::size_t left = ready_send_.size(); left != 0 && !ready_send_.empty(); --left) {
        const std::size_t slot = ready_send_.front();
        ready_send_.pop_front();
        send(slot);
    }
    return !ready_receive_.empty() || !ready_send_.empty();
}

FlowResult UdpWorker::result_of(const Flow& flow) const {
    FlowResult result = Worker::result_of(flow);
    const std::uint32_t slot = slot_of_[flow.index];
    if (shared_.receives() && flow.was_established && slot != unknown)
        result.udp = peers_[slot].sequence.facts();
    return result;
}

} // namespace bondtrace::traffic
