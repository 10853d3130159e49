// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace bondtrace {
namespace {

bool link_up(const Slave& slave) {
    return slave.admin_up && slave.carrier && slave.mii_status == MiiStatus::up;
}

bool has_partner(const Bond& bond) {
    return bond.aggregator && bond.aggregator->partner_mac != MacAddress{};
}

} // namespace

std::string lacp_trouble(const Bond& bond, const Slave& slave) {
    if (bond.mode != BondMode::lacp || !link_up(slave) || !slave.actor_port_state) return {};
    const std::uint8_t actor = *slave.actor_port_state;
    if (actor & lacp_state::expired) return "partner lost";
    if (actor & lacp_state::defaulted) return "no partner";
    if (bond.aggregator && slave.aggregator_id && *slave.aggregator_id != bond.aggregator->aggregator_id)
        return "other aggregator";
    const auto lacks = [&](std::uint8_t state) -> const char* {
        if (!(state & lacp_state::aggregation)) return "individual";
        if (!(state & lacp_state::synchronization)) return "not synchronized";
        if (!(state & lacp_state::collecting)) return "not collecting";
        if (!(state & lacp_state::distributing)) return "not distributing";
        return nullptr;
    };
    if (const char* what = lacks(actor)) return what;
    if (slave.partner_port_state)
        if (const char* what = lacks(static_cast<std::uint8_t>(*slave.partner_port_state)))
            return fmt::format("partner {}", what);
    return {};
}

Verdict judge_lacp(const Bond& bond) {
    if (bond.mode != BondMode::lacp) return {};
    if (bond.slaves.empty()) return {"no slaves", Weight::bad};
    if (!has_partner(bond)) return {"no partner", Weight::bad};
    const auto good = std::count_if(bond.slaves.begin(), bond.slaves.end(), [&](const Slave& slave) {
        return link_up(slave) && lacp_trouble(bond, slave).empty();
    });
    if (good == static_cast<std::ptrdiff_t>(bond.slaves.size())) return {"up", Weight::good};
    if (good == 0) return {"down", Weight::bad};
    return {fmt::format("{} of {} up", good, bond.slaves.size()), Weight::bad};
}

std::string_view to_text(BalanceWord word) {
    switch (word) {
    case BalanceWord::even:
        return "even";
    case BalanceWord::chance:
        return "uneven by chance";
    case BalanceWord::uneven:
        return "uneven";
    case BalanceWord::few_flows:
        return "few flows";
    case BalanceWord::no_traffic:
        return "no traffic";
    case BalanceWord::not_expected:
        break;
    }
    return "";
}

BalanceVerdict judge_balance(const BalanceInput& input) {
    constexpr double even_enough = 1.2, band_width = 1.96, beyond_chance = 3.5, flows_per_slave = 8;
    // Less than this in the last seconds is none: weights fade for ever.
    constexpr double least_bytes = 100;

    BalanceVerdict verdict;
    const auto n = static_cast<double>(input.slaves.size());
    if (input.mode == BondMode::active_backup || input.mode == BondMode::broadcast ||
        input.slaves.size() < 2) {
        verdict.word = BalanceWord::not_expected;
        return verdict;
    }
    const double total = std::accumulate(input.slaves.begin(), input.slaves.end(), 0.0);
    if (total < least_bytes) return verdict;
    const auto largest = std::max_element(input.slaves.begin(), input.slaves.end());
    verdict.largest = *largest / total;
    verdict.largest_slave = static_cast<std::size_t>(largest - input.slaves.begin());
    const double mean = 1 / n;
    if (input.mode == BondMode::balance_rr) { // packet by packet: chance has no part in it
        verdict.low = mean / even_enough;
        verdict.high = mean * even_enough;
        verdict.word = verdict.largest <= verdict.high ? BalanceWord::even : BalanceWord::uneven;
        return verdict;
    }
    if (input.flow_bytes <= 0 || input.flow_squares <= 0) return verdict;
    const double effective = input.flow_bytes * input.flow_bytes / input.flow_squares;
    const double deviation = std::sqrt(mean * (1 - mean) / effective);
    verdict.low = std::max(0.0, mean - band_width * deviation);
    verdict.high = std::min(1.0, mean + band_width * deviation);
    if (verdict.largest <= mean * even_enough)
        verdict.word = BalanceWord::even;
    else if (effective < flows_per_slave * n)
        verdict.word = BalanceWord::few_flows;
    else if (verdict.largest <= mean + beyond_chance * deviation)
        verdict.word = BalanceWord::chance;
    else
        verdict.word = BalanceWord::uneven;
    return verdict;
}

} // namespace bondtrace
