// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/host_population.h"

#include <set>

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PlanRequest request() {
    PlanRequest request;
    request.pairs = address_pairs({*parse_ip("10.0.0.1")}, {*parse_ip("10.0.0.2")}).value();
    return request;
}

HostSocket connection(std::uint16_t local, std::uint16_t remote, const char* peer = "192.0.2.9") {
    return {*parse_ip("10.0.0.1"), *parse_ip(peer), local, remote, socket_state::established};
}
HostSocket listener(std::uint16_t port) {
    return {*parse_ip("0.0.0.0"), *parse_ip("0.0.0.0"), port, 0, socket_state::listening};
}

std::vector<std::uint16_t> ports_of(const PortPlan& plan) {
    std::vector<std::uint16_t> ports;
    for (const FlowAddress& flow : plan.flows)
        ports.push_back(flow.local_port);
    return ports;
}

TEST(HostPopulation, TakesThePortThatVaries) {
    const auto plan =
        plan_like_host(request(), {listener(443),
                                   connection(443, 51001),
                                   connection(443, 51007),
                                   connection(40000, 443),
                                   connection(50000, 22, "127.0.0.1"),
                                   {*parse_ip("10.0.0.1"), *parse_ip("192.0.2.9"), 40008, 443, 6}})
            .value();
    // Served, served, connected; not loopback, not time-wait.
    EXPECT_THAT(ports_of(plan), ElementsAre(51001, 51007, 40000));
    EXPECT_EQ(plan.flows[0].remote, *parse_ip("10.0.0.2"));
    EXPECT_EQ(plan.flows[0].remote_port, 5477);
    EXPECT_THAT(plan.notes,
                ElementsAre(HasSubstr("like 3 of this host's 3 TCP connections (2 of all are served here): 3 "
                                      "different ports, 1 even")));
}

TEST(HostPopulation, KeepsThePatternOfPortsInUse) {
    std::vector<HostSocket> sockets;
    std::set<std::uint16_t> used;
    for (std::uint16_t port = 40000; port < 40064; port += 2) {
        sockets.push_back(connection(port, 443));
        used.insert(port);
    }
    const auto plan =
        plan_like_host(request(), sockets, [&](std::uint16_t port) { return used.contains(port); }).value();
    const auto ports = ports_of(plan);
    ASSERT_EQ(ports.size(), 32U);
    for (std::size_t i = 0; i < ports.size(); ++i) {
        EXPECT_FALSE(used.contains(ports[i]));
        EXPECT_EQ(ports[i] % 2, 0);
        EXPECT_EQ(ports[i] ^ ports[0], (40000 + 2 * i) ^ 40000U); // hashes differ as they did
    }
    EXPECT_EQ(plan.notes.size(), 1U);
}

TEST(HostPopulation, DoublesAndShortages) {
    // Two clients of this server with the same port.
    auto plan = plan_like_host(request(), {listener(80), connection(80, 50000, "192.0.2.8"),
                                           connection(80, 50000, "192.0.2.9")})
                    .value();
    EXPECT_THAT(ports_of(plan), ElementsAre(50000, 50002));
    EXPECT_THAT(plan.notes[1], HasSubstr("1 of the ports"));
    PlanRequest more = request();
    more.flows = 5;
    plan = plan_like_host(more, {connection(40000, 443), connection(40001, 443)}).value();
    EXPECT_EQ(plan.flows.size(), 2U);
    EXPECT_EQ(plan.wanted, 5U);
    EXPECT_THAT(plan.notes.back(), HasSubstr("2 flows of 5"));
    more.flows = 1;
    EXPECT_EQ(plan_like_host(more, {connection(40000, 443), connection(40001, 443)})->flows.size(), 1U);
    const auto none = plan_like_host(request(), {listener(80), connection(5, 6, "127.0.0.1")});
    EXPECT_EQ(none.error().kind, ErrorKind::unavailable);
    EXPECT_THAT(none.error().what, HasSubstr("no TCP connection"));
}

} // namespace
} // namespace bondtrace::traffic
