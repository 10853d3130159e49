// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/port_plan.h"
#include "user/traffic/port_sequence.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace bondtrace::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PlanRequest request(PortPattern pattern, std::optional<std::size_t> flows = std::nullopt) {
    PlanRequest request;
    request.pairs = address_pairs({*parse_ip("10.0.0.1")}, {*parse_ip("10.0.0.2")}).value();
    request.flows = flows;
    request.ports.pattern = pattern;
    return request;
}

std::vector<std::uint16_t> ports_of(const PortPlan& plan) {
    std::vector<std::uint16_t> ports;
    for (const FlowAddress& flow : plan.flows)
        ports.push_back(flow.local_port);
    return ports;
}

std::set<FlowAddress> distinct(const PortPlan& plan) {
    return {plan.flows.begin(), plan.flows.end()};
}

TEST(AddressPairs, JoinsFamilies) {
    const auto a1 = *parse_ip("10.0.0.1"), a2 = *parse_ip("10.0.0.3"), b = *parse_ip("10.0.0.2");
    const auto a6 = *parse_ip("fd00::1"), b6 = *parse_ip("fd00::2");
    const auto pairs = address_pairs({a1, a6, a2}, {b, b6}).value();
    ASSERT_EQ(pairs.size(), 3U);
    EXPECT_EQ(pairs[0].local, a1);
    EXPECT_EQ(pairs[1].local, a2);
    EXPECT_EQ(pairs[2].remote, b6);
    EXPECT_EQ(address_pairs({a1}, {b6}).error().kind, ErrorKind::usage);
    EXPECT_EQ(address_pairs({}, {b6}).error().kind, ErrorKind::usage);
}

TEST(PortPlan, KernelChoosesByItself) {
    const auto plan = plan_ports(request(PortPattern::kernel, 3)).value();
    EXPECT_THAT(ports_of(plan), ElementsAre(0, 0, 0));
    EXPECT_EQ(plan.ports_per_pair, 60999U - 32768 + 1); // the kernel's default range
    EXPECT_EQ(plan.flows[0].remote_port, 5477);
}

TEST(PortPlan, Sequential) {
    PlanRequest wanted = request(PortPattern::sequential, 5);
    wanted.range = {40000, 40009};
    EXPECT_THAT(ports_of(*plan_ports(wanted)), ElementsAre(40000, 40001, 40002, 40003, 40004));
    wanted.ports.step = 4;
    EXPECT_THAT(ports_of(*plan_ports(wanted)), ElementsAre(40000, 40004, 40008, 40001, 40005));
    EXPECT_THAT(ports_of(*plan_ports(wanted, [](std::uint16_t port) { return port % 4 == 0; })),
                ElementsAre(40001, 40005, 40009, 40002, 40006));
    wanted.range = {65530, 65535};
    wanted.ports.step = 65535;
    wanted.flows = 6;
    EXPECT_THAT(ports_of(*plan_ports(wanted)), ElementsAre(65530, 65531, 65532, 65533, 65534, 65535));
}

TEST(PortPlan, ListIsTakenAsItStands) {
    PlanRequest wanted = request(PortPattern::list);
    wanted.ports.list = {50000, 7, 40000};
    EXPECT_THAT(ports_of(*plan_ports(wanted)), ElementsAre(50000, 7, 40000));
    wanted.flows = 2;
    EXPECT_THAT(ports_of(*plan_ports(wanted)), ElementsAre(50000, 7));
    wanted.flows = 4;
    auto plan = plan_ports(wanted).value();
    EXPECT_EQ(plan.flows.size(), 3U);
    EXPECT_EQ(plan.wanted, 4U);
    EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("3 flows of 4")));
    wanted.flows.reset();
    plan = plan_ports(wanted, [](std::uint16_t port) { return port == 7; }).value();
    EXPECT_THAT(ports_of(plan), ElementsAre(50000, 40000));
    EXPECT_THAT(plan.notes[0], HasSubstr("in use or reserved and left out: 7"));
    EXPECT_EQ(plan.wanted, 3U);
    const auto none = plan_ports(wanted, [](std::uint16_t) { return true; });
    EXPECT_THAT(none.error().what, HasSubstr("every port listed"));
    // The same ports serve every pair of addresses.
    wanted.pairs =
        address_pairs({*parse_ip("10.0.0.1")}, {*parse_ip("10.0.0.2"), *parse_ip("10.0.0.3")}).value();
    EXPECT_EQ(plan_ports(wanted)->flows.size(), 6U);
    EXPECT_EQ(distinct(*plan_ports(wanted)).size(), 6U);
}

// What connect() was seen to give on 6.18, from the default range: 47986, 47994, 48000, 48004.
TEST(PortPlan, EvenIsAsConnectDoes) {
    const auto plan = plan_ports(request(PortPattern::even, 1000)).value();
    const auto ports = ports_of(plan);
    std::map<int, unsigned> steps;
    for (std::size_t i = 1; i < ports.size(); ++i) {
        EXPECT_EQ(ports[i] % 2, 0);
        int step = ports[i] - ports[i - 1];
        if (step < 0) step += 60999 + 1 - 32768; // around the end
        ++steps[step];
    }
    // max(i, random % 8 * 2) + 2 with i = 0: 2, 4, ..., 16, equally often. 999 steps, 8 kinds: below 80 or
    // above 175 in one run of 10^5.
    EXPECT_EQ(steps.size(), 8U);
    for (const auto& [step, count] : steps) {
        EXPECT_THAT(step, testing::AllOf(testing::Ge(2), testing::Le(16)));
        EXPECT_GT(count, 80U) << step;
        EXPECT_LT(count, 175U) << step;
    }
    // The parity is that of the low end.
    PlanRequest odd = request(PortPattern::even, 100);
    odd.range = {32769, 60999};
    for (const std::uint16_t port : ports_of(*plan_ports(odd)))
        EXPECT_EQ(port % 2, 1);
}

TEST(PortPlan, EvenTakesTheOtherParityAtLast) {
    PlanRequest wanted = request(PortPattern::even, 20);
    wanted.range = {40000, 40019};
    auto ports = ports_of(*plan_ports(wanted));
    ASSERT_EQ(ports.size(), 20U);
    EXPECT_TRUE(std::all_of(ports.begin(), ports.begin() + 10, [](auto port) { return port % 2 == 0; }));
    EXPECT_TRUE(std::all_of(ports.begin() + 10, ports.end(), [](auto port) { return port % 2 == 1; }));
    wanted.range = {40000, 40000};
    wanted.flows = 1;
    EXPECT_THAT(ports_of(*plan_ports(wanted)), ElementsAre(40000));
}

TEST(PortPlan, RandomIsSpreadAndRepeatable) {
    PlanRequest wanted = request(PortPattern::random, 4000);
    const auto plan = plan_ports(wanted).value();
    EXPECT_EQ(distinct(plan).size(), 4000U);
    EXPECT_EQ(plan_ports(wanted)->flows, plan.flows);
    wanted.seed = 2;
    EXPECT_NE(plan_ports(wanted)->flows, plan.flows);
    const auto ports = ports_of(plan);
    const auto odd = std::count_if(ports.begin(), ports.end(), [](auto port) { return port % 2 == 1; });
    EXPECT_NEAR(static_cast<double>(odd), 2000, 160); // five standard deviations
    const auto low =
        std::count_if(ports.begin(), ports.end(), [](auto port) { return port < 32768 + 14116; });
    EXPECT_NEAR(static_cast<double>(low), 2000, 160);
    EXPECT_FALSE(std::is_sorted(ports.begin(), ports.end()));
}

TEST(PortPlan, CeilingIsPortsTimesPairs) {
    PlanRequest wanted = request(PortPattern::random, 50000);
    auto plan = plan_ports(wanted).value();
    EXPECT_EQ(plan.flows.size(), 28232U); // 60999 - 32768 + 1
    EXPECT_EQ(plan.ports_per_pair, 28232U);
    EXPECT_EQ(plan.wanted, 50000U);
    ASSERT_EQ(plan.notes.size(), 1U);
    EXPECT_THAT(plan.notes[0], HasSubstr("28232 flows of 50000"));
    wanted.pairs =
        address_pairs({*parse_ip("10.0.0.1"), *parse_ip("10.0.0.3")}, {*parse_ip("10.0.0.2")}).value();
    plan = plan_ports(wanted).value();
    EXPECT_EQ(plan.flows.size(), 50000U);
    EXPECT_EQ(distinct(plan).size(), 50000U);
    EXPECT_THAT(plan.notes, IsEmpty());
    // In turn, so that each pair has half.
    EXPECT_EQ(plan.flows[0].local, *parse_ip("10.0.0.1"));
    EXPECT_EQ(plan.flows[1].local, *parse_ip("10.0.0.3"));
}

TEST(PortPlan, RefusesWhatMakesNoSense) {
    const auto complaint = [](const PlanRequest& wanted) {
        const auto plan = plan_ports(wanted);
        if (plan) return std::string("accepted");
        EXPECT_EQ(plan.error().kind, ErrorKind::usage);
        return plan.error().what;
    };
    EXPECT_THAT(complaint(request(PortPattern::random, 0)), HasSubstr("0 flows"));
    EXPECT_THAT(complaint(request(PortPattern::random, 50001)), HasSubstr("50001 flows"));
    EXPECT_THAT(complaint(request(PortPattern::balanced, 8)), HasSubstr("needs the bond"));
    EXPECT_THAT(complaint(request(PortPattern::reach, 8)), HasSubstr("needs the bond"));
    PlanRequest wanted = request(PortPattern::random, 1);
    wanted.range = {5, 4};
    EXPECT_THAT(complaint(wanted), HasSubstr("empty"));
    wanted = request(PortPattern::random, 1);
    wanted.per_slave = 4;
    EXPECT_THAT(complaint(wanted), HasSubstr("--per-slave"));
    wanted = request(PortPattern::random, 1);
    wanted.pairs[0].remote = *parse_ip("fd00::1");
    EXPECT_THAT(complaint(wanted), HasSubstr("two families"));
    wanted.pairs.clear();
    EXPECT_THAT(complaint(wanted), HasSubstr("no pair"));
    wanted = request(PortPattern::random, 1);
    const auto full = plan_ports(wanted, [](std::uint16_t) { return true; });
    EXPECT_EQ(full.error().kind, ErrorKind::unavailable);
    EXPECT_THAT(full.error().what, HasSubstr("in use or reserved"));
}

// Whatever is asked for: no tuple twice, no port that is to be avoided or out of range, as many as there are.
RC_GTEST_PROP(PortPlanProperty, TuplesAreDistinctFreeAndComplete, ()) {
    PlanRequest wanted;
    const auto sources = *rc::gen::inRange(1, 5), destinations = *rc::gen::inRange(1, 5);
    std::vector<IpAddress> from, to;
    for (int i = 0; i < sources; ++i)
        from.push_back(*parse_ip("10.0.1." + std::to_string(i + 1)));
    for (int i = 0; i < destinations; ++i)
        to.push_back(*parse_ip("10.0.2." + std::to_string(i + 1)));
    wanted.pairs = address_pairs(from, to).value();
    wanted.ports.pattern = *rc::gen::element(PortPattern::random, PortPattern::sequential, PortPattern::even);
    wanted.ports.step = static_cast<std::uint16_t>(*rc::gen::inRange(1, 50));
    wanted.seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto low = *rc::gen::inRange(1, 65000);
    wanted.range = {static_cast<std::uint16_t>(low),
                    static_cast<std::uint16_t>(*rc::gen::inRange(low, std::min(low + 600, 65536)))};
    wanted.flows = *rc::gen::inRange(1, 1000);
    const auto modulus = *rc::gen::inRange(2, 9);
    const auto avoid = [modulus](std::uint16_t port) { return port % modulus == 0; };
    std::size_t free = 0;
    for (std::uint32_t port = wanted.range.first; port <= wanted.range.second; ++port)
        free += port % static_cast<unsigned>(modulus) != 0 ? 1U : 0U;
    const auto plan = plan_ports(wanted, avoid);
    if (free == 0) {
        RC_ASSERT(!plan);
        return;
    }
    RC_ASSERT(plan->flows.size() == std::min(*wanted.flows, free * wanted.pairs.size()));
    RC_ASSERT(plan->notes.empty() == (plan->flows.size() == *wanted.flows));
    RC_ASSERT(distinct(*plan).size() == plan->flows.size());
    for (const FlowAddress& flow : plan->flows) {
        RC_ASSERT(!avoid(flow.local_port));
        RC_ASSERT(flow.local_port >= wanted.range.first && flow.local_port <= wanted.range.second);
    }
}

} // namespace
} // namespace bondtrace::traffic
