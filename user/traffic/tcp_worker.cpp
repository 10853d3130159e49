// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/tcp_worker.h"

#include "user/traffic/data_header.h"
#include "user/traffic/tuning.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace::traffic {
namespace {

constexpr std::uint64_t connect_timeout_ns = 5'000'000'000;
constexpr std::uint8_t payload_byte = 0x42, canary_byte = 0xa5;

// What has become of a connection, as a positive errno; 0: it is made.
int pending_error(int fd) {
    int error = 0;
    socklen_t size = sizeof(error);
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

} // namespace

TcpWorker::TcpWorker(EngineShared& shared, std::optional<unsigned> cpu) : Worker(shared, cpu) {
    connects_at_a_time_ = std::max<std::size_t>(connects_at_a_time / std::max(shared.threads, 1U), 1);
    chunk_ = options().length != 0 ? options().length : default_chunk;
    if (options().rate > 0) {
        ns_per_byte_ = 8e9 / options().rate;
        // Small enough that a flow sends every few milliseconds, large enough that it costs little.
        if (options().length == 0)
            chunk_ = static_cast<std::uint32_t>(std::clamp(options().rate / 8 * paced_chunk_seconds, 1448.0,
                                                           static_cast<double>(default_chunk)));
    }
    send_buffer_ = MappedBuffer(chunk_);
    std::memset(send_buffer_.data(), payload_byte, chunk_);
    receive_buffer_ = MappedBuffer(discard_size);
    std::memset(receive_buffer_.data(), canary_byte, receive_size);
    if (!options().no_copy) return;
    truncating_ = !shared.masked.has(Feature::msg_trunc);
    if (shared.masked.has(Feature::sendfile) || !shared.sends()) return;
    Fd pages(memfd_create("bondtrace-payload", MFD_CLOEXEC));
    if (!pages.valid() || write(pages.get(), send_buffer_.data(), chunk_) != static_cast<ssize_t>(chunk_))
        return;
    pages_ = std::move(pages);
    sending_pages_ = true;
    features_.add(Feature::sendfile);
}

TcpWorker::~TcpWorker() {
    join();
}

void TcpWorker::on_open(std::size_t slot) {
    to_connect_.push_back(slot);
    start_connects();
}

void TcpWorker::start_connects() {
    while (!to_connect_.empty() && connecting_.size() < connects_at_a_time_) {
        const std::size_t slot = to_connect_.front();
        to_connect_.pop_front();
        if (!open_socket(slot)) continue;
        Flow& flow = flows_[slot];
        const auto [remote, added] =
            connecting_.emplace(slot, to_socket_address(flow.address.remote, flow.address.remote_port));
        io_uring_prep_connect(ring_->prepare(user_data(Op::connect, slot)), flow.fd.get(),
                              remote->second.get(), remote->second.length);
        set_timer(slot, now_ns() + connect_timeout_ns);
    }
}

void TcpWorker::connect_ended(std::size_t slot, int result) {
    Flow& flow = flows_[slot];
    if (result > 0) result = -pending_error(flow.fd.get()); // of the poll below
    if (result == 0) {
        const auto hello = encode(DataHello{shared_.token, flow.index});
        // The send buffer of a new connection is empty: it takes this at once.
        if (send(flow.fd.get(), hello.data(), hello.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
            static_cast<ssize_t>(hello.size()))
            result = -errno;
        if (result == -EAGAIN) {
            // io_uring may call a connection made that a router or firewall has refused without the kernel
            // giving up yet: it still tries, and says in the end what came of it.
            io_uring_prep_poll_add(ring_->prepare(user_data(Op::connect, slot)), flow.fd.get(), POLLOUT);
            return;
        }
    }
    connecting_.erase(slot);
    flow.timer_ns = 0;
    if (const auto local = local_of(flow.fd.get())) {
        flow.address.local = local->first;
        flow.address.local_port = local->second;
    }
    if (result < 0) {
        // It was cancelled since its time was over.
        const int error = result == -ECANCELED ? ETIMEDOUT : -result;
        fail_flow(flow, words_.explain({Step::connect, error}, flow.address, options()).what);
        flow.fd.reset();
    } else {
        established(flow);
        start_flow(slot);
    }
    settle();
    start_connects();
}

void TcpWorker::on_adopt(std::size_t slot) {
    Flow& flow = flows_[slot];
    if (const auto refused = set_accepted_options(options(), flow.fd.get())) {
        fail_flow(flow, words_.explain(*refused, flow.address, options()).what);
        flow.fd.reset();
        return;
    }
    established(flow);
    start_flow(slot);
}

// What an established flow does from the beginning; sending waits for the test to begin.
void TcpWorker::start_flow(std::size_t slot) {
    Flow& flow = flows_[slot];
    if (flow.sender) {
        limit_rate(flow);
        if (sending_pages_) {
            const int flags = fcntl(flow.fd.get(), F_GETFL);
            fcntl(flow.fd.get(), F_SETFL, flags | O_NONBLOCK); // sendfile knows no flags
        }
    }
    cap_buffers(flow);
    // Bulk need not be woken up for each segment; the end of a flow wakes up as well.
    if (flow.receiver && options().rate == 0 && options().length == 0 &&
        shared_.flow_count <= low_water_flows) {
        const int least = low_water;
        setsockopt(flow.fd.get(), SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
    }
    if (flow.receiver) issue_receive(slot);
    if (start_ns_ != 0 && flow.sender) next_send(slot);
}

// On a short path, more than this in flight adds nothing but cache misses (docs/performance.md).
void TcpWorker::cap_buffers(const Flow& flow) const {
    if (options().window != 0 || shared_.flow_count < capped_from_flows) return;
    const auto sample = tcp_sample(flow.fd.get());
    if (!sample || sample->rtt_us > short_path_us) return;
    const auto cap = [&](int name, std::uint32_t size) {
        const int asked = static_cast<int>(size / 2); // the kernel doubles it
        setsockopt(flow.fd.get(), SOL_SOCKET, name, &asked, sizeof(asked));
    };
    if (flow.sender) cap(SO_SNDBUF, send_buffer_cap(shared_.flow_count));
    if (!flow.receiver || shared_.flow_count < receive_capped_from_flows) return;
    cap(SO_RCVBUF, receive_buffer_cap);
}

// The ring's timers give the rate; the kernel smooths what lies between two of them.
void TcpWorker::limit_rate(Flow& flow) const {
    if (ns_per_byte_ == 0) return;
    const int on = 1;
    setsockopt(flow.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void TcpWorker::on_begin() {
    for (std::size_t slot = 0; slot < flows_.size(); ++slot) {
        Flow& flow = flows_[slot];
        if (!flow.sender) continue;
        if (ns_per_byte_ != 0) { // not all at the same moment
            const double period = ns_per_byte_ * chunk_;
            flow.due_ns = start_ns_ + static_cast<std::uint64_t>(period * static_cast<double>(flow.index) /
                                                                 shared_.flow_count);
            set_timer(slot, flow.due_ns);
        } else {
            next_send(slot);
        }
    }
}

void TcpWorker::on_stop() {
    for (Flow& flow : flows_)
        if (flow.sender) end_sending(flow);
    ready_.clear();
}

void TcpWorker::on_timer(std::size_t slot) {
    Flow& flow = flows_[slot];
    if (flow.state == Flow::State::connecting)
        io_uring_prep_cancel64(ring_->prepare(user_data(Op::cancel, slot)), user_data(Op::connect, slot), 0);
    else if (flow.sender && !flow.sending)
        next_send(slot);
}

void TcpWorker::next_send(std::size_t slot) {
    Flow& flow = flows_[slot];
    if (!flow.sender || start_ns_ == 0) return;
    const std::uint64_t limit = options().bytes;
    if (stopping_ || (limit != 0 && flow.sent >= limit)) {
        end_sending(flow);
        return;
    }
    flow.chunk_left = limit != 0 ? std::min<std::uint64_t>(chunk_, limit - flow.sent) : chunk_;
    if (options().pace.kind == Pace::Kind::busy) compute(options().pace.amount);
    if (options().pace.kind == Pace::Kind::yield) sched_yield();
    if (sending_pages_)
        ready_.push_back(slot);
    else
        issue_send(slot);
}

void TcpWorker::issue_send(std::size_t slot) {
    Flow& flow = flows_[slot];
    flow.sending = true;
    io_uring_prep_send(ring_->prepare(user_data(Op::send, slot)), flow.fd.get(), send_buffer_.data(),
                       flow.chunk_left, MSG_NOSIGNAL);
}

void TcpWorker::send_ended(std::size_t slot, int result) {
    Flow& flow = flows_[slot];
    flow.sending = false;
    if (result > 0) {
        sent_some(slot, static_cast<std::uint64_t>(result));
    } else if (stopping_) {
        sender_ended(flow); // it waited when sending was shut down
    } else if (result == -EAGAIN || result == -EINTR) {
        issue_send(slot);
    } else {
        fail_flow(flow, words_.explain({Step::send, -result}, flow.address, options()).what);
    }
}

void TcpWorker::sent_some(std::size_t slot, std::uint64_t bytes) {
    Flow& flow = flows_[slot];
    count_sent(flow, bytes, 0);
    flow.chunk_left -= std::min(bytes, flow.chunk_left);
    if (stopping_) {
        sender_ended(flow);
        return;
    }
    if (flow.chunk_left != 0) {
        sending_pages_ ? ready_.push_back(slot) : issue_send(slot);
        return;
    }
    if (ns_per_byte_ != 0) {
        flow.due_exact_ns += ns_per_byte_ * chunk_;
        const auto whole = static_cast<std::uint64_t>(flow.due_exact_ns);
        flow.due_exact_ns -= static_cast<double>(whole);
        flow.due_ns += whole;
        flow.due_ns = std::max(flow.due_ns, now_ - most_debt_ns);
        if (flow.due_ns > now_) {
            set_timer(slot, flow.due_ns);
            return;
        }
    }
    if (options().pace.kind == Pace::Kind::sleep)
        set_timer(slot, now_ns() + options().pace.amount * 1'000);
    else
        next_send(slot);
}

bool TcpWorker::on_ready() {
    // Each flow once; those that take more come again, after what the ring has completed.
    for (std::size_t left = ready_.size(); left != 0 && !ready_.empty(); --left) {
        const std::size_t slot = ready_.front();
        ready_.pop_front();
        if (flows_[slot].sender) issue_send_file(slot);
    }
    return !ready_.empty();
}

void TcpWorker::issue_send_file(std::size_t slot) {
    Flow& flow = flows_[slot];
    off_t offset = 0;
    const ssize_t sent = sendfile(flow.fd.get(), pages_.get(), &offset, flow.chunk_left);
    if (sent > 0) {
        sent_some(slot, static_cast<std::uint64_t>(sent));
    } else if (sent < 0 && errno == EAGAIN) {
        flow.sending = true;
        io_uring_prep_poll_add(ring_->prepare(user_data(Op::poll, slot)), flow.fd.get(), POLLOUT);
    } else if (sent < 0 && errno == EINTR) {
        ready_.push_back(slot);
    } else {
        fail_flow(flow, words_.explain({Step::send, sent == 0 ? EIO : errno}, flow.address, options()).what);
    }
}

void TcpWorker::end_sending(Flow& flow) {
    // Delivers what is queued, then says that this was all; a send that waits for room is woken up by it.
    shutdown(flow.fd.get(), SHUT_WR);
    if (!flow.sending) sender_ended(flow);
}

void TcpWorker::issue_receive(std::size_t slot) {
    io_uring_prep_recv(ring_->prepare(user_data(Op::receive, slot)), flows_[slot].fd.get(),
                       receive_buffer_.data(), truncating_ ? discard_size : receive_size,
                       truncating_ ? MSG_TRUNC : 0);
}

void TcpWorker::receive_ended(std::size_t slot, int result) {
    Flow& flow = flows_[slot];
    if (result > 0) {
        if (truncating_ && !truncation_tried_) {
            truncation_tried_ = true; // was it discarded, or is it in the buffer?
            truncating_ = *receive_buffer_.data() == canary_byte;
            if (truncating_) features_.add(Feature::msg_trunc);
        }
        count_received(flow, static_cast<std::uint64_t>(result), 0);
        issue_receive(slot);
    } else if (result == -EAGAIN || result == -EINTR) {
        issue_receive(slot);
    } else if (result == -EINVAL && truncating_ && !truncation_tried_) {
        truncation_tried_ = true;
        truncating_ = false;
        issue_receive(slot);
    } else if (result == 0) {
        receiver_ended(flow);
    } else {
        fail_flow(flow, words_.explain({Step::receive, -result}, flow.address, options()).what);
    }
}

void TcpWorker::on_completion(Op op, std::size_t slot, int result) {
    switch (op) {
    case Op::connect:
        connect_ended(slot, result);
        break;
    case Op::send:
        send_ended(slot, result);
        break;
    case Op::receive:
        receive_ended(slot, result);
        break;
    case Op::poll:
        flows_[slot].sending = false;
        if (stopping_)
            sender_ended(flows_[slot]);
        else if (flows_[slot].sender)
            ready_.push_back(slot);
        break;
    case Op::poll_in:
    case Op::cancel:
    case Op::wake:
        break;
    }
}

void TcpWorker::on_interval(Flow& flow) {
    Worker::on_interval(flow);
    const auto sample = tcp_sample(flow.fd.get());
    if (!sample) return;
    ++flow.samples;
    flow.rtt_sum_us += sample->rtt_us;
    flow.tcp.rtt_max_us = std::max(flow.tcp.rtt_max_us, sample->rtt_us);
}

} // namespace bondtrace::traffic
