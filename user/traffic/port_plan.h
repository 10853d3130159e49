// SPDX-License-Identifier: GPL-2.0-or-later
// From what a user asks for to the 5-tuples of a test's flows. Pure.
#pragma once

#include "user/base/result.h"
#include "user/hash/inverse.h"
#include "user/predict/path.h"
#include "user/traffic/options.h"
#include "user/traffic/port_choice.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bondtrace::traffic {

// A local and a remote address between which flows run.
struct AddressPair {
    IpAddress local, remote;
    PathFrame frame; // what stands around the packets; only asked for with a bond
};

// Every local with every remote address of the same family, local addresses first to change. Usage error when
// no two are of one family, or there are more than 4096 pairs.
Result<std::vector<AddressPair>> address_pairs(const std::vector<IpAddress>& sources,
                                               const std::vector<IpAddress>& destinations);

struct PlanRequest {
    Transport transport = Transport::tcp;
    std::vector<AddressPair> pairs;           // at least one
    std::uint16_t remote_port = default_port; // the server has one for all flows
    std::optional<std::size_t> flows;         // nullopt: as many as ports are listed, or one; see per_slave
    PortChoice ports;
    std::pair<std::uint16_t, std::uint16_t> range{32768, 60999}; // to choose from, both ends included
    std::uint64_t seed = 1;                                      // of everything that is random
    // balanced, reach: the bond that the flows leave through, as it is now.
    std::optional<PathBond> bond;
    std::size_t per_slave = 0; // flows on each usable slave, in place of `flows`; 0: not given
};

struct PortPlan {
    std::vector<FlowAddress> flows;  // no two alike, but for those whose port the kernel chooses (0)
    std::size_t wanted = 0;          // as many as were asked for; more than `flows` when ports do not suffice
    std::size_t ports_per_pair = 0;  // that could be given to one pair of addresses: its ceiling of flows
    std::vector<std::string> slaves; // balanced, reach: the usable ones, in the kernel's order
    std::vector<std::uint32_t> slave_of; // of each flow, its position among them; empty without a bond
    std::vector<std::string> notes;      // what the user must know of the plan, one sentence each
};

// The plan of a test. Flows take the pairs of addresses in turn, so that a pair has one flow more than
// another at most. Ports for which `avoid` is true (in use, reserved) are not given. Where ports do not
// suffice the plan is shorter than `wanted` and a note says why. Usage error for a request that makes no
// sense; for balanced and reach where source ports and addresses do not decide about the slave, an error that
// says what does, and whether flows can be observed instead (slave_decision() in slave_plan.h tells
// beforehand).
Result<PortPlan> plan_ports(const PlanRequest& request, const PortFilter& avoid = {});

} // namespace bondtrace::traffic
