// SPDX-License-Identifier: GPL-2.0-or-later
// Flows of `bondtrace traffic` that land where they were planned, as our own tracer sees them; and the
// reported cases about generators and the hosts they run on.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/pair.h"
#include "tests/kernel/support/traffic_program.h"
#include "tests/kernel/support/window.h"
#include "user/hash/choice.h"
#include "user/probe/era_probe.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The conversations of bond0 that our tracer saw in `netns` while `traffic` ran.
json traced_while(const std::string& netns, const std::string& filter, const std::function<void()>& traffic) {
    Kept tracer("tracer", {program, "flows", "bond0", "--netns", netns, "--for", "1h", "--json", "-v",
                           "--filter", filter});
    EXPECT_TRUE(tracer.says("bondtrace: counting"));
    traffic();
    EXPECT_EQ(tracer.process().stop(SIGINT), 0) << tracer.err();
    auto document = json::parse(tracer.out(), nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << tracer.out();
    return document.is_discarded() ? json::array() : document.at("bonds").at(0).at("flows");
}

// The slaves that a conversation's packets took in one direction; mostly one.
std::vector<std::string> slaves_of(const json& flow, const char* direction) {
    std::vector<std::string> names;
    for (const json& use : flow.at(direction))
        names.push_back(use.at("slave"));
    return names;
}

// What a finding of a document says: summary, numbers and fixes; empty when it is not there.
std::string says(const json& document, const std::string& id) {
    for (const json& finding : document.at("findings"))
        if (finding.at("id") == id) return finding.dump();
    return {};
}

class BalancedPorts : public testing::TestWithParam<unsigned> {};

// TCP and UDP, over IPv4 and IPv6: exactly as many flows on each slave, and on the slave that was promised.
TEST_P(BalancedPorts, PutTheSameNumberOnEverySlave) {
    const unsigned slaves = GetParam(), each = 6, flows = slaves * each;
    const Lab lab(fmt::format("direct --slaves {} --mode 802.3ad --policy layer3+4", slaves));
    ASSERT_FALSE(HasFatalFailure());
    for (const char* protocol : {"tcp", "udp"})
        for (const char* host : {"10.77.0.2", "fd77::2"}) {
            SCOPED_TRACE(fmt::format("{} to {}", protocol, host));
            Kept server("server", server_in("bt-b"));
            ASSERT_TRUE(server.says("listening"));
            json document;
            const json traced = traced_while("bt-a", fmt::format("proto {} and port 5477", protocol), [&] {
                document =
                    run_client("bt-a", host,
                               fmt::format("--{} --flows {} --ports balanced --bond bond0 --total-rate 2M "
                                           "--length 500 --for 1s",
                                           protocol, flows));
            });
            ASSERT_EQ(document.at("flows").size(), flows);
            std::map<std::uint64_t, std::string> promised;
            for (const json& flow : document.at("flows")) {
                EXPECT_EQ(flow.at("established"), true) << flow;
                promised[flow.at("local_port")] = flow.at("planned_slave");
            }
            EXPECT_EQ(promised.size(), flows) << "no port twice";
            std::map<std::string, unsigned> counts;
            std::set<std::uint64_t> seen;
            for (const json& flow : traced) {
                const auto planned = promised.find(flow.at("local_port"));
                if (planned == promised.end()) continue; // the control connection
                EXPECT_THAT(slaves_of(flow, "tx"), ElementsAre(planned->second)) << flow;
                ++counts[planned->second];
                seen.insert(planned->first);
            }
            EXPECT_EQ(seen.size(), flows) << "every flow was traced";
            EXPECT_EQ(counts.size(), slaves);
            for (const auto& [slave, count] : counts)
                EXPECT_EQ(count, each) << slave;
            EXPECT_EQ(server.process().stop(SIGINT), 0) << server.err();
        }
}

INSTANTIATE_TEST_SUITE_P(Slaves, BalancedPorts, testing::Values(2U, 3U, 5U),
                         [](const auto& slaves) { return fmt::format("Of{}", slaves.param); });

TEST(TrafficPlan, ReachAndPerSlave) {
    const Lab lab("direct --slaves 3 --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    Kept server("server", server_in("bt-b"));
    ASSERT_TRUE(server.says("listening"));
    const auto split = [&](const std::string& options) {
        json document;
        const json traced = traced_while("bt-a", "proto tcp and port 5477", [&] {
            document = run_client("bt-a", "10.77.0.2", options + " --bond bond0 --rate 100k --for 500ms");
        });
        std::set<std::uint64_t> ports;
        for (const json& flow : document.at("flows"))
            ports.insert(flow.at("local_port").get<std::uint64_t>());
        std::map<std::string, unsigned> counts;
        for (const json& flow : traced)
            if (ports.contains(flow.at("local_port").get<std::uint64_t>()))
                for (const std::string& slave : slaves_of(flow, "tx"))
                    ++counts[slave];
        return counts;
    };
    using Counts = std::map<std::string, unsigned>;
    EXPECT_EQ(split("--ports reach:s1 --flows 7"), (Counts{{"s1", 7}}));
    EXPECT_EQ(split("--per-slave 4"), (Counts{{"s0", 4}, {"s1", 4}, {"s2", 4}}));
}

// Where the tuple does not decide: the reason, and no test.
TEST(TrafficPlan, SaysWhereNoPortDecides) {
    const Lab lab("direct --slaves 2 --mode balance-xor --policy encap3+4");
    ASSERT_FALSE(HasFatalFailure());
    const Output encap = capture(client_in("bt-a", "10.77.0.2", "--ports balanced --bond bond0 --flows 4"));
    EXPECT_EQ(encap.status, 3) << encap.out;
    EXPECT_THAT(encap.err, HasSubstr("socket"));
    EXPECT_THAT(encap.err, HasSubstr("observed"));
    ASSERT_TRUE(set_policy("layer2"));
    ASSERT_TRUE(run(words("ip netns exec bt-a ping -c 1 10.77.0.2"))); // the next hop's address, to be hashed
    const Output layer2 = capture(client_in("bt-a", "10.77.0.2", "--ports balanced --bond bond0 --flows 4"));
    EXPECT_EQ(layer2.status, 64) << layer2.out;
    EXPECT_THAT(layer2.err, HasSubstr("layer2 does not hash ports"));
}

// Case 02: `iperf3 -P 8 -R` from even ports. The slaves are the other end's choice, by the same hash: two
// ports apart they are spread over both since Linux 4.15, four apart they all collide on every kernel. And
// each takes the slave that the model of the other end's hash says.
TEST(CaseInKernel, Case02EvenPortsInReverse) {
    Pair pair(2);
    pair.bond_host("mode balance-xor miimon 100 xmit_hash_policy layer3+4");
    pair.bond_peer("mode balance-xor miimon 100 xmit_hash_policy layer3+4");
    ASSERT_TRUE(pair.host.ip("address add 192.0.2.1/24 dev bond0"));
    ASSERT_TRUE(pair.peer.ip("address add 192.0.2.244/24 dev bond0"));
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
    const auto era = find_era();
    ASSERT_TRUE(era) << era.error().what;
    Kept server("server", server_in(pair.peer.name(), "--port 5201"));
    ASSERT_TRUE(server.says("listening"));
    for (const unsigned step : {2U, 4U}) {
        SCOPED_TRACE(step);
        const unsigned last = 55686 + 7 * step;
        const json traced = traced_while(pair.host.name(), "proto tcp and port 5201", [&] {
            const json document = run_client(
                pair.host.name(), "192.0.2.244",
                fmt::format("--port 5201 --direction down --ports 55686-{}:{} --rate 200k --for 1s", last,
                            step));
            EXPECT_EQ(document.at("flows_established"), 8);
        });
        std::vector<unsigned> split(2);
        for (const json& flow : traced) {
            const std::uint16_t port = flow.at("local_port");
            if (port < 55686 || port > last || (port - 55686) % step != 0) continue;
            const auto received = slaves_of(flow, "rx");
            ASSERT_EQ(received.size(), 1U) << flow;
            ChoiceContext other_end;
            other_end.policy = HashPolicy::layer34;
            other_end.era = era->era;
            other_end.usable = 2;
            const Choice choice = choose(
                other_end, make_tuple(6, *parse_ip("192.0.2.244"), 5201, *parse_ip("192.0.2.1"), port));
            ASSERT_EQ(choice.kind, ChoiceKind::index);
            EXPECT_EQ(received[0], fmt::format("a{}", choice.index)) << port;
            ++split[received[0] == "a0" ? 0 : 1];
        }
        std::sort(split.begin(), split.end());
        if (step == 2)
            EXPECT_THAT(split, ElementsAre(4, 4));
        else
            EXPECT_THAT(split, ElementsAre(0, 8));
    }
}

// nftables in a namespace of the lab.
void firewall(const std::string& netns, const std::string& rule) {
    const std::string table =
        "table inet bt {\n chain input {\n type filter hook input priority 0;\n" + rule + "\n }\n}";
    ASSERT_TRUE(run(words(fmt::format("ip netns exec {} nft flush ruleset", netns))));
    ASSERT_TRUE(run({"ip", "netns", "exec", netns, "nft", table}));
}

// Case 65: "No route to host", while the neighbour answers: a firewall's REJECT. firewalld's is
// "admin-prohibited", which IPv6 sockets get as EACCES.
TEST(CaseInKernel, Case65RejectIsNotAMissingRoute) {
    const Lab lab("direct --slaves 2 --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    Kept server("server", server_in("bt-b"));
    ASSERT_TRUE(server.says("listening"));
    firewall("bt-b", "tcp dport 5477 reject with icmpx type admin-prohibited");
    ASSERT_FALSE(HasFatalFailure());
    for (const auto& [host, error] :
         {std::pair{"10.77.0.2", "EHOSTUNREACH"}, std::pair{"fd77::2", "EACCES"}}) {
        const Output output = capture(client_in("bt-a", host, "--flows 2 --for 1s"));
        EXPECT_EQ(output.status, 3) << output.out;
        EXPECT_THAT(output.err,
                    HasSubstr(fmt::format("the firewall of {} rejects flows to port 5477", host)));
        EXPECT_THAT(output.err, HasSubstr(error));
        EXPECT_THAT(output.err, HasSubstr("on bond0 is "));
    }
    // Half of the flows: the others run, and the finding stands in the document.
    firewall("bt-b", "tcp dport 5477 tcp sport 40004-40007 reject with icmpx type admin-prohibited");
    const json partial = run_client("bt-a", "10.77.0.2", "--ports 40000-40007 --rate 100k --for 1s", 1);
    EXPECT_EQ(partial.at("flows_established"), 4);
    EXPECT_THAT(says(partial, "host.no-route-vs-reject"),
                HasSubstr("the firewall of 10.77.0.2 rejects the flows"));
    EXPECT_THAT(says(partial, "host.no-route-vs-reject"), HasSubstr("dev bond0"));
    for (const json& flow : partial.at("flows")) {
        const bool rejected = flow.at("local_port").get<int>() >= 40004;
        EXPECT_EQ(flow.at("established").get<bool>(), !rejected) << flow;
        if (rejected) {
            EXPECT_THAT(flow.at("failure").get<std::string>(), HasSubstr("rejects flows"));
        }
    }
    // The same words from the socket when nobody is there: then they are true.
    const Output silent = capture(client_in("bt-a", "10.77.0.99", "--flows 2 --for 1s"));
    EXPECT_EQ(silent.status, 3);
    EXPECT_THAT(silent.err, HasSubstr("the host 10.77.0.99 does not answer on bond0"));
    EXPECT_THAT(silent.err, HasSubstr("EHOSTUNREACH"));
    EXPECT_THAT(silent.err, Not(HasSubstr("firewall")));
    firewall("bt-b", "");
    ASSERT_EQ(server.process().stop(SIGINT), 0) << server.err();
    const Output refused = capture(client_in("bt-a", "10.77.0.2", "--flows 2 --for 1s"));
    EXPECT_EQ(refused.status, 3);
    EXPECT_THAT(refused.err, HasSubstr("nobody listens on 10.77.0.2 port 5477 (ECONNREFUSED)"));
}

// Case 66: more asked for than net.core.wmem_max: it runs, and says what was got and which limit cut it.
TEST(CaseInKernel, Case66SocketBufferIsCutAndNamed) {
    const Lab lab("direct --slaves 2 --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const std::uint64_t limit = std::stoull(read_file("/proc/sys/net/core/wmem_max")),
                        asked = 2 * limit + 4096;
    Kept server("server", server_in("bt-b"));
    ASSERT_TRUE(server.says("listening"));
    const json document =
        run_client("bt-a", "10.77.0.2", fmt::format("--flows 2 --window {} --rate 1M --for 500ms", asked), 1);
    EXPECT_EQ(document.at("flows_established"), 2);
    EXPECT_EQ(document.at("client").at("send_buffer").get<std::uint64_t>(), 2 * limit);
    const std::string finding = says(document, "host.socket-buffer");
    EXPECT_THAT(finding, HasSubstr(fmt::format("SO_SNDBUF: {} bytes got = 2 x {}, which is net.core.wmem_max",
                                               2 * limit, limit)));
    EXPECT_THAT(finding, HasSubstr(fmt::format("sysctl -w net.core.wmem_max={}", asked)));
    // What is granted is not complained of.
    const json granted =
        run_client("bt-a", "10.77.0.2", fmt::format("--flows 2 --window {} --rate 1M --for 500ms", limit));
    EXPECT_EQ(says(granted, "host.socket-buffer"), "");
}

// Case 68: iperf3 stops at 128 streams, and at the limit of open files. Here 300 flows run from a soft limit
// of 64; where the limit may not be raised, as many as fit run, and the command that raises it is printed.
TEST(CaseInKernel, Case68OpenFilesAndMoreThan128Flows) {
    const Lab lab("direct --slaves 2 --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    Kept server("server", server_in("bt-b"));
    ASSERT_TRUE(server.says("listening"));
    const auto client = [](const std::vector<std::string>& before, const std::string& options) {
        std::vector<std::string> argv = before;
        for (const std::string& word : client_in("bt-a", "10.77.0.2", options))
            argv.push_back(word);
        return capture(argv, std::chrono::seconds(180));
    };
    const Output raised = client({"prlimit", "--nofile=64:4096"}, "--flows 300 --total-rate 3M --for 2s");
    ASSERT_EQ(raised.status, 0) << raised.err;
    EXPECT_EQ(json::parse(raised.out).at("flows_established"), 300);
    // Root without the right to raise the hard limit.
    const Output short_of = client({"setpriv", "--bounding-set=-sys_resource", "prlimit", "--nofile=64:64"},
                                   "--flows 300 --total-rate 3M --for 2s");
    EXPECT_EQ(short_of.status, 1) << short_of.err;
    const json partial = json::parse(short_of.out, nullptr, false);
    ASSERT_FALSE(partial.is_discarded()) << short_of.out << short_of.err;
    const auto established = partial.at("flows_established").get<unsigned>();
    EXPECT_GT(established, 0U);
    EXPECT_LT(established, 64U);
    EXPECT_THAT(says(partial, "host.fd-limit"), HasSubstr("prlimit --pid $$ --nofile="));
    unsigned without_files = 0;
    for (const json& flow : partial.at("flows"))
        if (!flow.at("failure").is_null() &&
            flow.at("failure").get<std::string>().find("EMFILE") != std::string::npos)
            ++without_files;
    EXPECT_EQ(without_files, 300 - established);
}

} // namespace
} // namespace bondtrace::test
