// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/slave_plan.h"

#include "user/hash/policy.h"
#include "user/hash/wire.h"
#include "user/traffic/port_sequence.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace::traffic {
namespace {

TypedFlow typed(Transport transport, const AddressPair& pair, std::uint16_t port, std::uint16_t remote_port) {
    TypedFlow flow;
    flow.protocol = transport == Transport::tcp ? ipproto::tcp : ipproto::udp;
    flow.src = pair.local;
    flow.dst = pair.remote;
    flow.src_port = port;
    flow.dst_port = remote_port;
    return flow;
}

// The generator's sockets are connected, UDP as well: the kernel gives their packets the socket's hash.
PathFrame sent_here(PathFrame frame) {
    frame.local_source = true;
    if (!frame.l4_hash) frame.l4_hash = true;
    return frame;
}

PathAnswer answer_for(const PathBond& bond, Transport transport, const AddressPair& pair, std::uint16_t port,
                      std::uint16_t remote_port) {
    return predict_path(bond, typed(transport, pair, port, remote_port), sent_here(pair.frame));
}

constexpr const char* vary_addresses =
    "more addresses with --sources or --destinations, or xmit_hash_policy layer3+4, under which ports decide";

SlaveDecision decision_of(const PathBond& bond, const PathAnswer& answer) {
    if (bond.usable.empty())
        return {SlaveDecider::unknown, fmt::format("{} has no usable slave", bond.name),
                "bondtrace audit says why"};
    if (bond.mode == BondMode::balance_rr)
        return {SlaveDecider::nothing,
                "balance-rr sends each packet through the next slave: every flow is on "
                "every slave",
                "look at the slaves' shares with bondtrace flows"};
    if (answer.every_slave) return {SlaveDecider::nothing, answer.why, {}};
    if (answer.slave && answer.index && uses_ports(bond.policy)) return {};
    if (answer.slave)
        return {SlaveDecider::addresses,
                answer.index ? fmt::format("the policy {} does not hash ports: every port between two "
                                           "addresses takes the same slave",
                                           to_text(bond.policy))
                             : answer.why,
                answer.index ? vary_addresses : ""};
    if (!answer.frame.problem.empty() && !answer.index && answer.why == answer.frame.problem)
        return {SlaveDecider::unknown, answer.why, answer.advice};
    return {SlaveDecider::observation, answer.why, answer.advice};
}

tl::unexpected<Error> undecided(const SlaveDecision& decision) {
    switch (decision.by) {
    case SlaveDecider::nothing:
        return fail(ErrorKind::usage,
                    fmt::format("flows cannot be put on slaves of one's choice: {}", decision.why),
                    decision.advice);
    case SlaveDecider::unknown:
        return fail(ErrorKind::unavailable,
                    fmt::format("the slave of a flow cannot be told: {}", decision.why), decision.advice);
    default:
        return fail(
            ErrorKind::unavailable,
            fmt::format("neither ports nor addresses decide about the slave of a flow: {}", decision.why),
            "such flows must be observed: opened, looked at where they go, and kept or reset; that "
            "needs the tracer, and so root");
    }
}

// Ports of each pair that lead to one slave, in the order in which they are given out.
struct Reaching {
    std::vector<std::vector<std::uint16_t>> of_pair;
    std::vector<std::size_t> given; // of each pair
    std::size_t turn = 0;           // the pair that is next

    [[nodiscard]] std::size_t total() const {
        return std::accumulate(of_pair.begin(), of_pair.end(), std::size_t{0},
                               [](std::size_t sum, const auto& ports) { return sum + ports.size(); });
    }
    // Pair and port; there must be one left.
    std::pair<std::size_t, std::uint16_t> next() {
        while (given[turn] == of_pair[turn].size())
            turn = (turn + 1) % of_pair.size();
        const std::pair result{turn, of_pair[turn][given[turn]++]};
        turn = (turn + 1) % of_pair.size();
        return result;
    }
};

class Planner {
  public:
    Planner(const PlanRequest& request, const PortFilter& avoid)
        : request_(request), bond_(*request.bond), avoid_(avoid), draw_(request.seed),
          reaching_(bond_.usable.size()) {}

    // Which ports lead where. Fails where neither ports nor addresses decide.
    Result<void> search() {
        const auto free = free_ports(request_.range, avoid_);
        ports_per_pair_ = free.size();
        for (std::size_t slave = 0; slave < reaching_.size(); ++slave) {
            reaching_[slave].of_pair.resize(request_.pairs.size());
            reaching_[slave].given.resize(request_.pairs.size());
            reaching_[slave].turn = slave % request_.pairs.size();
        }
        for (std::size_t pair = 0; pair < request_.pairs.size(); ++pair) {
            const PathAnswer answer = answer_for(bond_, request_.transport, request_.pairs[pair],
                                                 request_.range.first, request_.remote_port);
            const SlaveDecision decision = decision_of(bond_, answer);
            if (decision.by == SlaveDecider::ports) {
                if (const auto searched = search_ports(pair, answer); !searched) return searched;
                continue;
            }
            if (decision.by != SlaveDecider::addresses) return undecided(decision);
            fixed_ = decision;
            const auto at = std::find(bond_.usable.begin(), bond_.usable.end(), *answer.slave);
            if (at == bond_.usable.end()) continue; // an active slave that carries nothing now
            const auto slave = static_cast<std::size_t>(at - bond_.usable.begin());
            reaching_[slave].of_pair[pair] = random_ports(free, free.size(), draw_);
        }
        return {};
    }

    // What each slave is to have; none where there is no way to it.
    Result<PortPlan> plan(const std::vector<std::size_t>& wanted) {
        PortPlan plan;
        plan.slaves = bond_.usable;
        plan.ports_per_pair = ports_per_pair_;
        plan.wanted = std::accumulate(wanted.begin(), wanted.end(), std::size_t{0});
        std::vector<std::size_t> quota = wanted;
        std::size_t least = SIZE_MAX; // what every slave can have
        for (std::size_t slave = 0; slave < quota.size(); ++slave) {
            if (quota[slave] == 0) continue;
            const std::size_t total = reaching_[slave].total();
            if (total == 0) return tl::make_unexpected(unreached(slave));
            if (total < quota[slave]) least = std::min(least, total);
        }
        for (std::size_t& flows : quota)
            flows = std::min(flows, least);
        const std::size_t planned = std::accumulate(quota.begin(), quota.end(), std::size_t{0});
        for (std::size_t round = 0; plan.flows.size() < planned; ++round)
            for (std::size_t slave = 0; slave < quota.size(); ++slave)
                if (round < quota[slave])
                    if (const auto added = add(slave, plan); !added)
                        return tl::make_unexpected(added.error());
        if (planned < plan.wanted)
            plan.notes.push_back(fmt::format(
                "{} flows of {}: of the {} free ports from {} to {} no more lead to one of the slaves",
                planned, plan.wanted, ports_per_pair_, request_.range.first, request_.range.second));
        return plan;
    }

  private:
    // Of many pairs each is searched in a part of the range, which holds some times what it will have to
    // give.
    [[nodiscard]] PortBounds bounds() {
        constexpr std::size_t many = 32, margin = 4, least = 4096;
        const std::size_t pairs = request_.pairs.size();
        const std::size_t all = std::size_t{request_.range.second} - request_.range.first + 1;
        const std::size_t size = std::max(least, margin * (max_flows / pairs + 1));
        if (pairs <= many || size >= all) return request_.range;
        const auto low = static_cast<std::uint16_t>(request_.range.first + draw_.below(all - size + 1));
        return {low, static_cast<std::uint16_t>(low + size - 1)};
    }

    Result<void> search_ports(std::size_t pair, const PathAnswer& answer) {
        const AddressPair& addresses = request_.pairs[pair];
        ReachQuery query;
        query.tuple = to_tuple(answer.flow);
        query.tuple.src_mac = addresses.frame.src_mac;
        query.tuple.dst_mac = addresses.frame.dst_mac;
        query.tuple.tci = addresses.frame.tci;
        query.policy = bond_.policy;
        query.era = bond_.era;
        query.usable = static_cast<std::uint32_t>(bond_.usable.size());
        std::tie(query.low, query.high) = bounds();
        query.count = SIZE_MAX;
        for (std::uint32_t slave = 0; slave < query.usable; ++slave) {
            query.index = slave;
            auto ports = ports_reaching(query, avoid_);
            if (!ports) return tl::make_unexpected(ports.error());
            const std::size_t count = ports->size();
            reaching_[slave].of_pair[pair] = random_ports(std::move(*ports), count, draw_);
        }
        return {};
    }

    Result<void> add(std::size_t slave, PortPlan& plan) {
        const auto [pair, port] = reaching_[slave].next();
        const AddressPair& addresses = request_.pairs[pair];
        const PathAnswer forwards =
            answer_for(bond_, request_.transport, addresses, port, request_.remote_port);
        if (forwards.slave != bond_.usable[slave])
            return fail(ErrorKind::internal, fmt::format("port {} was found for {}, but leads elsewhere",
                                                         port, bond_.usable[slave]));
        plan.flows.push_back({addresses.local, addresses.remote, port, request_.remote_port});
        plan.slave_of.push_back(static_cast<std::uint32_t>(slave));
        return {};
    }

    [[nodiscard]] Error unreached(std::size_t slave) const {
        std::vector<std::string> reached;
        for (std::size_t i = 0; i < reaching_.size(); ++i)
            if (reaching_[i].total() > 0) reached.push_back(bond_.usable[i]);
        if (fixed_.by == SlaveDecider::addresses)
            return {ErrorKind::usage,
                    fmt::format("no flow can be put on {}: {}; the addresses given lead to {}",
                                bond_.usable[slave], fixed_.why,
                                reached.empty() ? "no usable slave"
                                                : fmt::format("{}", fmt::join(reached, ", "))),
                    fixed_.advice};
        return {ErrorKind::unavailable,
                fmt::format("no free source port from {} to {} leads to {}", request_.range.first,
                            request_.range.second, bond_.usable[slave]),
                "more addresses with --sources, or a wider net.ipv4.ip_local_port_range"};
    }

    const PlanRequest& request_;
    const PathBond& bond_;
    const PortFilter& avoid_;
    Draw draw_;
    std::vector<Reaching> reaching_; // one a usable slave
    std::size_t ports_per_pair_ = 0;
    SlaveDecision fixed_; // of the last pair whose addresses decide alone
};

// "4, 3 and 3".
std::string counts_text(const std::vector<std::size_t>& counts) {
    std::string text;
    for (std::size_t i = 0; i < counts.size(); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : i + 1 == counts.size() ? " and " : ", ", counts[i]);
    return text;
}

Result<std::vector<std::size_t>> reach_quota(const PlanRequest& request) {
    const PathBond& bond = *request.bond;
    const std::string& name = request.ports.slave;
    const auto at = std::find(bond.usable.begin(), bond.usable.end(), name);
    if (at == bond.usable.end()) {
        const bool idle = std::find(bond.others.begin(), bond.others.end(), name) != bond.others.end();
        return fail(
            idle ? ErrorKind::unavailable : ErrorKind::usage,
            idle ? fmt::format("{} is a slave of {}, but carries nothing now: it is down, a backup, or "
                               "in another aggregator",
                               name, bond.name)
                 : fmt::format("{} is no slave of {}", name, bond.name),
            fmt::format("usable: {}", fmt::join(bond.usable, ", ")));
    }
    std::vector<std::size_t> quota(bond.usable.size());
    quota[static_cast<std::size_t>(at - bond.usable.begin())] = request.flows.value_or(1);
    return quota;
}

std::vector<std::size_t> balanced_quota(std::size_t flows, std::size_t slaves) {
    std::vector<std::size_t> quota(slaves, flows / slaves);
    for (std::size_t i = 0; i < flows % slaves; ++i)
        ++quota[i];
    return quota;
}

} // namespace

SlaveDecision slave_decision(const PathBond& bond, Transport transport, const AddressPair& pair) {
    constexpr std::uint16_t some_port = 40000;
    return decision_of(bond, answer_for(bond, transport, pair, some_port, default_port));
}

Result<PortPlan> plan_slaves(const PlanRequest& request, const PortFilter& avoid) {
    if (!request.bond)
        return fail(
            ErrorKind::usage,
            fmt::format("--ports {} needs the bond that the flows leave through", to_text(request.ports)),
            "name it with --bond");
    const PathBond& bond = *request.bond;
    if (bond.usable.empty()) return undecided(slave_decision(bond, request.transport, request.pairs.front()));
    const std::size_t slaves = bond.usable.size();
    std::vector<std::size_t> quota;
    if (request.ports.pattern == PortPattern::reach) {
        auto reach = reach_quota(request);
        if (!reach) return tl::make_unexpected(reach.error());
        quota = std::move(*reach);
    } else {
        if (request.per_slave > max_flows / slaves)
            return fail(ErrorKind::usage, fmt::format("{} flows on each of {} slaves are more than {}",
                                                      request.per_slave, slaves, max_flows));
        const std::size_t flows =
            request.per_slave != 0 ? request.per_slave * slaves : request.flows.value_or(slaves);
        quota = balanced_quota(flows, slaves);
    }
    Planner planner(request, avoid);
    if (const auto searched = planner.search(); !searched) return tl::make_unexpected(searched.error());
    auto plan = planner.plan(quota);
    if (plan && request.ports.pattern == PortPattern::balanced && plan->wanted % slaves != 0)
        plan->notes.push_back(fmt::format("{} flows are no multiple of {} slaves: {} have {} flows",
                                          plan->wanted, slaves, fmt::join(bond.usable, ", "),
                                          counts_text(quota)));
    return plan;
}

} // namespace bondtrace::traffic
