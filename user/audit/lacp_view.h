// SPDX-License-Identifier: GPL-2.0-or-later
// What an 802.3ad bond's state means, port by port. Pure.
#pragma once

#include "user/bond/model.h"

#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

// A slave as LACP sees it. Every question is answered with false where the source does not tell.
class LacpPort {
  public:
    LacpPort(const Bond& bond, const Slave& slave) : bond_(&bond), slave_(&slave) {}

    [[nodiscard]] const Slave& slave() const { return *slave_; }
    [[nodiscard]] bool up() const;
    // In the aggregator that is active.
    [[nodiscard]] bool selected() const;
    // In another one, or in none while there is one.
    [[nodiscard]] bool left_out() const;
    // The LACP system at the other end; all zero: nobody. nullopt: unknown.
    [[nodiscard]] std::optional<MacAddress> partner() const;
    [[nodiscard]] bool no_partner() const;
    [[nodiscard]] bool partner_known() const; // and is somebody
    [[nodiscard]] bool partner_has(std::uint8_t bit) const;
    [[nodiscard]] bool actor_has(std::uint8_t bit) const;
    // Which of in sync, collecting and distributing an end lacks; empty when both have all, or are unknown.
    [[nodiscard]] std::string lacking() const;
    [[nodiscard]] bool churned() const;
    // "actor 7 (active, ...), partner 69 (...)", and churn.
    [[nodiscard]] std::string states() const;
    // Why it is not in the active aggregator, as far as that shows.
    [[nodiscard]] std::string reason_left_out() const;

  private:
    const Bond* bond_;
    const Slave* slave_;
};

// All ports, in the slaves' order.
std::vector<LacpPort> lacp_ports(const Bond& bond);

} // namespace bondtrace
