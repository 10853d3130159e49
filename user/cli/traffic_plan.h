// SPDX-License-Identifier: GPL-2.0-or-later
// The options of `bondtrace traffic client`, understood: what is asked of the engine, and the flows to open.
#pragma once

#include "user/cli/command.h"
#include "user/report/traffic_report.h"
#include "user/traffic/client.h"

#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct TrafficClientOptions {
    CommonOptions common;
    std::string host;
    std::uint16_t port = traffic::default_port;
    std::optional<std::size_t> flows;
    bool tcp = false, udp = false;
    traffic::Direction direction = traffic::Direction::up;
    std::string duration = "10s", bytes, length, window, rate, total_rate, pace = "none", interval = "1s";
    std::string ports = "kernel", bond, bind, sources, destinations, congestion, title, era, masked;
    std::size_t per_slave = 0;
    std::uint64_t seed = 1;
    unsigned threads = 0;
    std::vector<unsigned> cpus;
    std::optional<std::uint8_t> dscp;
    bool like_host = false, no_copy = false, gso = false, json = false;
    ColorChoice color = ColorChoice::automatic;
};

// The test, without its flows.
Result<traffic::ClientRequest> understand(const TrafficClientOptions& options);

// Plans the flows of `request` as the options say, looking at the host (ports in use, routes, the bond), and
// sees to the limit of open files. Puts the plan, and what is missing, into `report`.
Result<void> plan_flows(const TrafficClientOptions& options, const NetNs& netns,
                        traffic::ClientRequest& request, TrafficReport& report);

} // namespace bondtrace
