// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/host_population.h"

#include "user/traffic/draw.h"

#include <algorithm>
#include <bitset>

#include <fmt/format.h>

namespace bondtrace::traffic {
namespace {

constexpr std::uint32_t lowest_port = 1024; // below, a port may belong to a service that is just not running
constexpr std::uint32_t port_count = 65536;

bool is_loopback(const IpAddress& ip) {
    static const IpPrefix v4 = *parse_prefix("127.0.0.0/8"), v6 = *parse_prefix("::1/128");
    return v4.contains(ip) || v6.contains(ip);
}

struct Population {
    std::vector<std::uint16_t> ports; // one a connection
    std::size_t served = 0;           // of them, those in which this host is the server
};

Population population_of(const std::vector<HostSocket>& sockets) {
    std::bitset<port_count> serves;
    for (const HostSocket& socket : sockets)
        if (socket.state == socket_state::listening ||
            (socket.state == socket_state::closed && socket.remote_port == 0))
            serves.set(socket.local_port);
    Population population;
    for (const HostSocket& socket : sockets) {
        if (socket.state != socket_state::established || socket.remote_port == 0) continue;
        if (is_loopback(socket.remote) || socket.remote == socket.local) continue;
        const bool server = serves.test(socket.local_port);
        population.ports.push_back(server ? socket.remote_port : socket.local_port);
        population.served += server ? 1 : 0;
    }
    return population;
}

bool usable(std::uint32_t port, const PortFilter& avoid) {
    return port >= lowest_port && port < port_count && (!avoid || !avoid(static_cast<std::uint16_t>(port)));
}

// The bits to invert so that as few ports as possible collide. Never the lowest: parity is what people look
// at.
std::uint16_t best_mask(const std::vector<std::uint16_t>& ports, const PortFilter& avoid) {
    constexpr std::size_t sample = 2000;
    std::bitset<port_count> blocked;
    for (std::uint32_t port = 0; port < port_count; ++port)
        blocked.set(port, !usable(port, avoid));
    std::uint16_t best = 0;
    std::size_t least = SIZE_MAX;
    for (std::uint32_t mask = 0; mask < port_count && least > 0; mask += 2) {
        std::size_t collisions = 0;
        for (std::size_t i = 0; i < std::min(sample, ports.size()) && collisions < least; ++i)
            collisions += blocked.test(ports[i] ^ mask) ? 1U : 0U;
        if (collisions >= least) continue;
        least = collisions;
        best = static_cast<std::uint16_t>(mask);
    }
    return best;
}

// The first port from `port` on that may be given, in steps of two and around the end; 0: none is left.
std::uint16_t free_port(std::uint16_t port, const std::bitset<port_count>& taken, const PortFilter& avoid) {
    for (std::uint32_t step = 0; step < port_count; step += 2) {
        const std::uint32_t candidate = (port + step) % port_count;
        if (usable(candidate, avoid) && !taken.test(candidate)) return static_cast<std::uint16_t>(candidate);
    }
    return 0;
}

} // namespace

Result<PortPlan> plan_like_host(const PlanRequest& request, const std::vector<HostSocket>& sockets,
                                const PortFilter& avoid) {
    if (request.pairs.empty())
        return fail(ErrorKind::usage, "there is no pair of addresses for the flows to run between");
    const char* const protocol = request.transport == Transport::tcp ? "TCP" : "UDP";
    Population population = population_of(sockets);
    if (population.ports.empty())
        return fail(ErrorKind::unavailable,
                    fmt::format("this host has no {} connection with another host to be copied", protocol),
                    "ss -tun shows what it has; without --like-host ports are chosen by --ports");
    PortPlan plan;
    const std::size_t all = population.ports.size();
    plan.wanted = std::min(request.flows.value_or(all), max_flows);
    const std::size_t count = std::min(plan.wanted, all);
    Draw draw(request.seed);
    if (count < all) draw.shuffle_front(population.ports, count);
    population.ports.resize(count);

    const std::uint16_t mask = best_mask(population.ports, avoid);
    std::vector<std::bitset<port_count>> taken(request.pairs.size());
    std::size_t replaced = 0;
    std::bitset<port_count> distinct;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = i % request.pairs.size();
        const auto wanted = static_cast<std::uint16_t>(population.ports[i] ^ mask);
        const std::uint16_t port = free_port(wanted, taken[at], avoid);
        if (port == 0) break;
        replaced += port != wanted ? 1 : 0;
        taken[at].set(port);
        distinct.set(population.ports[i]);
        plan.flows.push_back({request.pairs[at].local, request.pairs[at].remote, port, request.remote_port});
    }
    plan.ports_per_pair = port_count - lowest_port;
    const auto even = std::count_if(population.ports.begin(), population.ports.end(),
                                    [](std::uint16_t port) { return port % 2 == 0; });
    plan.notes.push_back(
        fmt::format("like {} of this host's {} {} connections ({} of all are served here): {} "
                    "different ports, {} even",
                    count, all, protocol, population.served, distinct.count(), even));
    if (replaced > 0)
        plan.notes.push_back(
            fmt::format("{} of the ports were in use, or there twice, and others of the same "
                        "parity were taken",
                        replaced));
    if (plan.flows.size() < plan.wanted)
        plan.notes.push_back(fmt::format("{} flows of {}: this host has no more connections to copy",
                                         plan.flows.size(), plan.wanted));
    return plan;
}

} // namespace bondtrace::traffic
