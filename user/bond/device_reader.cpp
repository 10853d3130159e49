// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/device_reader.h"

#include "user/base/fd.h"
#include "user/base/program_names.h"
#include "user/bond/device_message.h"
#include "user/bond/netlink_request.h"
#include "user/bond/netlink_socket.h"
#include "user/bond/packet_sockets.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <libmnl/libmnl.h>
#include <linux/bpf.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bondtrace {
namespace {

using Bytes = std::span<const std::byte>;
using netlink::Request;
using std::chrono::steady_clock;

constexpr std::chrono::seconds answer_timeout{5};
constexpr std::size_t most_programs = 64; // of an interface; more than anybody reads
// Younger than the headers this is built with (enum bpf_attach_type, 6.6).
constexpr std::uint32_t bpf_tcx_ingress = 46, bpf_tcx_egress = 47;

// Sends a request and calls `use` for each message that answers it. Returns the errno that the kernel ended
// with, 0 for success.
Result<int> ask(NetlinkSocket& socket, nlmsghdr* request, const std::function<void(Bytes)>& use) {
    static thread_local std::uint32_t sequence = 0;
    request->nlmsg_seq = ++sequence;
    if (const auto sent = socket.send({reinterpret_cast<const std::byte*>(request), request->nlmsg_len});
        !sent)
        return tl::make_unexpected(sent.error());
    const auto deadline = steady_clock::now() + answer_timeout;
    while (steady_clock::now() < deadline) {
        const auto datagram = socket.receive();
        if (!datagram) return tl::make_unexpected(datagram.error());
        if (datagram->overflow) return ENOBUFS;
        Bytes rest = datagram->bytes;
        while (rest.size() >= NLMSG_HDRLEN) {
            nlmsghdr header{};
            std::memcpy(&header, rest.data(), sizeof(header));
            if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > rest.size()) return EBADMSG;
            const Bytes message = rest.first(header.nlmsg_len);
            rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
            if (header.nlmsg_seq != request->nlmsg_seq) continue;
            if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
                std::int32_t error = 0;
                if (message.size() >= NLMSG_HDRLEN + sizeof(error))
                    std::memcpy(&error, message.data() + NLMSG_HDRLEN, sizeof(error));
                return error < 0 ? -error : 0;
            }
            use(message);
        }
    }
    return ETIMEDOUT;
}

// By ifindex, the kinds of the qdiscs that hold filters of every packet; nullopt when they are not told.
Result<std::optional<std::multimap<int, std::string>>> read_qdiscs(NetlinkSocket& socket) {
    std::multimap<int, std::string> qdiscs;
    Request request(RTM_GETQDISC, NLM_F_DUMP);
    request.put<tcmsg>();
    const auto error = ask(socket, request.header, [&](Bytes message) {
        const auto qdisc = parse_qdisc(message);
        if (qdisc && (qdisc->kind == "clsact" || qdisc->kind == "ingress"))
            qdiscs.emplace(qdisc->ifindex, qdisc->kind);
    });
    if (!error) return tl::make_unexpected(error.error());
    if (*error == EOPNOTSUPP) return qdiscs; // a kernel without tc has no filters
    if (*error != 0) return std::nullopt;
    return qdiscs;
}

Result<bool> read_filters(NetlinkSocket& socket, int ifindex, ProgramHook hook, DevicePrograms& programs) {
    Request request(RTM_GETTFILTER, NLM_F_DUMP);
    auto* const message = request.put<tcmsg>();
    message->tcm_ifindex = ifindex;
    message->tcm_parent = static_cast<std::uint32_t>(
        TC_H_MAKE(TC_H_CLSACT, hook == ProgramHook::tc_ingress ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS));
    const auto error = ask(socket, request.header, [&](Bytes answer) {
        auto filter = parse_filter(answer, hook);
        if (filter && !filter->name.starts_with(tc_program_prefix) && programs.found.size() < most_programs)
            programs.found.push_back(std::move(*filter));
    });
    if (!error) return tl::make_unexpected(error.error());
    return *error == 0;
}

Result<void> read_tc(NetlinkSocket& socket, const std::multimap<int, std::string>& qdiscs, int ifindex,
                     DevicePrograms& programs) {
    programs.tc_known = true;
    const auto [begin, end] = qdiscs.equal_range(ifindex);
    for (auto qdisc = begin; qdisc != end; ++qdisc)
        for (const ProgramHook hook : {ProgramHook::tc_ingress, ProgramHook::tc_egress}) {
            // "ingress" has no other side, and would answer with the same filters.
            if (hook == ProgramHook::tc_egress && qdisc->second != "clsact") continue;
            const auto known = read_filters(socket, ifindex, hook, programs);
            if (!known) return tl::make_unexpected(known.error());
            programs.tc_known = programs.tc_known && *known;
        }
    return {};
}

// The name of a loaded program; empty when that may not be known.
std::string program_name(std::uint32_t id) {
    bpf_attr open{};
    open.prog_id = id;
    const Fd program(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &open, sizeof(open))));
    if (!program.valid()) return {};
    bpf_prog_info info{};
    bpf_attr query{};
    query.info.bpf_fd = static_cast<std::uint32_t>(program.get());
    query.info.info_len = sizeof(info);
    query.info.info = reinterpret_cast<std::uintptr_t>(&info);
    if (::syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &query, sizeof(query)) != 0) return {};
    return {&info.name[0], strnlen(&info.name[0], sizeof(info.name))};
}

// Programs attached by tcx, which rtnetlink does not know. Must run inside the namespace.
void read_tcx(int ifindex, DevicePrograms& programs) {
    for (const auto& [attach, hook] : {std::pair(bpf_tcx_ingress, ProgramHook::tcx_ingress),
                                       std::pair(bpf_tcx_egress, ProgramHook::tcx_egress)}) {
        std::array<std::uint32_t, most_programs> ids{};
        bpf_attr query{};
        query.query.target_fd = static_cast<std::uint32_t>(ifindex); // a union with target_ifindex since 6.6
        query.query.attach_type = attach;
        query.query.prog_ids = reinterpret_cast<std::uintptr_t>(ids.data());
        query.query.prog_cnt = ids.size();
        const long result = ::syscall(SYS_bpf, BPF_PROG_QUERY, &query, sizeof(query));
        // EINVAL: a kernel without tcx; ENOENT: nothing is attached there.
        if (result != 0 && errno != EINVAL && errno != ENOENT && errno != ENOSPC) return;
        const bool answered =
            result == 0 || errno == ENOSPC; // more than there is room for: the first of them
        for (std::size_t i = 0; answered && i < std::min<std::size_t>(query.query.prog_cnt, ids.size());
             ++i) {
            std::string name = ids[i] != 0 ? program_name(ids[i]) : std::string();
            if (ids[i] != 0 && !name.starts_with(tc_program_prefix) && programs.found.size() < most_programs)
                programs.found.push_back(
                    {.hook = hook, .kind = "bpf", .name = std::move(name), .id = ids[i], .actions = {}});
        }
    }
    programs.tcx_known = true;
}

// The kernel's ethtool by generic netlink.
class Ethtool {
  public:
    // nullopt: this kernel has none.
    static Result<std::optional<Ethtool>> open() {
        auto socket = NetlinkSocket::open(0, NetlinkSocket::Wait::block, answer_timeout,
                                          NetlinkSocket::Protocol::generic);
        if (!socket) return tl::make_unexpected(socket.error());
        Request request(GENL_ID_CTRL, NLM_F_ACK);
        auto* const generic = request.put<genlmsghdr>();
        generic->cmd = CTRL_CMD_GETFAMILY;
        generic->version = 1;
        mnl_attr_put_strz(request.header, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
        std::optional<std::uint16_t> family;
        const auto error =
            ask(*socket, request.header, [&](Bytes message) { family = parse_family(message); });
        if (!error) return tl::make_unexpected(error.error());
        if (*error != 0 || !family) return std::nullopt;
        return Ethtool(std::move(*socket), *family);
    }

    // Asks about one interface; nothing is used when the kernel refuses.
    Result<void> get(std::uint8_t command, int ifindex, const std::function<void(Bytes)>& use) {
        Request request(family_, NLM_F_ACK);
        auto* const generic = request.put<genlmsghdr>();
        generic->cmd = command;
        generic->version = ETHTOOL_GENL_VERSION;
        // The header's attribute has the number 1 in every request (ETHTOOL_A_FEATURES_HEADER and so on).
        nlattr* const nest = mnl_attr_nest_start(request.header, ETHTOOL_A_FEATURES_HEADER);
        mnl_attr_put_u32(request.header, ETHTOOL_A_HEADER_DEV_INDEX, static_cast<std::uint32_t>(ifindex));
        mnl_attr_nest_end(request.header, nest);
        const auto error = ask(socket_, request.header, use);
        if (!error) return tl::make_unexpected(error.error());
        return {};
    }

  private:
    Ethtool(NetlinkSocket socket, std::uint16_t family) : socket_(std::move(socket)), family_(family) {}
    NetlinkSocket socket_;
    std::uint16_t family_;
};

struct Asked {
    DevicePrograms* programs;
    std::optional<Offloads>* offloads;
    Slave* slave; // nullptr: the bond itself
    int ifindex;
};

Result<void> ask_ethtool(Ethtool& ethtool, const Asked& device) {
    const auto features = ethtool.get(ETHTOOL_MSG_FEATURES_GET, device.ifindex,
                                      [&](Bytes message) { *device.offloads = parse_features(message); });
    if (!features || !device.slave) return features;
    std::optional<LinkModes> modes;
    const auto asked = ethtool.get(ETHTOOL_MSG_LINKMODES_GET, device.ifindex,
                                   [&](Bytes message) { modes = parse_link_modes(message); });
    // What the driver says of itself stands: LACP makes keys of it, even when the device knows better by now.
    Slave& slave = *device.slave;
    if (modes && !slave.speed_mbps && !slave.speed_undetermined) slave.speed_mbps = modes->speed_mbps;
    if (modes && !slave.duplex) slave.duplex = modes->duplex;
    return asked;
}

Result<void> ask_all(const std::vector<Asked>& devices) {
    auto socket = NetlinkSocket::open(0, NetlinkSocket::Wait::block, answer_timeout);
    if (!socket) return tl::make_unexpected(socket.error());
    const auto qdiscs = read_qdiscs(*socket);
    if (!qdiscs) return tl::make_unexpected(qdiscs.error());
    auto ethtool = Ethtool::open();
    if (!ethtool) return tl::make_unexpected(ethtool.error());
    // Of this thread's namespace; without the file nothing is known.
    std::ifstream packet_file("/proc/thread-self/net/packet");
    const auto packet_sockets = count_packet_sockets(packet_file);
    for (const Asked& device : devices) {
        if (packet_file.is_open()) {
            const auto found = packet_sockets.find(device.ifindex);
            device.programs->packet_sockets = found == packet_sockets.end() ? 0 : found->second;
        }
        if (*qdiscs)
            if (const auto read = read_tc(*socket, **qdiscs, device.ifindex, *device.programs); !read)
                return read;
        read_tcx(device.ifindex, *device.programs);
        if (*ethtool)
            if (const auto asked = ask_ethtool(**ethtool, device); !asked) return asked;
    }
    return {};
}

} // namespace

Result<void> add_device_facts(const NetNs& netns, Bond& bond) {
    std::vector<Asked> devices;
    if (bond.ifindex > 0) devices.push_back({&bond.programs, &bond.offloads, nullptr, bond.ifindex});
    for (Slave& slave : bond.slaves)
        if (slave.ifindex > 0) devices.push_back({&slave.programs, &slave.offloads, &slave, slave.ifindex});
    return run_in(netns, [&] { return ask_all(devices); });
}

} // namespace bondtrace
