// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/probe/scratch_bond.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

namespace bondtrace {
namespace {

constexpr std::chrono::seconds patience{10};
// A namespace of one's own has all numbers but that of `lo` free. The names are what the kernel's log will
// show.
constexpr int bond_index = 100, first_slave = 101, first_peer = 201;
constexpr const char* bond_name = "bondtrace-probe";

using AddAttributes = std::function<void(nlmsghdr*)>;

struct LinkRequest {
    std::uint16_t flags = 0; // NLM_F_CREATE for a new link
    int index = 0;
    bool up = false;
    AddAttributes attributes;
};

// Waits for the acknowledgement of `sequence`; the kernel's negative errno is the error.
Result<void> await_acknowledgement(NetlinkSocket& socket, std::uint32_t sequence, const std::string& what) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < deadline) {
        const auto datagram = socket.receive();
        if (!datagram) return tl::make_unexpected(datagram.error());
        std::span<const std::byte> rest = datagram->bytes;
        while (rest.size() >= sizeof(nlmsghdr)) {
            nlmsghdr header{};
            std::memcpy(&header, rest.data(), sizeof(header));
            if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > rest.size()) break;
            const auto message = rest.first(header.nlmsg_len);
            rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
            if (header.nlmsg_type != NLMSG_ERROR || header.nlmsg_seq != sequence) continue;
            std::int32_t error = 0;
            if (message.size() < sizeof(header) + sizeof(error)) break;
            std::memcpy(&error, message.data() + sizeof(header), sizeof(error));
            if (error != 0) return fail_errno(-error, what);
            return {};
        }
    }
    return fail(ErrorKind::unavailable, fmt::format("{}: no answer within {} s", what, patience.count()));
}

Result<void> ask(NetlinkSocket& socket, const LinkRequest& request, const std::string& what) {
    static thread_local std::uint32_t sequence = 0;
    alignas(nlmsghdr) std::array<char, 1024> buffer{};
    nlmsghdr* const header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = RTM_NEWLINK;
    header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | request.flags);
    header->nlmsg_seq = ++sequence;
    auto* const info = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg)));
    info->ifi_family = AF_UNSPEC;
    info->ifi_index = request.index;
    if (request.up) info->ifi_flags = info->ifi_change = IFF_UP;
    if (request.attributes) request.attributes(header);
    const auto bytes = std::as_bytes(std::span(buffer.data(), header->nlmsg_len));
    if (const auto sent = socket.send(bytes); !sent) return sent;
    return await_acknowledgement(socket, header->nlmsg_seq, what);
}

void put_bond_policy(nlmsghdr* header, HashPolicy policy, bool with_mode) {
    nlattr* const info = mnl_attr_nest_start(header, IFLA_LINKINFO);
    mnl_attr_put_strz(header, IFLA_INFO_KIND, "bond");
    nlattr* const data = mnl_attr_nest_start(header, IFLA_INFO_DATA);
    if (with_mode) mnl_attr_put_u8(header, IFLA_BOND_MODE, static_cast<std::uint8_t>(BondMode::balance_xor));
    mnl_attr_put_u8(header, IFLA_BOND_XMIT_HASH_POLICY, static_cast<std::uint8_t>(policy));
    mnl_attr_nest_end(header, data);
    mnl_attr_nest_end(header, info);
}

void put_veth(nlmsghdr* header, int number) {
    mnl_attr_put_strz(header, IFLA_IFNAME, fmt::format("probe{}", number).c_str());
    nlattr* const info = mnl_attr_nest_start(header, IFLA_LINKINFO);
    mnl_attr_put_strz(header, IFLA_INFO_KIND, "veth");
    nlattr* const data = mnl_attr_nest_start(header, IFLA_INFO_DATA);
    nlattr* const peer = mnl_attr_nest_start(header, VETH_INFO_PEER);
    // The peer's own struct ifinfomsg stands before its attributes.
    auto* const link = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg)));
    link->ifi_index = first_peer + number;
    mnl_attr_put_strz(header, IFLA_IFNAME, fmt::format("peer{}", number).c_str());
    mnl_attr_nest_end(header, peer);
    mnl_attr_nest_end(header, data);
    mnl_attr_nest_end(header, info);
}

// In an order in which everything is usable at once, without the events that the kernel puts off: a link is
// up at both ends when it is enslaved, and the bond has carrier when it comes up.
Result<void> build(NetlinkSocket& socket) {
    const auto bond = ask(socket,
                          {NLM_F_CREATE | NLM_F_EXCL, bond_index, false,
                           [](nlmsghdr* header) {
                               mnl_attr_put_strz(header, IFLA_IFNAME, bond_name);
                               put_bond_policy(header, HashPolicy::layer2, true);
                           }},
                          "making a bond to probe");
    if (!bond) return bond;
    for (int i = 0; i < static_cast<int>(ScratchBond::slaves); ++i) {
        const auto veth = ask(socket,
                              {NLM_F_CREATE | NLM_F_EXCL, first_slave + i, false,
                               [i](nlmsghdr* header) { put_veth(header, i); }},
                              "making a veth pair to probe");
        if (!veth) return veth;
        const auto up = ask(socket, {0, first_peer + i, true, {}}, "bringing a veth device up");
        if (!up) return up;
        const auto enslaved =
            ask(socket,
                {0, first_slave + i, false,
                 [](nlmsghdr* header) { mnl_attr_put_u32(header, IFLA_MASTER, std::uint32_t{bond_index}); }},
                "enslaving a veth device");
        if (!enslaved) return enslaved;
    }
    return ask(socket, {0, bond_index, true, {}}, "bringing the bond up");
}

Result<Fd> packet_socket(int index, std::uint16_t protocol) {
    Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid())
        return fail_errno(errno, "opening a packet socket", "this needs CAP_NET_RAW; run as root");
    sockaddr_ll where{};
    where.sll_family = AF_PACKET;
    where.sll_protocol = htons(protocol);
    where.sll_ifindex = index;
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0)
        return fail_errno(errno, "binding a packet socket");
    return socket;
}

} // namespace

Result<ScratchBond> ScratchBond::make() {
    if (::unshare(CLONE_NEWNET) != 0)
        return fail_errno(errno, "making a network namespace", "this needs CAP_SYS_ADMIN; run as root");
    auto netlink = NetlinkSocket::open(0, NetlinkSocket::Wait::block, patience);
    if (!netlink) return tl::make_unexpected(netlink.error());
    if (const auto built = build(*netlink); !built) return tl::make_unexpected(built.error());
    auto sender = packet_socket(bond_index, 0); // receives nothing
    if (!sender) return tl::make_unexpected(sender.error());
    auto observer = packet_socket(0, ETH_P_ALL); // of every device
    if (!observer) return tl::make_unexpected(observer.error());
    return ScratchBond(std::move(*netlink), std::move(*sender), std::move(*observer));
}

Result<void> ScratchBond::set_policy(HashPolicy policy) {
    return ask(netlink_,
               {0, bond_index, false, [policy](nlmsghdr* header) { put_bond_policy(header, policy, false); }},
               fmt::format("setting the bond's policy to {}", to_text(policy)));
}

Result<std::uint32_t> ScratchBond::send(std::span<const std::uint8_t> frame) {
    if (::send(sender_.get(), frame.data(), frame.size(), 0) != static_cast<ssize_t>(frame.size()))
        return fail_errno(errno, "sending a frame through the bond");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    std::array<std::uint8_t, 2048> seen{};
    for (;;) {
        sockaddr_ll from{};
        socklen_t from_size = sizeof(from);
        const ssize_t size = ::recvfrom(observer_.get(), seen.data(), seen.size(), MSG_TRUNC,
                                        reinterpret_cast<sockaddr*>(&from), &from_size);
        if (size < 0 && errno != EAGAIN && errno != EINTR)
            return fail_errno(errno, "watching the bond's slaves");
        if (size < 0) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                deadline - std::chrono::steady_clock::now());
            if (left.count() <= 0)
                return fail(ErrorKind::unavailable, "a frame was not seen to leave the probing bond");
            pollfd waiting{observer_.get(), POLLIN, 0};
            if (::poll(&waiting, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)
                return fail_errno(errno, "watching the bond's slaves");
            continue;
        }
        // The kernel's own frames (IPv6) leave here as well, and every frame passes several devices.
        const auto index = static_cast<std::uint32_t>(from.sll_ifindex - first_slave);
        if (from.sll_pkttype == PACKET_OUTGOING && index < slaves &&
            static_cast<std::size_t>(size) == frame.size() &&
            std::equal(frame.begin(), frame.end(), seen.begin()))
            return index;
    }
}

} // namespace bondtrace
