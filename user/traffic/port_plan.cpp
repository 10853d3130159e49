// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/port_plan.h"

#include "user/traffic/port_sequence.h"
#include "user/traffic/slave_plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace::traffic {
namespace {

constexpr std::size_t most_pairs = 4096;

std::string pairs_text(std::size_t pairs) {
    return pairs == 1 ? "one pair of addresses" : fmt::format("{} pairs of addresses", pairs);
}

// Ports of each pair, in the order in which they are given to its flows.
using PairPorts = std::vector<std::vector<std::uint16_t>>;

// The flows of pair 0, 1, ..., 0, 1, ... until there are `wanted`, or one pair has no port left.
std::vector<FlowAddress> deal(const PlanRequest& request, const PairPorts& ports, std::size_t wanted) {
    std::vector<FlowAddress> flows;
    flows.reserve(wanted);
    for (std::size_t round = 0;; ++round)
        for (std::size_t pair = 0; pair < request.pairs.size(); ++pair) {
            if (flows.size() == wanted || round >= ports[pair].size()) return flows;
            const AddressPair& addresses = request.pairs[pair];
            flows.push_back({addresses.local, addresses.remote, ports[pair][round], request.remote_port});
        }
}

PairPorts pair_ports(const PlanRequest& request, std::size_t each, const PortFilter& avoid) {
    Draw draw(request.seed);
    PairPorts ports;
    const auto free = free_ports(request.range, avoid);
    for (std::size_t pair = 0; pair < request.pairs.size(); ++pair) {
        switch (request.ports.pattern) {
        case PortPattern::random:
            ports.push_back(random_ports(free, each, draw));
            break;
        case PortPattern::even:
            ports.push_back(connect_ports(request.range, each, draw, avoid));
            break;
        case PortPattern::sequential:
            ports.push_back(sequential_ports(request.range, request.ports.step, each, avoid));
            break;
        default: // kernel: it has the same range to choose from
            ports.emplace_back(std::min(each, free.size()), std::uint16_t{0});
            break;
        }
    }
    return ports;
}

// Of a list: those that may be used; what is left out is said.
std::vector<std::uint16_t> usable_of(const std::vector<std::uint16_t>& list, const PortFilter& avoid,
                                     std::vector<std::string>& notes) {
    std::vector<std::uint16_t> usable;
    std::vector<std::uint16_t> taken;
    for (const std::uint16_t port : list)
        (avoid && avoid(port) ? taken : usable).push_back(port);
    if (taken.empty()) return usable;
    constexpr std::size_t shown = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, taken.size()); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ", ", taken[i]);
    if (taken.size() > shown) text += fmt::format(" and {} more", taken.size() - shown);
    notes.push_back(fmt::format("{} of the {} ports listed {} in use or reserved and left out: {}",
                                taken.size(), list.size(), taken.size() == 1 ? "is" : "are", text));
    return usable;
}

void say_shortage(const PlanRequest& request, PortPlan& plan) {
    if (plan.flows.size() >= plan.wanted) return;
    const std::string where =
        request.ports.pattern == PortPattern::list
            ? std::string("are listed and free")
            : fmt::format("from {} to {} are free", request.range.first, request.range.second);
    plan.notes.push_back(fmt::format("{} flows of {}: {} ports {}, and the server has one port, which makes "
                                     "that many flows for each of {}",
                                     plan.flows.size(), plan.wanted, plan.ports_per_pair, where,
                                     pairs_text(request.pairs.size())));
}

Result<void> check(const PlanRequest& request) {
    if (request.pairs.empty())
        return fail(ErrorKind::usage, "there is no pair of addresses for the flows to run between");
    for (const AddressPair& pair : request.pairs)
        if (pair.local.v6 != pair.remote.v6)
            return fail(ErrorKind::usage, fmt::format("{} and {} are of two families", to_text(pair.local),
                                                      to_text(pair.remote)));
    if (request.flows && (*request.flows == 0 || *request.flows > max_flows))
        return fail(ErrorKind::usage, fmt::format("{} flows are not 1 to {}", *request.flows, max_flows));
    if (request.remote_port == 0) return fail(ErrorKind::usage, "the server's port cannot be 0");
    if (request.range.first == 0 || request.range.first > request.range.second)
        return fail(ErrorKind::usage, fmt::format("the range of source ports {}-{} is empty",
                                                  request.range.first, request.range.second));
    if (request.ports.pattern == PortPattern::sequential && request.ports.step == 0)
        return fail(ErrorKind::usage, "sequential ports need a step of 1 or more");
    if (request.per_slave != 0 && request.ports.pattern != PortPattern::balanced)
        return fail(ErrorKind::usage, "--per-slave chooses the ports itself, and --ports says other ones",
                    "leave out --ports");
    return {};
}

} // namespace

Result<std::vector<AddressPair>> address_pairs(const std::vector<IpAddress>& sources,
                                               const std::vector<IpAddress>& destinations) {
    std::vector<AddressPair> pairs;
    for (const IpAddress& remote : destinations)
        for (const IpAddress& local : sources) {
            if (local.v6 != remote.v6) continue;
            pairs.push_back({local, remote, {}});
            if (pairs.size() > most_pairs)
                return fail(ErrorKind::usage, fmt::format("{} sources and {} destinations are more than {} "
                                                          "pairs",
                                                          sources.size(), destinations.size(), most_pairs));
        }
    if (pairs.empty())
        return fail(ErrorKind::usage, "no source and destination are of the same family",
                    "IPv4 addresses on both sides, or IPv6 addresses");
    return pairs;
}

Result<PortPlan> plan_ports(const PlanRequest& request, const PortFilter& avoid) {
    if (const auto checked = check(request); !checked) return tl::make_unexpected(checked.error());
    const PortPattern pattern = request.ports.pattern;
    if (pattern == PortPattern::balanced || pattern == PortPattern::reach) return plan_slaves(request, avoid);

    PortPlan plan;
    if (pattern == PortPattern::list) {
        const auto usable = usable_of(request.ports.list, avoid, plan.notes);
        plan.wanted =
            request.flows.value_or(std::min(max_flows, request.ports.list.size() * request.pairs.size()));
        plan.ports_per_pair = usable.size();
        plan.flows = deal(request, PairPorts(request.pairs.size(), usable), plan.wanted);
    } else {
        plan.wanted = request.flows.value_or(1);
        const std::size_t each = (plan.wanted + request.pairs.size() - 1) / request.pairs.size();
        plan.ports_per_pair = free_ports(request.range, avoid).size();
        plan.flows = deal(request, pair_ports(request, each, avoid), plan.wanted);
    }
    if (plan.flows.empty())
        return fail(ErrorKind::unavailable,
                    pattern == PortPattern::list
                        ? std::string("every port listed is in use or reserved")
                        : fmt::format("every source port from {} to {} is in use or reserved",
                                      request.range.first, request.range.second),
                    "other ports with --ports, or more addresses with --sources");
    say_shortage(request, plan);
    return plan;
}

} // namespace bondtrace::traffic
