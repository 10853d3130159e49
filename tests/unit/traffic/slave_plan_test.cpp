// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/choice.h"
#include "user/hash/era.h"
#include "user/traffic/slave_plan.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace bondtrace::traffic {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PathBond bond(std::size_t slaves, HashPolicy policy = HashPolicy::layer34, BondMode mode = BondMode::lacp) {
    PathBond bond;
    bond.name = "bond0";
    bond.mode = mode;
    bond.policy = policy;
    for (std::size_t i = 0; i < slaves; ++i)
        bond.usable.push_back("s" + std::to_string(i));
    return bond;
}

PlanRequest request(const PathBond& bond, std::optional<std::size_t> flows) {
    PlanRequest request;
    request.pairs = address_pairs({*parse_ip("10.0.0.1")}, {*parse_ip("10.0.0.2")}).value();
    request.flows = flows;
    request.ports.pattern = PortPattern::balanced;
    request.bond = bond;
    return request;
}

PlanRequest reach(const PathBond& bond, const std::string& slave, std::optional<std::size_t> flows) {
    PlanRequest wanted = request(bond, flows);
    wanted.ports.pattern = PortPattern::reach;
    wanted.ports.slave = slave;
    return wanted;
}

std::vector<std::size_t> per_slave(const PortPlan& plan) {
    std::vector<std::size_t> counts(plan.slaves.size());
    for (const std::uint32_t slave : plan.slave_of)
        ++counts[slave];
    return counts;
}

std::vector<std::uint16_t> ports_of(const PortPlan& plan) {
    std::vector<std::uint16_t> ports;
    for (const FlowAddress& flow : plan.flows)
        ports.push_back(flow.local_port);
    return ports;
}

// The kernel's own: T1 and T2 of tests/fixtures/hash_vectors.txt (10.0.0.1 to 10.0.0.2 port 443, source ports
// 40000 and 40002) take indexes 2 and 1 of three.
TEST(SlavePlan, LeadsWhereTheKernelSends) {
    const auto planned = [](const char* slave) {
        PlanRequest wanted = reach(bond(3), slave, 3);
        wanted.remote_port = 443;
        wanted.range = {40000, 40002};
        const auto plan = plan_ports(wanted);
        return plan ? ports_of(*plan) : std::vector<std::uint16_t>{};
    };
    EXPECT_THAT(planned("s2"), Contains(40000));
    EXPECT_THAT(planned("s1"), Contains(40002));
    EXPECT_EQ(planned("s0").size() + planned("s1").size() + planned("s2").size(), 3U);
}

// Counted on kernels of both kinds: before 4.15 even ports between these two take one slave, later both (see
// tests/unit/hash/cases_test.cpp).
TEST(SlavePlan, KnowsTheKernelsAge) {
    PlanRequest wanted = reach(bond(2), "s1", 4);
    wanted.transport = Transport::udp;
    wanted.pairs = address_pairs({*parse_ip("192.0.2.2")}, {*parse_ip("192.0.2.1")}).value();
    wanted.remote_port = 5001;
    wanted.range = {38986, 38992};
    wanted.bond->era = parse_era("4.14").value();
    EXPECT_THAT(ports_of(*plan_ports(wanted)), testing::UnorderedElementsAre(38986, 38988, 38990, 38992));
}

TEST(SlavePlan, GivesEverySlaveTheSame) {
    for (const std::size_t slaves : {1U, 2U, 3U, 5U, 8U}) {
        const auto plan = plan_ports(request(bond(slaves), slaves * 16)).value();
        EXPECT_EQ(per_slave(plan), std::vector<std::size_t>(slaves, 16));
        EXPECT_THAT(plan.notes, IsEmpty());
        // A test that starts only in part is balanced as well.
        for (std::size_t i = 0; i < plan.slave_of.size(); ++i)
            EXPECT_EQ(plan.slave_of[i], i % slaves);
    }
    PlanRequest wanted = request(bond(3), std::nullopt);
    wanted.per_slave = 4;
    EXPECT_THAT(per_slave(*plan_ports(wanted)), ElementsAre(4, 4, 4));
    wanted.per_slave = 0;
    EXPECT_THAT(per_slave(*plan_ports(wanted)), ElementsAre(1, 1, 1));
    wanted.per_slave = 20000;
    EXPECT_EQ(plan_ports(wanted).error().kind, ErrorKind::usage);
}

TEST(SlavePlan, SaysWhereItCannotBeExact) {
    const auto plan = plan_ports(request(bond(3), 10)).value();
    EXPECT_THAT(per_slave(plan), ElementsAre(4, 3, 3));
    EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("10 flows are no multiple of 3 slaves")));
    EXPECT_THAT(plan.notes[0], HasSubstr("4, 3 and 3"));
    PlanRequest narrow = request(bond(2), 100);
    narrow.range = {40000, 40009};
    const auto short_one = plan_ports(narrow).value();
    const auto counts = per_slave(short_one);
    EXPECT_EQ(counts[0], counts[1]);
    EXPECT_GT(counts[0], 0U);
    EXPECT_LE(short_one.flows.size(), 10U);
    EXPECT_EQ(short_one.wanted, 100U);
    EXPECT_THAT(short_one.notes, ElementsAre(HasSubstr("of 100: of the 10 free ports from 40000 to 40009")));
    narrow.range = {40000, 40000};
    EXPECT_THAT(plan_ports(narrow).error().what,
                HasSubstr("no free source port from 40000 to 40000 leads to"));
}

TEST(SlavePlan, NamesTheSlavesThatCannotBeReached) {
    PathBond two = bond(2);
    two.others = {"idle"};
    EXPECT_THAT(per_slave(*plan_ports(reach(two, "s1", 7))), ElementsAre(0, 7));
    EXPECT_EQ(plan_ports(reach(two, "s1", std::nullopt))->flows.size(), 1U);
    const auto idle = plan_ports(reach(two, "idle", 1)).error();
    EXPECT_EQ(idle.kind, ErrorKind::unavailable);
    EXPECT_THAT(idle.what, HasSubstr("carries nothing now"));
    EXPECT_THAT(idle.advice, HasSubstr("s0, s1"));
    const auto none = plan_ports(reach(two, "eth7", 1)).error();
    EXPECT_EQ(none.kind, ErrorKind::usage);
    EXPECT_THAT(none.what, HasSubstr("eth7 is no slave of bond0"));
    EXPECT_THAT(plan_ports(reach(bond(0), "s0", 1)).error().what, HasSubstr("no usable slave"));
}

// The reasons are facts about the driver: shared with `bondtrace predict`.
TEST(SlavePlan, SaysWhatDecidesInstead) {
    const auto decision = [](const PathBond& bond, Transport transport = Transport::tcp) {
        return slave_decision(bond, transport, request(bond, 1).pairs[0]);
    };
    EXPECT_EQ(decision(bond(2)).by, SlaveDecider::ports);
    EXPECT_EQ(decision(bond(2, HashPolicy::layer34, BondMode::balance_xor)).by, SlaveDecider::ports);

    for (const Transport transport : {Transport::tcp, Transport::udp}) { // both are connected sockets here
        const auto encap = decision(bond(2, HashPolicy::encap34), transport);
        EXPECT_EQ(encap.by, SlaveDecider::observation);
        EXPECT_THAT(encap.why, HasSubstr("socket"));
    }
    for (const BondMode mode : {BondMode::balance_tlb, BondMode::balance_alb}) {
        const auto dynamic = decision(bond(2, HashPolicy::layer34, mode));
        EXPECT_EQ(dynamic.by, SlaveDecider::observation) << dynamic.why;
    }
    EXPECT_EQ(decision(bond(2, HashPolicy::layer34, BondMode::balance_rr)).by, SlaveDecider::nothing);
    EXPECT_EQ(decision(bond(2, HashPolicy::layer34, BondMode::broadcast)).by, SlaveDecider::nothing);
    EXPECT_EQ(decision(bond(0)).by, SlaveDecider::unknown);

    const auto error = plan_ports(request(bond(2, HashPolicy::encap34), 4)).error();
    EXPECT_EQ(error.kind, ErrorKind::unavailable);
    EXPECT_THAT(error.advice, HasSubstr("observed"));
    EXPECT_THAT(plan_ports(request(bond(2, HashPolicy::layer34, BondMode::balance_rr), 4)).error().what,
                HasSubstr("every flow is on every slave"));
    // Without the next hop's address the policy's input is missing.
    PlanRequest layer2 = request(bond(2, HashPolicy::layer2), 4);
    layer2.pairs[0].frame.problem = "next hop's MAC unknown";
    layer2.pairs[0].frame.advice = "ping it";
    const auto unknown = plan_ports(layer2).error();
    EXPECT_THAT(unknown.what, HasSubstr("next hop's MAC unknown"));
    EXPECT_EQ(unknown.advice, "ping it");
}

// layer2: every port between two hosts takes the same slave. With these MAC addresses the hash is that of
// vector T1: 00000803 on a new kernel, index 1 of two.
TEST(SlavePlan, AddressesDecideUnderLayer2) {
    PlanRequest wanted = request(bond(2, HashPolicy::layer2), 4);
    wanted.pairs[0].frame.src_mac = parse_mac("02:00:00:00:0a:01");
    wanted.pairs[0].frame.dst_mac = parse_mac("02:00:00:00:0b:02");
    EXPECT_EQ(slave_decision(*wanted.bond, Transport::tcp, wanted.pairs[0]).by, SlaveDecider::addresses);
    const auto error = plan_ports(wanted).error();
    EXPECT_EQ(error.kind, ErrorKind::usage);
    EXPECT_THAT(error.what, HasSubstr("no flow can be put on s0"));
    EXPECT_THAT(error.what, HasSubstr("layer2 does not hash ports"));
    EXPECT_THAT(error.what, HasSubstr("lead to s1"));
    EXPECT_THAT(error.advice, HasSubstr("--destinations"));
    wanted.ports.pattern = PortPattern::reach;
    wanted.ports.slave = "s1";
    EXPECT_THAT(per_slave(*plan_ports(wanted)), ElementsAre(0, 4));
    // Another host as well, whose MAC address differs in the lowest bit: both slaves can be had.
    wanted.ports.pattern = PortPattern::balanced;
    wanted.pairs.push_back(wanted.pairs[0]);
    wanted.pairs[1].remote = *parse_ip("10.0.0.3");
    wanted.pairs[1].frame.dst_mac = parse_mac("02:00:00:00:0b:03");
    EXPECT_THAT(per_slave(*plan_ports(wanted)), ElementsAre(2, 2));
}

TEST(SlavePlan, OneActiveSlaveCarriesAll) {
    PathBond backup = bond(1, HashPolicy::layer34, BondMode::active_backup);
    backup.others = {"s1"};
    backup.active_slave = "s0";
    EXPECT_EQ(slave_decision(backup, Transport::tcp, request(backup, 1).pairs[0]).by,
              SlaveDecider::addresses);
    EXPECT_THAT(per_slave(*plan_ports(request(backup, 5))), ElementsAre(5));
    EXPECT_EQ(plan_ports(reach(backup, "s1", 5)).error().kind, ErrorKind::unavailable);
}

// Whatever the addresses, the era, the number of slaves and of flows: the hash module, asked flow by flow,
// counts as many on each slave as promised, the counts differ by one at most, no tuple occurs twice.
RC_GTEST_PROP(SlavePlanProperty, EveryBalancedPlanHashesEvenly, ()) {
    const auto slaves = *rc::gen::inRange<std::size_t>(1, 9);
    PathBond path =
        bond(slaves, HashPolicy::layer34, *rc::gen::element(BondMode::lacp, BondMode::balance_xor));
    path.era = eras[*rc::gen::inRange<std::size_t>(0, eras.size())].era;
    PlanRequest wanted = request(path, *rc::gen::inRange<std::size_t>(1, 400));
    wanted.transport = *rc::gen::element(Transport::tcp, Transport::udp);
    wanted.remote_port = static_cast<std::uint16_t>(*rc::gen::inRange(1, 65536));
    wanted.seed = *rc::gen::arbitrary<std::uint64_t>();
    const bool v6 = *rc::gen::arbitrary<bool>();
    const auto address = [v6] {
        IpAddress ip;
        ip.v6 = v6;
        for (std::size_t i = 0; i < (v6 ? 16U : 4U); ++i)
            ip.bytes[i] = *rc::gen::arbitrary<std::uint8_t>();
        // No multicast or broadcast destination.
        ip.bytes[0] = v6 ? 0xfd : 10;
        return ip;
    };
    wanted.pairs = address_pairs({address()}, {address()}).value();
    if (*rc::gen::arbitrary<bool>()) {
        AddressPair other{address(), address(), {}};
        if (other.local != wanted.pairs[0].local) wanted.pairs.push_back(other);
    }
    const auto modulus = *rc::gen::inRange(2, 9);
    const auto avoid = [modulus](std::uint16_t port) { return port % modulus == 0; };

    const auto plan = plan_ports(wanted, avoid);
    RC_ASSERT(plan.has_value());
    RC_ASSERT(plan->flows.size() == *wanted.flows);
    std::vector<std::size_t> counts(slaves);
    for (const FlowAddress& flow : plan->flows) {
        RC_ASSERT(!avoid(flow.local_port));
        ChoiceContext context;
        context.mode = path.mode;
        context.policy = path.policy;
        context.era = path.era;
        context.usable = static_cast<std::uint32_t>(slaves);
        context.l4_hash = true;
        const Choice choice =
            choose(context, make_tuple(wanted.transport == Transport::tcp ? 6 : 17, flow.local,
                                       flow.local_port, flow.remote, flow.remote_port));
        RC_ASSERT(choice.kind == ChoiceKind::index);
        ++counts[choice.index];
    }
    RC_ASSERT(counts == per_slave(*plan));
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    RC_ASSERT(*most - *least == (*wanted.flows % slaves == 0 ? 0U : 1U));
    RC_ASSERT(std::set<FlowAddress>(plan->flows.begin(), plan->flows.end()).size() == plan->flows.size());
}

} // namespace
} // namespace bondtrace::traffic
