// SPDX-License-Identifier: GPL-2.0-or-later
// Flows that land on the slaves one wants, where the tuple decides about the slave: the hash backwards. Pure.
#pragma once

#include "user/traffic/port_plan.h"

#include <cstdint>
#include <string>

namespace bondtrace::traffic {

// What decides which slave carries a flow that this host sends.
enum class SlaveDecider : std::uint8_t {
    ports,       // and addresses: any slave can be reached by choosing a source port
    addresses,   // alone: every port between two addresses takes the same slave
    observation, // something that the tuple does not show: open a flow and look (observe_plan.h)
    nothing,     // a flow is on every slave, now or in turn
    unknown,     // what it takes to tell is missing: `why`, `advice`
};

struct SlaveDecision {
    SlaveDecider by = SlaveDecider::ports;
    std::string why;    // a phrase; empty for ports
    std::string advice; // may be empty
};

// For flows of this transport between two addresses, sent by connected sockets of this host.
SlaveDecision slave_decision(const PathBond& bond, Transport transport, const AddressPair& pair);

// The plan for balanced and reach; see plan_ports(), which calls it. Every slave gets the same number of
// flows, or one more than another where the number of slaves does not divide them (a note says so), and
// neighbours in the list of flows are on different slaves. Every tuple has been checked forwards.
Result<PortPlan> plan_slaves(const PlanRequest& request, const PortFilter& avoid);

} // namespace bondtrace::traffic
