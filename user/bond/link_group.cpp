// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/link_group.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {
namespace {

Slave slave_of(const Link& link) {
    Slave slave;
    slave.ifindex = link.ifindex;
    slave.name = link.name;
    slave.admin_up = link.admin_up;
    slave.carrier = link.carrier;
    slave.mii_status =
        link.carrier ? MiiStatus::up : MiiStatus::down; // the link's own word, there is no other
    slave.mac = link.mac;
    slave.kind = link.kind;
    slave.counters = link.counters.value_or(LinkCounters{});
    slave.unknown = {.ifindex = false,
                     .state = true,
                     .mii_status = true,
                     .flags = false,
                     .link_failures = true,
                     .mac = false,
                     .queue_id = true,
                     .counters = !link.counters,
                     .aggregator = true};
    return slave;
}

} // namespace

Result<std::vector<Bond>> group_links(const NetnsSnapshot& snapshot, const std::vector<std::string>& names,
                                      LinksMissing missing) {
    Bond group;
    group.group = true;
    group.name = fmt::format("{}", fmt::join(names, ","));
    group.netns = snapshot.netns;
    group.mode = BondMode::balance_xor; // what it is most like: whoever reads it looks at `group` first
    group.order_known = false;
    group.unknown = {.ifindex = true,
                     .name = false,
                     .policy = true,
                     .carrier = true,
                     .admin_up = true,
                     .miimon = true,
                     .arp_interval = true,
                     .min_links = true,
                     .lacp_rate = true,
                     .packets_per_slave = true,
                     .all_slaves_active = true,
                     .active_slave = true,
                     .aggregator = true,
                     .mac = true,
                     .uppers = true,
                     .counters = true};
    for (const std::string& name : names) {
        if (std::count(names.begin(), names.end(), name) > 1)
            return fail(ErrorKind::usage, fmt::format("--links names {} twice", name));
        const auto link = std::find_if(snapshot.links.begin(), snapshot.links.end(),
                                       [&](const Link& candidate) { return candidate.name == name; });
        if (link == snapshot.links.end()) {
            if (missing == LinksMissing::allowed) continue;
            return fail(ErrorKind::usage,
                        fmt::format("there is no link {} in {}", name, snapshot.description),
                        "see what there is: ip link");
        }
        if (link->kind == "bond")
            return fail(ErrorKind::usage,
                        fmt::format("{} is a bond: --links takes what a bond is made of", name),
                        fmt::format("bondtrace flows {}", name));
        if (link->name == "lo" || !link->ethernet)
            return fail(ErrorKind::usage, fmt::format("{} does not carry Ethernet frames", name),
                        "name links such as eth0, or ports of a bridge");
        group.slaves.push_back(slave_of(*link));
        group.carrier |= link->carrier;
        group.admin_up |= link->admin_up;
    }
    return std::vector<Bond>{std::move(group)};
}

Result<std::vector<Bond>> find_link_group(const LinkReader& reader, const std::vector<std::string>& names,
                                          LinksMissing missing) {
    const auto snapshot = reader.read_snapshot();
    if (!snapshot) return tl::make_unexpected(snapshot.error());
    return group_links(*snapshot, names, missing);
}

} // namespace bondtrace
