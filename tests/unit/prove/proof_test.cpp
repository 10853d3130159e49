// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/frame_generator.h"
#include "tests/unit/prove/scene.h"
#include "user/prove/proof.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using traffic::PortPattern;

const IpAddress here = *parse_ip("10.0.0.1"), there = *parse_ip("10.0.0.2");

struct Placed {
    std::uint32_t tx, far_rx, far_tx, rx;
};

// Flows of a test over two slaves at either end, as predicted, every frame received.
ProofInput test_of(const std::vector<Placed>& flows) {
    ProofInput input;
    input.host = "10.0.0.2";
    input.ports.pattern = PortPattern::random;
    input.near = trace("s", 2);
    input.far = trace("p", 2);
    input.client.elapsed_ns = 1'000'000'000;
    input.server.emplace();
    input.tx.word = BalanceWord::balanced;
    input.tx.slaves = {{"s0", 32, 32, 1, 1, 0.5}, {"s1", 32, 32, 1, 1, 0.5}};
    for (std::size_t i = 0; i < flows.size(); ++i) {
        add_flow(input.near, flows[i].tx, flows[i].rx);
        add_flow(*input.far, flows[i].far_tx, flows[i].far_rx);
        Prediction prediction;
        prediction.slave = input.near.slaves[flows[i].tx].name;
        prediction.agrees = true;
        input.predictions.emplace_back(std::move(prediction));
        traffic::FlowResult result;
        result.established = true;
        result.address = {here, there, static_cast<std::uint16_t>(40'000 + i), 5477};
        input.plan.flows.push_back(result.address);
        input.client.flows.push_back(result);
        input.server->flows.push_back(result);
    }
    input.plan.wanted = flows.size();
    input.summary = traffic::summarize(input.options, input.client, &*input.server);
    return input;
}

std::vector<Placed> even_flows(std::size_t count = 64) {
    std::vector<Placed> flows;
    for (std::size_t i = 0; i < count; ++i) {
        const auto slave = static_cast<std::uint32_t>(i % 2);
        flows.push_back({slave, 1 - slave, slave, 1 - slave});
    }
    return flows;
}

const Check& check(const Proof& proof, const std::string& name) {
    static const Check none;
    const auto found = std::find_if(proof.checks.begin(), proof.checks.end(),
                                    [&](const Check& c) { return c.name == name; });
    EXPECT_NE(found, proof.checks.end()) << name;
    return found == proof.checks.end() ? none : *found;
}

std::vector<std::string> ids(const Proof& proof) {
    std::vector<std::string> ids;
    for (const Finding& finding : proof.findings)
        ids.push_back(finding.id);
    return ids;
}

TEST(Proof, PassesWhenAllIsAsItShould) {
    const Proof proof = prove(test_of(even_flows()));
    EXPECT_EQ(proof.status, ExitStatus::fine);
    EXPECT_THAT(proof.line, AllOf(HasSubstr("PASS - bond0"), HasSubstr("64 of 64 flows took the slave")));
    for (const char* name : {"flows", "prediction", "TX here", "RX there", "RX here", "delivery", "coverage"})
        EXPECT_EQ(check(proof, name).result, CheckResult::passed) << name;
    EXPECT_THAT(proof.findings, IsEmpty());
    EXPECT_EQ(proof.flows[0].lost_up, 0U);
}

TEST(Proof, FailsForOneFlowOnTheWrongSlave) {
    ProofInput input = test_of(even_flows());
    input.predictions[5] = Prediction{"s0", false, "it took s1"};
    const Proof proof = prove(input);
    EXPECT_EQ(proof.status, ExitStatus::findings);
    EXPECT_THAT(proof.line, AllOf(HasSubstr("FAIL"), HasSubstr("63 of 64")));
}

TEST(Proof, BalancedPortsMustBeExact) {
    ProofInput input = test_of(even_flows(8));
    input.ports.pattern = PortPattern::balanced;
    input.plan.slaves = {"s0", "s1"};
    input.plan.slave_of = {0, 1, 0, 1, 0, 1, 0, 1};
    input.tx.word = BalanceWord::too_few;
    EXPECT_EQ(prove(input).status, ExitStatus::fine);
    EXPECT_THAT(check(prove(input), "exact split").text,
                HasSubstr("8 of 8 flows are on the slave they were chosen for, 4:4"));
    input.near.flows[0].tx = {use(1)}; // 3:5 is luck for random ports, and none here
    const Proof proof = prove(input);
    EXPECT_EQ(proof.status, ExitStatus::findings);
    EXPECT_THAT(check(proof, "exact split").text,
                HasSubstr("7 of 8 flows are on the slave they were chosen for, 3:5"));
}

// The switch hashes on addresses alone: the far end receives all on one port, whatever this end does.
TEST(Proof, NamesASwitchThatUsesOnePort) {
    std::vector<Placed> flows = even_flows();
    for (Placed& flow : flows)
        flow.far_rx = 1;
    const Proof proof = prove(test_of(flows));
    EXPECT_EQ(proof.status, ExitStatus::findings);
    ASSERT_THAT(ids(proof), ElementsAre("switch.rx-one-port"));
    EXPECT_EQ(proof.findings[0].slave, "p1");
    EXPECT_EQ(proof.findings[0].bond, "bond0 of 10.0.0.2");
    EXPECT_THAT(proof.findings[0].seen,
                AllOf(HasSubstr("sent: s0 32 flows, s1 32 flows"), HasSubstr("p0 0 flows, p1 64 flows")));
    EXPECT_EQ(check(proof, "TX here").result, CheckResult::passed);
    EXPECT_DOUBLE_EQ(*proof.up->split_allows, 25e9);
    EXPECT_DOUBLE_EQ(*proof.up->all_full, 50e9);
}

TEST(Proof, FewFlowsAreNotBlamedOnTheSwitch) {
    std::vector<Placed> flows = even_flows(8);
    flows[0].far_rx = flows[2].far_rx = flows[4].far_rx = 0; // 1:7
    const Proof proof = prove(test_of(flows));
    EXPECT_EQ(check(proof, "RX there").result, CheckResult::unknown);
    EXPECT_EQ(proof.status, ExitStatus::fine);
}

TEST(Proof, PortsInSequenceProveLessThanTheySeemTo) {
    ProofInput input = test_of(even_flows());
    input.ports.pattern = PortPattern::sequential;
    EXPECT_THAT(check(prove(input), "TX here").text, HasSubstr("which this hash deals out in turn"));
    input.near.policy = "layer2+3";
    EXPECT_THAT(check(prove(input), "TX here").text, Not(HasSubstr("deals out in turn")));
}

// 2 % of what goes through one slave is lost; the other end sees which flows' frames are missing.
TEST(Proof, PutsLossesDownToTheSlave) {
    ProofInput input = test_of(even_flows());
    for (std::size_t i = 1; i < 64; i += 2)
        input.far->flows[i].rx.front().packets = 980;
    const Proof proof = prove(input);
    EXPECT_EQ(proof.flows[1].lost_up, 20U);
    ASSERT_THAT(ids(proof), ElementsAre("slave.lossy"));
    EXPECT_THAT(proof.findings[0].summary, HasSubstr("loses 2 %"));
    EXPECT_THAT(check(proof, "delivery").text, HasSubstr("up 640 of 64000 frames lost, down 0 of 64000"));
    EXPECT_EQ(proof.status, ExitStatus::findings);
}

// Without a trace of the other end it goes by what the sockets say.
TEST(Proof, KnowsLossesFromRetransmitsAsWell) {
    ProofInput input = test_of(even_flows());
    input.far.reset();
    input.untraced = "the server was started without --trace BOND";
    for (std::size_t i = 0; i < 64; ++i)
        input.client.flows[i].tcp = traffic::TcpFacts{i % 2 == 0 ? 30U : 0U, 0, 0, 0, 0};
    const Proof proof = prove(input);
    ASSERT_THAT(ids(proof), ElementsAre("slave.lossy"));
    EXPECT_EQ(proof.findings[0].slave, "s0");
    EXPECT_EQ(check(proof, "RX there").result, CheckResult::unknown);
    EXPECT_THAT(check(proof, "RX there").text, HasSubstr("without --trace"));
}

// A member whose port lets nothing through: its flows never come about.
TEST(Proof, NamesASlaveThatSwallowsItsFlows) {
    ProofInput input = test_of(even_flows());
    for (std::size_t i = 1; i < 64; i += 2) {
        input.client.flows[i].established = false;
        input.client.flows[i].failure = "no answer";
        input.near.flows[i].tx = {use(1, 3)};
        input.near.flows[i].rx.clear();
        input.far->flows[i] = {};
    }
    input.summary = traffic::summarize(input.options, input.client, &*input.server);
    const Proof proof = prove(input);
    ASSERT_THAT(ids(proof), testing::Contains("slave.blackhole"));
    EXPECT_EQ(proof.findings[0].slave, "s1");
    EXPECT_EQ(proof.status, ExitStatus::critical);
    EXPECT_EQ(check(proof, "flows").result, CheckResult::failed);
}

// Packets dealt out in turn: nothing to predict, and no word about chance.
TEST(Proof, OfRoundRobinCannotTell) {
    ProofInput input = test_of(even_flows(1));
    input.near.mode = "balance-rr";
    input.near.policy.clear();
    input.near.flows[0].tx = {use(0, 500), use(1, 500)};
    input.far->flows[0].rx = {use(0, 500), use(1, 500)};
    input.predictions[0] = Prediction{{}, {}, "balance-rr deals packets out in turn"};
    input.tx.word = BalanceWord::not_expected;
    input.tx.reason = "balance-rr";
    const Proof proof = prove(input);
    EXPECT_EQ(proof.status, ExitStatus::cannot_tell);
    EXPECT_THAT(check(proof, "prediction").text, HasSubstr("deals packets out in turn"));
    EXPECT_THAT(check(proof, "RX there").text, Not(HasSubstr("p =")));
    EXPECT_THAT(proof.findings, IsEmpty());
}

TEST(Proof, OfABrokenTestCannotTell) {
    ProofInput input = test_of(even_flows());
    input.broken = "the server at 10.0.0.2:5477 has closed the connection";
    const Proof proof = prove(input);
    EXPECT_EQ(proof.status, ExitStatus::cannot_tell);
    EXPECT_THAT(proof.line, AllOf(HasSubstr("CANNOT TELL"), HasSubstr("has closed")));
}

// The 25 GbE experiment: 8 flows over two ports give 2:6, 8:0 or 4:4 by luck alone. In many runs the splits
// are those of the binomial distribution, and no run is called a failure.
TEST(Proof, RandomPortsSplitByTheBinomial) {
    std::vector<double> seen(9);
    Random random(7);
    constexpr int runs = 400;
    for (int run = 0; run < runs; ++run) {
        std::vector<Placed> flows;
        for (int i = 0; i < 8; ++i) {
            const std::uint32_t slave = random.below(2);
            flows.push_back({slave, slave, slave, slave});
        }
        ProofInput input = test_of(flows);
        input.tx.word = BalanceWord::too_few;
        const Proof proof = prove(input);
        EXPECT_EQ(proof.status, ExitStatus::fine) << proof.line;
        const std::uint64_t first = proof.near_tx.flows[0];
        seen.at(first) += 1;
        const bool both = first != 0 && first != 8;
        EXPECT_DOUBLE_EQ(*proof.up->split_allows, both ? 50e9 : 25e9) << "the run explains its own bandwidth";
    }
    // Pearson's chi-square with 8 degrees of freedom: above 26.12 once in 1000 times.
    constexpr std::array<double, 9> binomial{1, 8, 28, 56, 70, 56, 28, 8, 1};
    double chi_square = 0;
    for (std::size_t k = 0; k < seen.size(); ++k) {
        const double expected = runs * binomial[k] / 256;
        chi_square += (seen[k] - expected) * (seen[k] - expected) / expected;
    }
    EXPECT_LT(chi_square, 26.12);
}

} // namespace
} // namespace bondtrace::test
