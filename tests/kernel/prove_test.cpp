// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace prove` over bonds whose two ends are both traced: what it says of the flows is what they did, a
// proof of a sound bond passes, and what is wrong with a member or the peer is named.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/namespace.h"
#include "tests/kernel/support/traffic_program.h"
#include "tests/kernel/support/window.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> prove_in(const std::string& netns, const std::string& more) {
    std::vector<std::string> argv{program, "prove",  "bond0",     "--netns",
                                  netns,   "--peer", "10.77.0.2", "--json"};
    for (std::string& word : words(more))
        argv.push_back(std::move(word));
    return argv;
}

// The document; a failure of the test when it ends otherwise than with `status`.
json prove(const std::string& more, int status = 0) {
    const Output output = capture(prove_in("bt-a", more), std::chrono::seconds(180));
    EXPECT_EQ(output.status, status) << output.err << output.out;
    auto document = json::parse(output.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << output.out << output.err;
    return document;
}

std::unique_ptr<Kept> tracing_server() {
    auto server = std::make_unique<Kept>("server", server_in("bt-b", "--trace bond0"));
    EXPECT_TRUE(server->says("listening"));
    return server;
}

std::string check(const json& document, const std::string& name) {
    for (const json& check : document.at("checks"))
        if (check.at("name") == name)
            return fmt::format("{}: {}", check.at("result").get<std::string>(),
                               check.at("text").get<std::string>());
    return "no such check";
}

std::set<std::string> findings(const json& document) {
    std::set<std::string> ids;
    for (const json& finding : document.at("findings"))
        if (finding.at("severity") != "info") ids.insert(finding.at("id"));
    return ids;
}

json finding(const json& document, const std::string& id) {
    for (const json& finding : document.at("findings"))
        if (finding.at("id") == id) return finding;
    ADD_FAILURE() << id << " is not there: " << document.at("findings").dump(1);
    return {};
}

// The only slave of a list of uses, by the number at the end of its name.
char slave_of(const json& uses) {
    if (uses.size() != 1) return '?';
    return uses.at(0).at("slave").get<std::string>().back();
}

// The two bonds are joined link by link: what leaves through s1 must arrive on p1, and back.
TEST(Prove, BothEndsAgreeFlowByFlow) {
    const Lab lab("direct --slaves 3");
    ASSERT_FALSE(HasFatalFailure());
    const auto server = tracing_server();
    for (const char* way : {"--tcp --direction both", "--udp --direction both --length 400"}) {
        SCOPED_TRACE(way);
        const json document = prove(fmt::format("{} --flows 48 --total-rate 4M --for 2s", way));
        EXPECT_EQ(document.at("verdict"), "PASS") << document.at("summary");
        EXPECT_THAT(document.at("summary"),
                    HasSubstr("48 of 48 flows took the slave that the kernel's hash gives"));
        EXPECT_THAT(findings(document), IsEmpty()) << document.at("findings").dump(1);
        ASSERT_EQ(document.at("flows").size(), 48U);
        std::map<std::string, std::uint64_t> here;
        for (const json& flow : document.at("flows")) {
            EXPECT_EQ(flow.at("agrees"), true) << flow;
            ASSERT_EQ(flow.at("tx").size(), 1U) << flow;
            EXPECT_EQ(flow.at("tx").at(0).at("slave"), flow.at("predicted_slave"));
            EXPECT_EQ(slave_of(flow.at("tx")), slave_of(flow.at("far_rx"))) << flow;
            EXPECT_EQ(slave_of(flow.at("far_tx")), slave_of(flow.at("rx"))) << flow;
            // Nothing loses frames here, and both ends stopped counting between the same two frames.
            EXPECT_EQ(flow.at("tx"), [&] {
                json there = flow.at("far_rx");
                there.at(0).at("slave") = flow.at("tx").at(0).at("slave");
                return there;
            }()) << flow;
            EXPECT_EQ(flow.at("lost_up"), 0);
            EXPECT_EQ(flow.at("lost_down"), 0);
            ++here[flow.at("predicted_slave").get<std::string>()];
        }
        for (const json& slave : document.at("near").at("slaves")) {
            EXPECT_EQ(slave.at("predicted_flows"), here[slave.at("name").get<std::string>()]);
            EXPECT_EQ(slave.at("tx").at("flows"), slave.at("predicted_flows"));
            EXPECT_NEAR(slave.at("tx").at("coverage").get<double>(), 1, 0.02);
        }
    }
    EXPECT_EQ(server->process().stop(SIGINT), 0) << server->err();
}

// The 25 GbE experiment's cure: ports chosen by the hash backwards, four flows on each slave every time.
TEST(Prove, BalancedPortsAreFourToFourEveryTime) {
    const Lab lab("direct --slaves 2");
    ASSERT_FALSE(HasFatalFailure());
    const auto server = tracing_server();
    for (int run = 0; run < 2; ++run) {
        const json document =
            prove(fmt::format("--flows 8 --ports balanced --seed {} --total-rate 4M --for 1s", run + 1));
        EXPECT_EQ(document.at("verdict"), "PASS") << document.at("summary");
        EXPECT_THAT(check(document, "exact split"), AllOf(HasSubstr("passed"), HasSubstr("4:4")));
        for (const json& slave : document.at("near").at("slaves"))
            EXPECT_EQ(slave.at("tx").at("flows"), 4);
        for (const json& slave : document.at("far").at("slaves"))
            EXPECT_EQ(slave.at("rx").at("flows"), 4);
    }
}

// And the experiment itself: with ports by chance, eight flows split anyhow, and the split explains the
// total. BONDTRACE_PROVE_RUNS says how often.
TEST(Prove, RandomPortsAreLuck) {
    const Lab lab("direct --slaves 2");
    ASSERT_FALSE(HasFatalFailure());
    const auto server = tracing_server();
    const char* const wanted = std::getenv("BONDTRACE_PROVE_RUNS");
    const int runs = wanted ? std::atoi(wanted) : 4;
    ASSERT_GE(runs, 2);
    double on_first = 0;
    std::set<std::uint64_t> splits;
    for (int run = 0; run < runs; ++run) {
        const json document = prove(fmt::format("--flows 8 --seed {} --for 200ms", run + 1));
        EXPECT_EQ(document.at("verdict"), "PASS") << document.at("summary");
        const std::uint64_t first = document.at("near").at("slaves").at(0).at("tx").at("flows");
        on_first += static_cast<double>(first);
        splits.insert(first);
        // With one slave alone, half of all is all that this split allows.
        const auto& capacity = document.at("up_capacity");
        const double part = capacity.at("split_allows_bits_per_second").get<double>() /
                            capacity.at("all_full_bits_per_second").get<double>();
        EXPECT_DOUBLE_EQ(part, first == 0 || first == 8 ? 0.5 : 1);
    }
    // Of 8 flows a run, half, with a standard deviation of sqrt(8 / 4): 3.5 of these is once in 2000 times.
    EXPECT_NEAR(on_first, 4.0 * runs, 3.5 * std::sqrt(2.0 * runs));
    EXPECT_GE(splits.size(), 2U);
}

// netem on one member: its flows lose 2 % of their frames, and it is named, not the others.
TEST(Prove, NamesTheSlaveThatLoses) {
    const Lab lab("direct --slaves 3");
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(run(words("ip netns exec bt-a tc qdisc replace dev s1 root netem loss 2%")));
    const auto server = tracing_server();
    const json document = prove("--udp --flows 48 --length 200 --total-rate 3M --for 4s", 1);
    EXPECT_EQ(document.at("verdict"), "FAIL") << document.at("summary");
    EXPECT_THAT(findings(document), testing::ElementsAre("slave.lossy"));
    EXPECT_EQ(finding(document, "slave.lossy").at("slave"), "s1");
    EXPECT_THAT(check(document, "delivery"), HasSubstr("failed"));
}

// A port that lets LACP through and nothing else of use, as one that lacks a VLAN: every flow on it fails.
TEST(Prove, NamesTheSlaveThatSwallows) {
    const Lab lab("direct --slaves 2");
    ASSERT_FALSE(HasFatalFailure());
    for (const char* words_of :
         {"ip netns exec bt-b tc qdisc add dev p1 clsact",
          "ip netns exec bt-b tc filter add dev p1 ingress protocol ip flower ip_proto tcp "
          "dst_ip 10.77.0.2 src_port 20000-65535 action drop"})
        ASSERT_TRUE(run(words(words_of)));
    const auto server = tracing_server();
    // The control connection may take the dead slave as well; by UDP it would be the same.
    const Output output = capture(prove_in("bt-a", "--flows 16 --ports balanced --total-rate 1M --for 1s"),
                                  std::chrono::seconds(120));
    if (output.status == 3) { // it did
        EXPECT_THAT(output.err, HasSubstr("10.77.0.2"));
        return;
    }
    EXPECT_EQ(output.status, 2) << output.err;
    const json document = json::parse(output.out, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << output.out;
    EXPECT_EQ(finding(document, "slave.blackhole").at("slave"), "s1");
    EXPECT_THAT(check(document, "flows"), HasSubstr("8 of 16 established"));
}

// Round robin: one flow is on both slaves, nothing is predicted, and chance has no part in it. What is wrong
// is the mode, as an audit says.
TEST(Prove, RoundRobinIsNoMatterOfChance) {
    const Lab lab("direct --slaves 2 --mode balance-rr");
    ASSERT_FALSE(HasFatalFailure());
    const auto server = tracing_server();
    const json document = prove("--udp --flows 1 --length 400 --total-rate 2M --for 2s", 1);
    EXPECT_THAT(findings(document), UnorderedElementsAre("mode.needs-static-lag", "mode.rr-reordering"));
    EXPECT_EQ(document.at("flows").at(0).at("tx").size(), 2U);
    EXPECT_EQ(document.at("flows").at(0).at("far_rx").size(), 2U);
    EXPECT_TRUE(document.at("near").at("tx").at("probability").is_null());
    EXPECT_TRUE(document.at("far").at("rx").at("probability").is_null());
    EXPECT_THAT(check(document, "prediction"), HasSubstr("unknown"));
    EXPECT_THAT(check(document, "TX here"), HasSubstr("unknown"));
    EXPECT_THAT(check(document, "delivery"), HasSubstr("up 0 of "));
}

// The 40 GbE experiment: with every switch hash the host's own output is even, and only a hash that has the
// ports spreads what the far end receives from one client. What varies here are the source ports of what goes
// up, which are the destination ports of what comes back.
TEST(Prove, TellsTheSwitchFromTheHost) {
    const Lab lab("switch --switch-hash src-dst-ip");
    ASSERT_FALSE(HasFatalFailure());
    const auto server = tracing_server();
    struct Row {
        const char* hash;
        bool far_even, near_even;
    };
    for (const Row& row : {Row{"src-dst-ip", false, false}, Row{"src-dst-mac", false, false},
                           Row{"src-port", true, false}, Row{"dst-port", false, true},
                           Row{"src-dst-port", true, true}, Row{"src-dst-ip-mac-port", true, true}}) {
        SCOPED_TRACE(row.hash);
        const Output changed = lab.command(fmt::format("switch-hash {}", row.hash));
        ASSERT_EQ(changed.status, 0) << changed.err;
        const json document = prove("--flows 64 --direction both --total-rate 4M --for 1s",
                                    row.far_even && row.near_even ? 0 : 1);
        EXPECT_THAT(check(document, "prediction"), HasSubstr("passed"));
        EXPECT_THAT(check(document, "TX here"), HasSubstr("passed"))
            << "the host's output is even in all of them";
        EXPECT_THAT(check(document, "RX there"), HasSubstr(row.far_even ? "passed" : "failed"));
        EXPECT_THAT(check(document, "RX here"), HasSubstr(row.near_even ? "passed" : "failed"));
        std::set<std::string> bonds;
        for (const json& one : document.at("findings"))
            if (one.at("id") == "switch.rx-one-port") bonds.insert(one.at("bond"));
        EXPECT_EQ(bonds.contains("bond0 of 10.77.0.2"), !row.far_even);
        EXPECT_EQ(bonds.contains("bond0"), !row.near_even);
    }
}

TEST(Prove, SaysWhatIsWrongWithThePeer) {
    const Lab lab("direct --slaves 2");
    ASSERT_FALSE(HasFatalFailure());
    // Nobody there.
    Output output = capture(prove_in("bt-a", "--flows 4 --for 1s"));
    EXPECT_EQ(output.status, 3);
    EXPECT_THAT(output.err, HasSubstr("10.77.0.2 port 5477"));
    EXPECT_EQ(output.out, "");
    // One that does not trace: this end alone is proven.
    {
        Kept server("server", server_in("bt-b"));
        ASSERT_TRUE(server.says("listening"));
        const json document = prove("--flows 32 --total-rate 2M --for 1s");
        EXPECT_TRUE(document.at("far").is_null());
        EXPECT_THAT(document.at("untraced"), HasSubstr("--trace"));
        EXPECT_THAT(check(document, "RX there"), HasSubstr("unknown"));
    }
    // One that dies in the middle: the result so far, and nothing stays behind.
    {
        auto server = tracing_server();
        Kept proof("proof", prove_in("bt-a", "--flows 4 --total-rate 1M --for 1h -v"));
        ASSERT_TRUE(proof.says("4 flows")); // of a progress line
        server->process().stop(SIGKILL);
        EXPECT_EQ(proof.process().stop(0), 3) << proof.err();
        const json document = json::parse(proof.out(), nullptr, false);
        ASSERT_FALSE(document.is_discarded()) << proof.out();
        EXPECT_FALSE(document.at("broken").is_null());
        EXPECT_EQ(document.at("flows").size(), 4U);
    }
    EXPECT_TRUE(await([] { return left_in_kernel().empty(); })) << left_in_kernel();
}

TEST(Prove, PlansHowManyFlowsItTakes) {
    const Lab lab("direct --slaves 2 --mode balance-xor");
    ASSERT_FALSE(HasFatalFailure());
    const Output output =
        capture({program, "prove", "bond0", "--netns", "bt-a", "--plan", "--tolerance", "20"});
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("flows over 2 slaves"));
    const Output usage = capture({program, "prove", "bond0", "--netns", "bt-a"});
    EXPECT_EQ(usage.status, 64);
    EXPECT_THAT(usage.err, HasSubstr("--peer"));
    const Output reach =
        capture({program, "prove", "bond0", "--netns", "bt-a", "--peer", "10.77.0.2", "--ports", "reach:s0"});
    EXPECT_EQ(reach.status, 64);
}

} // namespace
} // namespace bondtrace::test
