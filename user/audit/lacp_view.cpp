// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/lacp_view.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr MacAddress nobody{};

// A slave of the active aggregator, to compare with; nullptr when none is known.
const Slave* model_of(const Bond& bond) {
    if (!bond.aggregator) return nullptr;
    const auto slave = std::find_if(bond.slaves.begin(), bond.slaves.end(), [&](const Slave& candidate) {
        return candidate.aggregator_id == bond.aggregator->aggregator_id;
    });
    return slave == bond.slaves.end() ? nullptr : &*slave;
}

std::string missing_bits(std::uint16_t state) {
    constexpr std::uint8_t wanted =
        lacp_state::synchronization | lacp_state::collecting | lacp_state::distributing;
    const auto lacked = static_cast<std::uint8_t>(wanted & ~state);
    return lacked == 0 ? "" : describe_port_state(lacked);
}

std::string churn_text(const Slave& slave) {
    if (!slave.actor_churn && !slave.partner_churn) return "";
    const auto one = [](const std::optional<ChurnState>& state, const std::optional<std::uint32_t>& count) {
        return fmt::format("{}{}", state ? to_text(*state) : "unknown",
                           count && *count > 0 ? fmt::format(" (count {})", *count) : "");
    };
    return fmt::format("; churn: actor {}, partner {}", one(slave.actor_churn, slave.actor_churn_count),
                       one(slave.partner_churn, slave.partner_churn_count));
}

} // namespace

bool LacpPort::up() const {
    return !slave_->unknown.mii_status && slave_->mii_status == MiiStatus::up;
}

bool LacpPort::selected() const {
    return bond_->aggregator && slave_->aggregator_id == bond_->aggregator->aggregator_id;
}

bool LacpPort::left_out() const {
    return bond_->aggregator && !slave_->unknown.aggregator &&
           slave_->aggregator_id != bond_->aggregator->aggregator_id;
}

std::optional<MacAddress> LacpPort::partner() const {
    if (slave_->partner && slave_->partner->system_mac) return slave_->partner->system_mac;
    // Without a LACPDU from anybody the driver falls back on defaults, and says so in its own state.
    if (actor_has(lacp_state::defaulted)) return nobody;
    if (selected()) return bond_->aggregator->partner_mac;
    return std::nullopt;
}

bool LacpPort::no_partner() const {
    return partner() == nobody;
}

bool LacpPort::partner_known() const {
    const auto mac = partner();
    return mac && *mac != nobody;
}

bool LacpPort::partner_has(std::uint8_t bit) const {
    return (slave_->partner_port_state.value_or(0) & bit) != 0;
}

bool LacpPort::actor_has(std::uint8_t bit) const {
    return (slave_->actor_port_state.value_or(0) & bit) != 0;
}

std::string LacpPort::lacking() const {
    if (!slave_->actor_port_state || !slave_->partner_port_state) return "";
    const std::string actor = missing_bits(*slave_->actor_port_state),
                      partner = missing_bits(*slave_->partner_port_state);
    if (actor.empty() && partner.empty()) return "";
    if (partner.empty()) return "the actor is not " + actor;
    if (actor.empty()) return "the partner is not " + partner;
    return fmt::format("the actor is not {}; the partner is not {}", actor, partner);
}

bool LacpPort::churned() const {
    return slave_->actor_churn == ChurnState::churned || slave_->partner_churn == ChurnState::churned;
}

std::string LacpPort::states() const {
    const auto one = [](const auto& state) -> std::string {
        if (!state) return "unknown";
        return fmt::format("{} ({})", *state, describe_port_state(static_cast<std::uint8_t>(*state & 0xff)));
    };
    return fmt::format("actor state {}, partner state {}{}", one(slave_->actor_port_state),
                       one(slave_->partner_port_state), churn_text(*slave_));
}

std::string LacpPort::reason_left_out() const {
    if (no_partner()) return "no LACP partner answers on it";
    const Slave* const model = model_of(*bond_);
    const auto mine = partner();
    if (model) {
        const auto theirs = LacpPort(*bond_, *model).partner();
        if (mine && theirs && *theirs != nobody && *mine != *theirs)
            return fmt::format("its partner is another system, {} and not {}", to_text(*mine),
                               to_text(*theirs));
        if (slave_->speed_mbps && model->speed_mbps && *slave_->speed_mbps != *model->speed_mbps)
            return fmt::format("its speed is {} Mbps, that of {} is {} Mbps", *slave_->speed_mbps,
                               model->name, *model->speed_mbps);
    }
    if (slave_->duplex == Duplex::half) return "it runs half duplex";
    if (slave_->speed_undetermined) return "its speed is unknown";
    if (partner_has(lacp_state::defaulted)) return "the partner does not accept our LACPDUs on it";
    if (slave_->actor_port_state && !actor_has(lacp_state::aggregation))
        return "it is marked as not aggregatable";
    if (slave_->partner_port_state && !partner_has(lacp_state::aggregation))
        return "the switch marks its port as not aggregatable";
    if (model && slave_->partner && model->partner) {
        if (slave_->partner->key != model->partner->key)
            return fmt::format("the switch has its port in another group, key {} and not {}",
                               slave_->partner->key.value_or(0), model->partner->key.value_or(0));
        if (slave_->actor && model->actor && slave_->actor->key != model->actor->key)
            return fmt::format("its key is {} and that of {} is {}", slave_->actor->key.value_or(0),
                               model->name, model->actor->key.value_or(0));
        if (churned())
            return "no agreement with the partner was reached, though partner and keys are the same";
    }
    return churned() ? "no agreement with the partner was reached" : "why does not show";
}

std::vector<LacpPort> lacp_ports(const Bond& bond) {
    std::vector<LacpPort> ports;
    for (const Slave& slave : bond.slaves)
        ports.emplace_back(bond, slave);
    return ports;
}

} // namespace bondtrace
