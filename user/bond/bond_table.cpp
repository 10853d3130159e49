// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/bond_table.h"

#include "user/bond/merge.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {
namespace {

constexpr std::size_t max_names_in_message = 20;

bool is_bond(const Link& link) {
    return link.kind == "bond";
}

const Link* find_link(const NetnsSnapshot& snapshot, int ifindex) {
    const auto link = std::find_if(snapshot.links.begin(), snapshot.links.end(),
                                   [&](const Link& candidate) { return candidate.ifindex == ifindex; });
    return ifindex > 0 && link != snapshot.links.end() ? &*link : nullptr;
}

const Link* find_link(const NetnsSnapshot& snapshot, const std::string& name) {
    const auto link = std::find_if(snapshot.links.begin(), snapshot.links.end(),
                                   [&](const Link& candidate) { return candidate.name == name; });
    return link != snapshot.links.end() ? &*link : nullptr;
}

// The links enslaved to `bond`, by ifindex.
std::vector<const Link*> slaves_of(const NetnsSnapshot& snapshot, const Link& bond) {
    std::vector<const Link*> slaves;
    for (const Link& link : snapshot.links)
        if (link.slave && link.master == bond.ifindex) slaves.push_back(&link);
    std::sort(slaves.begin(), slaves.end(),
              [](const Link* a, const Link* b) { return a->ifindex < b->ifindex; });
    return slaves;
}

// The slaves, in the order in which /proc has them, and what only /proc tells.
void add_slaves(const NetnsSnapshot& snapshot, const Link& link, Bond& bond) {
    for (const Link* slave : slaves_of(snapshot, link))
        bond.slaves.push_back(*slave->slave);
    bond.order_known = bond.slaves.size() <= 1;
    if (const auto proc = snapshot.proc.find(link.name); proc != snapshot.proc.end())
        add_dump(proc->second, bond);
    const auto name_of = [&](const std::optional<int>& ifindex) -> std::optional<std::string> {
        const Link* const other = ifindex ? find_link(snapshot, *ifindex) : nullptr;
        return other ? std::optional(other->name) : std::nullopt;
    };
    bond.active_name = name_of(bond.active_slave);
    bond.primary_name = name_of(bond.primary);
}

// What stands on the bond, and the bridge it is a port of.
void add_uppers(const NetnsSnapshot& snapshot, const Link& link, Bond& bond) {
    for (const Link& other : snapshot.links)
        if (other.parent == link.ifindex && !other.slave)
            bond.uppers.push_back({other.name, other.kind, 0, other.ifindex, other.vlan_id, other.counters});
    const Link* const master = find_link(snapshot, link.master);
    if (!master) return;
    const auto ports = std::count_if(snapshot.links.begin(), snapshot.links.end(),
                                     [&](const Link& other) { return other.master == master->ifindex; });
    bond.uppers.push_back({master->name, master->kind, static_cast<std::size_t>(ports) - 1, master->ifindex,
                           std::nullopt, master->counters});
}

// What keeps the bond of this link from being described; empty when nothing does.
std::string obstacle(const NetnsSnapshot& snapshot, const Link& link) {
    if (!link.bond) return link.problem.empty() ? "the kernel gives no bond data" : link.problem;
    if (!link.counters) return "the kernel gives no counters of it";
    for (const Link* slave : slaves_of(snapshot, link))
        if (!slave->counters) return fmt::format("the kernel gives no counters of its slave {}", slave->name);
    return {};
}

std::vector<std::string> bond_names(const NetnsSnapshot& snapshot) {
    std::vector<std::string> names;
    for (const Link& link : snapshot.links)
        if (is_bond(link)) names.push_back(link.name);
    return names;
}

std::string list(std::vector<std::string> names) {
    const std::size_t all = names.size();
    if (all > max_names_in_message) names.resize(max_names_in_message);
    return fmt::format("{}{}", fmt::join(names, ", "),
                       all > names.size() ? fmt::format(" and {} more", all - names.size()) : "");
}

std::string bonds_here(const NetnsSnapshot& snapshot) {
    const auto names = bond_names(snapshot);
    return names.empty() ? "there is no bond here" : "bonds here: " + list(names);
}

constexpr std::string_view links_hint = "trace its members with --links NAME,NAME";

// What to do about the absence of any bond.
std::string no_bond_advice(const NetnsSnapshot& snapshot) {
    std::vector<std::string> advice;
    if (!snapshot.driver_loaded)
        advice.emplace_back(
            "the kernel's bonding driver is not loaded (no /proc/net/bonding): this host runs no "
            "kernel bond");
    const auto has_kind = [&](std::string_view kind) {
        return std::any_of(snapshot.links.begin(), snapshot.links.end(),
                           [&](const Link& link) { return link.kind == kind; });
    };
    for (const Link& link : snapshot.links)
        if (link.name.starts_with("bond") && !link.kind.empty() && link.kind != "vlan" &&
            link.kind != "openvswitch")
            advice.push_back(fmt::format("{} is not a bond but of kind {}", link.name, link.kind));
    // The bond of Open vSwitch is no interface at all, only its ports and bridges are.
    if (has_kind("openvswitch"))
        advice.push_back(
            fmt::format("Open vSwitch runs here, and its bonds are not kernel bonds: {}", links_hint));
    if (has_kind("team"))
        advice.push_back(fmt::format("a team device is here, which is not a bond: {}", links_hint));
    if (!snapshot.other_names.empty())
        advice.push_back(fmt::format("a bond in another network namespace needs --netns; named here: {}",
                                     list(snapshot.other_names)));
    if (advice.size() > max_names_in_message) advice.resize(max_names_in_message);
    return fmt::format("{}", fmt::join(advice, "; "));
}

// Why a link that exists cannot be traced as a bond.
tl::unexpected<Error> not_a_bond(const NetnsSnapshot& snapshot, const Link& link) {
    const Link* const master = find_link(snapshot, link.master);
    const Link* const parent = find_link(snapshot, link.parent);
    std::string what = "an interface of its own", advice = bonds_here(snapshot);
    if (link.kind == "openvswitch") {
        what = "a port or bridge of Open vSwitch, whose bonds are not kernel bonds";
        advice = links_hint;
    } else if (link.kind == "team") {
        what = "a team device";
        advice = links_hint;
    } else if (master && is_bond(*master)) {
        what = "a slave of " + master->name;
        advice = fmt::format("name the bond: {}", master->name);
    } else if (link.kind == "vlan" && parent) {
        what = "a VLAN on " + parent->name;
        if (is_bond(*parent)) advice = fmt::format("name the bond: {}", parent->name);
    } else if (!link.kind.empty()) {
        what = "of kind " + link.kind;
    } else if (master) {
        what = "a port of " + master->name;
    }
    return fail(ErrorKind::usage, fmt::format("{} is not a bond (it is {})", link.name, what),
                std::move(advice));
}

} // namespace

bool is_consistent(const NetnsSnapshot& snapshot) {
    for (const Link& link : snapshot.links) {
        const auto proc = snapshot.proc.find(link.name);
        if (!is_bond(link) || proc == snapshot.proc.end()) continue;
        std::set<std::string> by_netlink, by_proc;
        for (const Link* slave : slaves_of(snapshot, link))
            by_netlink.insert(slave->name);
        for (const Slave& slave : proc->second.slaves)
            by_proc.insert(slave.name);
        if (by_netlink != by_proc) return false;
    }
    return true;
}

Result<std::vector<Bond>> assemble_bonds(const NetnsSnapshot& snapshot,
                                         const std::vector<std::string>& only) {
    std::vector<Bond> bonds;
    for (const Link& link : snapshot.links) {
        if (!is_bond(link)) continue;
        if (!only.empty() && std::find(only.begin(), only.end(), link.name) == only.end()) continue;
        if (const std::string why = obstacle(snapshot, link); !why.empty())
            return fail(ErrorKind::unavailable, fmt::format("{} cannot be described: {}", link.name, why),
                        "a newer version of this program may know this kernel's driver");
        Bond bond = *link.bond;
        bond.netns = snapshot.netns;
        add_slaves(snapshot, link, bond);
        add_uppers(snapshot, link, bond);
        bonds.push_back(std::move(bond));
    }
    std::sort(bonds.begin(), bonds.end(), [](const Bond& a, const Bond& b) { return a.ifindex < b.ifindex; });
    return bonds;
}

Result<std::vector<Bond>> select_bonds(const NetnsSnapshot& snapshot, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        const Link* const link = find_link(snapshot, name);
        if (link && is_bond(*link)) continue;
        if (link) return not_a_bond(snapshot, *link);
        const bool none = bond_names(snapshot).empty();
        return fail(
            ErrorKind::usage,
            fmt::format("no interface {} in {}; {}", name, snapshot.description, bonds_here(snapshot)),
            none ? no_bond_advice(snapshot) : "");
    }
    auto bonds = assemble_bonds(snapshot, names);
    if (!bonds || names.empty()) {
        if (bonds && bonds->empty())
            return fail(ErrorKind::unavailable, fmt::format("no bond in {}", snapshot.description),
                        no_bond_advice(snapshot));
        return bonds;
    }
    std::vector<Bond> selected;
    for (const std::string& name : names) {
        const auto same = [&](const Bond& bond) { return bond.name == name; };
        if (std::any_of(selected.begin(), selected.end(), same)) continue;
        const auto bond = std::find_if(bonds->begin(), bonds->end(), same);
        if (bond != bonds->end()) selected.push_back(*bond);
    }
    return selected;
}

} // namespace bondtrace
