// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace traffic` over bonds: every tuple that was asked for is used, as ss(8) and our own tracer see it;
// the bytes of client, server and tracer agree; what netem loses, reorders and duplicates is what the server
// reports.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/pair.h"
#include "tests/kernel/support/traffic_program.h"
#include "tests/kernel/support/window.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::Not;

std::set<std::string> strings(const json& array) {
    return array.get<std::set<std::string>>();
}

struct Way {
    const char* name;
    const char* protocol;
    bool v6;
};

class Tuples : public testing::TestWithParam<Way> {};

// The tracer watches the bond while the client runs.
TEST_P(Tuples, AreUsedAsAskedForAndTheBytesAgree) {
    const bool udp = std::string_view(GetParam().protocol) == "udp";
    const Lab lab("direct --slaves 3 --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    Kept server("server", server_in("bt-b"));
    ASSERT_TRUE(server.says("listening"));
    const std::string host = GetParam().v6 ? "fd77::2" : "10.77.0.2";
    constexpr unsigned flows = 24;
    json traced, document;
    {
        Kept tracer("tracer", {program, "flows", "bond0", "--netns", "bt-a", "--for", "1h", "--json", "-v",
                               "--filter", fmt::format("proto {} and port 5477", GetParam().protocol)});
        ASSERT_TRUE(tracer.says("bondtrace: counting"));
        document = run_client(
            "bt-a", host,
            fmt::format("--{} --flows {} --ports sequential:3 --total-rate 4M --for 3s --length 500",
                        GetParam().protocol, flows));
        ASSERT_EQ(tracer.process().stop(SIGINT), 0) << tracer.err();
        traced = json::parse(tracer.out(), nullptr, false);
        ASSERT_FALSE(traced.is_discarded()) << tracer.out();
    }
    ASSERT_EQ(document.at("flows").size(), flows);
    std::map<std::uint64_t, json> by_port;
    for (const json& flow : traced.at("bonds").at(0).at("flows"))
        if (flow.at("remote_port") == 5477) by_port[flow.at("local_port")] = flow;
    std::set<std::uint64_t> asked;
    for (const json& flow : document.at("flows")) {
        const std::uint64_t port = flow.at("local_port");
        SCOPED_TRACE(port);
        asked.insert(port);
        EXPECT_EQ(flow.at("established"), true) << flow;
        EXPECT_EQ(flow.at("up").at("sent_bytes"), flow.at("up").at("received_bytes"));
        EXPECT_GT(flow.at("up").at("received_bytes"), 0);
        ASSERT_TRUE(by_port.contains(port)) << "the tracer has not seen it";
        const json& seen = by_port.at(port);
        EXPECT_EQ(seen.at("remote"), host);
        std::uint64_t bytes = 0, packets = 0;
        for (const json& slave : seen.at("tx")) {
            bytes += slave.at("bytes").get<std::uint64_t>();
            packets += slave.at("packets").get<std::uint64_t>();
        }
        const std::uint64_t ip = GetParam().v6 ? 40 : 20, ethernet = 14;
        const std::uint64_t payload = flow.at("up").at("sent_bytes");
        if (udp) {
            // Datagrams of 500 bytes, and the greeting of 32, which is repeated when its answer is late.
            const std::uint64_t sent = flow.at("up").at("sent_packets"), greetings = packets - sent;
            EXPECT_GE(greetings, 1U);
            EXPECT_LE(greetings, 20U);
            EXPECT_EQ(bytes, sent * (ethernet + ip + 8 + 500) + greetings * (ethernet + ip + 8 + 32));
        } else {
            // Headers with timestamps (32 bytes), the greeting of 28; SYN has 8 bytes of options more, and
            // the reset at the end 12 fewer. What was sent twice would be more.
            const std::uint64_t headers = packets * (ethernet + ip + 32);
            ASSERT_GT(bytes, headers);
            const auto extra =
                static_cast<std::int64_t>(bytes - headers) - static_cast<std::int64_t>(payload + 28);
            if (flow.at("retransmits") == 0) {
                EXPECT_LE(std::abs(extra), 20);
            } else {
                EXPECT_GE(extra, -20);
            }
        }
    }
    EXPECT_EQ(asked.size(), flows);
    EXPECT_EQ(*asked.rbegin() - *asked.begin(), 3U * (flows - 1)) << "24 ports, three apart";
    EXPECT_EQ(server.process().stop(SIGINT), 0) << server.err();
}

INSTANTIATE_TEST_SUITE_P(Ways, Tuples,
                         testing::Values(Way{"tcp4", "tcp", false}, Way{"udp4", "udp", false},
                                         Way{"tcp6", "tcp", true}, Way{"udp6", "udp", true}),
                         [](const auto& way) { return std::string(way.param.name); });

// As the kernel lists sockets while the test runs.
TEST(Traffic, TuplesAreThoseOfTheSocketsThatSsLists) {
    const Lab lab("direct --slaves 2 --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    Kept server("server", server_in("bt-b"));
    ASSERT_TRUE(server.says("listening"));
    Kept client("client",
                client_in("bt-a", "10.77.0.2", "--ports 40001,40003-40009,51000 --for 1h --rate 100k -v"));
    ASSERT_TRUE(client.says("9 flows")); // of a progress line
    const Output ss =
        capture({"ip", "netns", "exec", "bt-a", "ss", "-Htn", "state", "established", "dport", "=", ":5477"});
    ASSERT_EQ(ss.status, 0) << ss.err;
    for (const int port : {40001, 40003, 40004, 40005, 40006, 40007, 40008, 40009, 51000})
        EXPECT_THAT(ss.out, testing::HasSubstr(fmt::format("10.77.0.1:{}", port)));
    EXPECT_EQ(client.process().stop(SIGINT), 0) << client.err();
    const auto document = json::parse(client.out(), nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << client.out();
    EXPECT_EQ(document.at("interrupted"), true);
    EXPECT_EQ(document.at("flows_established"), 9);
    EXPECT_FALSE(document.at("server_end").is_null()) << "both ends have reported";
}

// netem on the way, of the lost, doubled and delayed ones.
// A rate of 240 kbit/s is 300 datagrams a second of each flow.
json through_netem(const Pair& pair, const std::string& netem, const std::string& rate = "240k") {
    EXPECT_TRUE(run(words(
        fmt::format("ip netns exec {} tc qdisc replace dev a0 root netem {}", pair.host.name(), netem))));
    Kept server("server", server_in(pair.peer.name()));
    EXPECT_TRUE(server.says("listening"));
    return run_client(pair.host.name(), "192.0.2.2", "--udp --flows 10 --length 100 --for 4s --rate " + rate);
}

struct Counts {
    double sent = 0, received = 0, lost = 0, reordered = 0, duplicated = 0;
};

Counts up_counts(const json& document) {
    Counts counts;
    for (const json& flow : document.at("flows")) {
        const json& up = flow.at("up");
        EXPECT_EQ(up.at("received_packets").get<double>() + up.at("lost").get<double>() -
                      up.at("duplicated").get<double>(),
                  up.at("sent_packets").get<double>());
        counts.sent += up.at("sent_packets").get<double>();
        counts.received += up.at("received_packets").get<double>();
        counts.lost += up.at("lost").get<double>();
        counts.reordered += up.at("reordered").get<double>();
        counts.duplicated += up.at("duplicated").get<double>();
    }
    return counts;
}

// The number that tc(8) counts as dropped by the qdisc.
double dropped(const Pair& pair) {
    const Output output = pair.host.exec({"tc", "-s", "-j", "qdisc", "show", "dev", "a0"});
    const auto document = json::parse(output.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << output.out << output.err;
    for (const json& qdisc : document)
        if (qdisc.at("kind") == "netem") return qdisc.at("drops").get<double>();
    ADD_FAILURE() << "no netem: " << output.out;
    return 0;
}

struct NetemPair : Pair {
    NetemPair() : Pair(1) {
        EXPECT_TRUE(host.ip("addr add 192.0.2.1/24 dev a0") && host.ip("link set a0 up"));
        EXPECT_TRUE(peer.ip("addr add 192.0.2.2/24 dev b0") && peer.ip("link set b0 up"));
    }
};

TEST(Traffic, UdpCountsWhatNetemLoses) {
    const NetemPair pair;
    const Counts counts = up_counts(through_netem(pair, "loss 5%"));
    ASSERT_GT(counts.sent, 10'000);
    // netem drops greetings as well, which are asked for again: a few more than datagrams are missing.
    const double drops = dropped(pair);
    EXPECT_LE(counts.lost, drops);
    EXPECT_GE(counts.lost, drops - 30);
    EXPECT_NEAR(counts.lost / counts.sent, 0.05, 0.01);
    EXPECT_EQ(counts.duplicated, 0);
}

TEST(Traffic, UdpCountsWhatNetemDoubles) {
    const NetemPair pair;
    const Counts counts = up_counts(through_netem(pair, "duplicate 10%"));
    ASSERT_GT(counts.sent, 10'000);
    EXPECT_EQ(counts.lost, 0);
    EXPECT_NEAR(counts.duplicated / counts.sent, 0.10, 0.015);
    EXPECT_EQ(counts.received, counts.sent + counts.duplicated);
}

TEST(Traffic, UdpCountsWhatNetemOvertakes) {
    const NetemPair pair;
    // 10 % go at once, the others 20 ms later: each of them comes before some 20 that were sent earlier,
    // which are then late. No more than that can be: 90 % of all.
    const Counts counts =
        up_counts(through_netem(pair, "delay 20ms reorder 10%", "800k")); // 1000 a second each
    ASSERT_GT(counts.sent, 10'000);
    EXPECT_EQ(counts.lost, 0);
    EXPECT_EQ(counts.duplicated, 0);
    // A datagram is late when one of the 20 or so after it was sent at once: 1 - 0.9^20 = 88 % of those
    // delayed.
    EXPECT_GT(counts.reordered / counts.sent, 0.6);
    EXPECT_LT(counts.reordered / counts.sent, 0.9);
}

TEST(Traffic, FeaturesAreThoseOfTheKernel) {
    const NetemPair pair;
    Kept server("server", server_in(pair.peer.name()));
    ASSERT_TRUE(server.says("listening"));
    const auto fast =
        run_client(pair.host.name(), "192.0.2.2", "--flows 2 --for 500ms --no-copy --direction both");
    const auto kernel = fast.at("kernel").get<std::string>();
    const int major = std::stoi(kernel), minor = std::stoi(kernel.substr(kernel.find('.') + 1));
    const auto has = [&](int since_major, int since_minor) {
        return major > since_major || (major == since_major && minor >= since_minor);
    };
    const auto features = strings(fast.at("client").at("features"));
    EXPECT_EQ(features.contains("defer-taskrun"), has(6, 1));
    EXPECT_EQ(features.contains("single-issuer"), has(6, 0));
    EXPECT_EQ(features.contains("coop-taskrun"), has(5, 19) && !has(6, 1));
    EXPECT_EQ(features.contains("registered-ring"), has(5, 18));
    EXPECT_TRUE(features.contains("msg-trunc"));
    EXPECT_TRUE(features.contains("sendfile"));
    EXPECT_EQ(strings(fast.at("server_end").at("features")), features);
    const auto gso =
        run_client(pair.host.name(), "192.0.2.2", "--udp --gso --length 100 --for 500ms --direction both");
    EXPECT_TRUE(strings(gso.at("client").at("features")).contains("udp-segment"));
    EXPECT_TRUE(strings(gso.at("client").at("features")).contains("udp-gro"));
    // Without any of them the same comes out.
    const auto plain =
        run_client(pair.host.name(), "192.0.2.2",
                   "--flows 2 --for 500ms --no-copy --without "
                   "single-issuer,defer-taskrun,coop-taskrun,registered-ring,msg-trunc,sendfile");
    EXPECT_TRUE(strings(plain.at("client").at("features")).empty());
    for (const json& flow : plain.at("flows"))
        EXPECT_EQ(flow.at("up").at("sent_bytes"), flow.at("up").at("received_bytes"));
}

TEST(Traffic, TheServerDiesWithinATest) {
    const NetemPair pair;
    Kept server("server", server_in(pair.peer.name()));
    ASSERT_TRUE(server.says("listening"));
    Kept client("client", client_in(pair.host.name(), "192.0.2.2", "--flows 2 --for 1h --rate 1M -v"));
    ASSERT_TRUE(client.says("2 flows"));
    server.process().stop(SIGKILL);
    // It notices by itself.
    ASSERT_TRUE(await([&] { return !client.out().empty(); }));
    EXPECT_EQ(client.process().stop(0), 3) << client.err();
    const auto document = json::parse(client.out(), nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << client.out();
    EXPECT_FALSE(document.at("broken").is_null());
    EXPECT_TRUE(document.at("server_end").is_null());
    EXPECT_GT(document.at("directions").at(0).at("sent").at("bytes"), 0);
}

} // namespace
} // namespace bondtrace::test
