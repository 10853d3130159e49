// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/verdict.h"

#include <algorithm>

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

} // namespace bondtrace
