// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/counter_reader.h"

#include "user/bond/link_message.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

namespace bondtrace {
namespace {

constexpr std::chrono::seconds answer_timeout{10};

struct StatsRequest {
    nlmsghdr header;
    if_stats_msg message;
};

// Counters out of an RTM_NEWSTATS message; nullopt when they are not in there.
std::optional<LinkCounters> parse_stats(const nlmsghdr* header) {
    if (mnl_nlmsg_get_payload_len(header) < sizeof(if_stats_msg)) return std::nullopt;
    const auto* attribute =
        static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(header, sizeof(if_stats_msg)));
    const auto* const end = static_cast<const std::byte*>(mnl_nlmsg_get_payload_tail(header));
    const auto rest = [&] { return static_cast<int>(end - reinterpret_cast<const std::byte*>(attribute)); };
    for (; mnl_attr_ok(attribute, rest()); attribute = mnl_attr_next(attribute)) {
        if (mnl_attr_get_type(attribute) != IFLA_STATS_LINK_64) continue;
        const auto* payload = static_cast<const std::byte*>(mnl_attr_get_payload(attribute));
        return parse_counters({payload, mnl_attr_get_payload_len(attribute)});
    }
    return std::nullopt;
}

} // namespace

Result<CounterReader> CounterReader::open(const NetNs& netns) {
    auto socket =
        run_in(netns, [] { return NetlinkSocket::open(0, NetlinkSocket::Wait::block, answer_timeout); });
    if (!socket) return tl::make_unexpected(socket.error());
    return CounterReader(std::move(*socket));
}

Result<void> CounterReader::request(int ifindex) {
    StatsRequest request{};
    request.header.nlmsg_len = sizeof(request);
    request.header.nlmsg_type = RTM_GETSTATS;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.header.nlmsg_seq = ++sequence_;
    request.message.ifindex = static_cast<std::uint32_t>(ifindex);
    request.message.filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64);
    return socket_.send(std::as_bytes(std::span(&request, 1)));
}

Result<std::map<int, LinkCounters>> CounterReader::read(std::span<const int> ifindexes) {
    std::map<int, LinkCounters> all;
    for (const int ifindex : ifindexes) {
        if (const auto sent = request(ifindex); !sent) return tl::make_unexpected(sent.error());
        for (bool answered = false; !answered;) {
            const auto datagram = socket_.receive();
            if (!datagram) return tl::make_unexpected(datagram.error());
            if (datagram->overflow) continue; // something else's; the answer to a request is one message
            int rest = static_cast<int>(datagram->bytes.size());
            const auto* header = reinterpret_cast<const nlmsghdr*>(datagram->bytes.data());
            for (; mnl_nlmsg_ok(header, rest); header = mnl_nlmsg_next(header, &rest)) {
                if (header->nlmsg_seq != sequence_) continue; // of a request that was given up
                answered = true;
                if (header->nlmsg_type == NLMSG_ERROR) {
                    int error = 0;
                    if (mnl_nlmsg_get_payload_len(header) >= sizeof(error))
                        std::memcpy(&error, mnl_nlmsg_get_payload(header), sizeof(error));
                    if (error == -ENODEV || error == 0) continue;
                    return fail_errno(-error, fmt::format("reading the counters of interface {}", ifindex));
                }
                if (header->nlmsg_type != RTM_NEWSTATS) continue;
                if (const auto counters = parse_stats(header)) all[ifindex] = *counters;
            }
        }
    }
    return all;
}

} // namespace bondtrace
