// SPDX-License-Identifier: GPL-2.0-or-later
// A test whose flows are like those that the host has anyway: --like-host. Pure.
#pragma once

#include "user/predict/socket_table.h"
#include "user/traffic/port_plan.h"

#include <vector>

namespace bondtrace::traffic {

// One flow for each connection of this host with another (`request.flows` of them, at random, when fewer are
// asked for), between the request's addresses. Its source port is that end's port of the connection which
// varies: the local one where this host has connected, the remote one where it serves. All ports have the
// same bits inverted, since their owners hold them: an even port stays even, and so does the distance of two
// ports in the exclusive-or that hashes are made of. Ports that are then to be avoided, or occur twice, are
// replaced by the next free one of the same parity; notes tell how many. `sockets` are those of the request's
// transport. Error (unavailable) when the host has no such connection.
Result<PortPlan> plan_like_host(const PlanRequest& request, const std::vector<HostSocket>& sockets,
                                const PortFilter& avoid = {});

} // namespace bondtrace::traffic
