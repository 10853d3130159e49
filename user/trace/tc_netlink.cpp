// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/tc_netlink.h"

#include "user/bond/netlink_attributes.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

namespace bondtrace {
namespace {

constexpr std::chrono::seconds answer_timeout{10};
constexpr std::size_t request_size = 1024;

std::uint32_t parent_of(TcDirection direction) {
    return TC_H_MAKE(TC_H_CLSACT, direction == TcDirection::in ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS);
}

tcmsg* put_request(std::vector<std::byte>& buffer, std::uint16_t type, unsigned flags, int ifindex) {
    buffer.assign(request_size, std::byte{0});
    nlmsghdr* const header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = type;
    header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    auto* const message = static_cast<tcmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(tcmsg)));
    message->tcm_family = AF_UNSPEC;
    message->tcm_ifindex = ifindex;
    return message;
}

nlmsghdr* header_of(std::vector<std::byte>& buffer) {
    return reinterpret_cast<nlmsghdr*>(buffer.data());
}

// The attributes behind the tcmsg of an answer; nullopt when it is too short to be one.
std::optional<netlink::Bytes> attributes_of(const nlmsghdr* header, tcmsg& message) {
    const std::size_t length = mnl_nlmsg_get_payload_len(header);
    if (length < sizeof(tcmsg)) return std::nullopt;
    const auto* const payload = static_cast<const std::byte*>(mnl_nlmsg_get_payload(header));
    std::memcpy(&message, payload, sizeof(message));
    const std::size_t skipped = MNL_ALIGN(sizeof(tcmsg));
    return netlink::Bytes(payload + skipped, length > skipped ? length - skipped : 0);
}

} // namespace

bool is_gone(int error) {
    return error == ENODEV || error == ENXIO;
}

Result<TcNetlink> TcNetlink::open(const NetNs& netns) {
    auto socket =
        run_in(netns, [] { return NetlinkSocket::open(0, NetlinkSocket::Wait::block, answer_timeout); });
    if (!socket) return tl::make_unexpected(socket.error());
    return TcNetlink(std::move(*socket));
}

Result<int> TcNetlink::ask(std::vector<std::byte>& buffer, const std::function<void(const nlmsghdr*)>& use) {
    nlmsghdr* const request = header_of(buffer);
    request->nlmsg_seq = ++sequence_;
    if (const auto sent = socket_.send({buffer.data(), request->nlmsg_len}); !sent)
        return tl::make_unexpected(sent.error());
    for (;;) {
        const auto datagram = socket_.receive();
        if (!datagram) return tl::make_unexpected(datagram.error());
        if (datagram->overflow) continue;
        int rest = static_cast<int>(datagram->bytes.size());
        const auto* header = reinterpret_cast<const nlmsghdr*>(datagram->bytes.data());
        for (; mnl_nlmsg_ok(header, rest); header = mnl_nlmsg_next(header, &rest)) {
            if (header->nlmsg_seq != sequence_) continue;
            if (header->nlmsg_type == NLMSG_ERROR || header->nlmsg_type == NLMSG_DONE) {
                int error = 0;
                if (mnl_nlmsg_get_payload_len(header) >= sizeof(error))
                    std::memcpy(&error, mnl_nlmsg_get_payload(header), sizeof(error));
                return error < 0 ? -error : 0;
            }
            if (use) use(header);
        }
    }
}

Result<std::vector<TcPlace>> TcNetlink::places() {
    std::vector<TcPlace> places;
    std::vector<std::byte> buffer;
    // Without this flag, classless and hidden qdiscs are listed, too; ingress and clsact always are.
    put_request(buffer, RTM_GETQDISC, NLM_F_DUMP, 0);
    const auto error = ask(buffer, [&](const nlmsghdr* header) {
        tcmsg message{};
        const auto attributes = attributes_of(header, message);
        if (!attributes || message.tcm_parent != TC_H_INGRESS) return;
        TcPlace place{.ifindex = message.tcm_ifindex, .kind = {}};
        netlink::for_each_attribute(*attributes, [&](std::uint16_t type, netlink::Bytes payload) {
            if (type == TCA_KIND) place.kind = netlink::read_text(payload);
        });
        places.push_back(std::move(place));
    });
    if (!error) return tl::make_unexpected(error.error());
    if (*error == EOPNOTSUPP) return places;
    if (*error != 0) return fail_errno(*error, "listing queueing disciplines");
    return places;
}

Result<bool> TcNetlink::add_clsact(int ifindex) {
    std::vector<std::byte> buffer;
    tcmsg* const message = put_request(buffer, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, ifindex);
    message->tcm_parent = TC_H_CLSACT;
    message->tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
    mnl_attr_put_strz(header_of(buffer), TCA_KIND, "clsact");
    const auto error = ask(buffer);
    if (!error) return tl::make_unexpected(error.error());
    if (*error == EEXIST) return false;
    if (*error != 0 && !is_gone(*error))
        return fail_errno(*error, fmt::format("adding a clsact qdisc to interface {}", ifindex),
                          *error == EPERM ? "CAP_NET_ADMIN is needed in that network namespace" : "");
    return true;
}

Result<void> TcNetlink::remove_clsact(int ifindex) {
    std::vector<std::byte> buffer;
    tcmsg* const message = put_request(buffer, RTM_DELQDISC, NLM_F_ACK, ifindex);
    message->tcm_parent = TC_H_CLSACT;
    message->tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
    const auto error = ask(buffer);
    if (!error) return tl::make_unexpected(error.error());
    if (*error != 0 && *error != ENOENT && *error != EINVAL && !is_gone(*error))
        return fail_errno(*error, fmt::format("removing the clsact qdisc of interface {}", ifindex));
    return {};
}

Result<std::vector<TcFilter>> TcNetlink::filters(int ifindex) {
    std::vector<TcFilter> filters;
    for (const TcDirection direction : {TcDirection::in, TcDirection::out}) {
        std::vector<std::byte> buffer;
        put_request(buffer, RTM_GETTFILTER, NLM_F_DUMP, ifindex)->tcm_parent = parent_of(direction);
        const auto error = ask(buffer, [&](const nlmsghdr* header) {
            tcmsg message{};
            const auto attributes = attributes_of(header, message);
            if (!attributes) return;
            TcFilter filter{.direction = direction,
                            .priority = TC_H_MAJ(message.tcm_info) >> 16U,
                            .handle = message.tcm_handle,
                            .kind = {},
                            .name = {}};
            netlink::for_each_attribute(*attributes, [&](std::uint16_t type, netlink::Bytes payload) {
                if (type == TCA_KIND) filter.kind = netlink::read_text(payload);
                if (type != TCA_OPTIONS || filter.kind != "bpf") return;
                netlink::for_each_attribute(payload, [&](std::uint16_t option, netlink::Bytes value) {
                    if (option == TCA_BPF_NAME) filter.name = netlink::read_text(value);
                });
            });
            filters.push_back(std::move(filter));
        });
        if (!error) return tl::make_unexpected(error.error());
        // No qdisc, or one without egress: no filters.
        if (*error != 0 && *error != EINVAL && *error != ENOENT && *error != EOPNOTSUPP && !is_gone(*error))
            return fail_errno(*error, fmt::format("listing the filters of interface {}", ifindex));
    }
    return filters;
}

Result<int> TcNetlink::add_filter(int ifindex, const TcFilter& filter, int program) {
    std::vector<std::byte> buffer;
    tcmsg* const message =
        put_request(buffer, RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, ifindex);
    message->tcm_parent = parent_of(filter.direction);
    message->tcm_handle = filter.handle;
    message->tcm_info = TC_H_MAKE(filter.priority << 16U, htons(ETH_P_ALL));
    nlmsghdr* const header = header_of(buffer);
    mnl_attr_put_strz(header, TCA_KIND, filter.kind.c_str());
    nlattr* const options = mnl_attr_nest_start(header, TCA_OPTIONS);
    mnl_attr_put_u32(header, TCA_BPF_FD, static_cast<std::uint32_t>(program));
    mnl_attr_put_strz(header, TCA_BPF_NAME, filter.name.c_str());
    mnl_attr_put_u32(header, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
    mnl_attr_nest_end(header, options);
    return ask(buffer);
}

Result<void> TcNetlink::remove_filter(int ifindex, const TcFilter& filter) {
    std::vector<std::byte> buffer;
    tcmsg* const message = put_request(buffer, RTM_DELTFILTER, NLM_F_ACK, ifindex);
    message->tcm_parent = parent_of(filter.direction);
    message->tcm_handle = filter.handle;
    message->tcm_info = TC_H_MAKE(filter.priority << 16U, htons(ETH_P_ALL));
    mnl_attr_put_strz(header_of(buffer), TCA_KIND, filter.kind.c_str());
    const auto error = ask(buffer);
    if (!error) return tl::make_unexpected(error.error());
    if (*error != 0 && *error != ENOENT && *error != EINVAL && !is_gone(*error))
        return fail_errno(*error, fmt::format("removing filter {} of interface {}", filter.name, ifindex),
                          *error == EPERM ? "CAP_NET_ADMIN is needed in that network namespace" : "");
    return {};
}

} // namespace bondtrace
