// SPDX-License-Identifier: GPL-2.0-or-later
// The live table on a terminal, on a bond with traffic: what it shows is what the peer's slaves saw.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/window.h"
#include "tests/support/pseudo_terminal.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

const std::string program = BONDTRACE_PROGRAM;

std::vector<std::string> live(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {program, "live", "bond0", "--netns", "bt-a", "--interval", "500ms"});
    return arguments;
}

// The words of the line of the flow from that local port; empty when it is not on the screen.
std::vector<std::string> flow_words(const PseudoTerminal& terminal, std::uint16_t port) {
    const int row = terminal.row_with(fmt::format("10.77.0.1:{} ", port));
    if (row < 0) return {};
    std::istringstream words(terminal.line(row));
    return {std::istream_iterator<std::string>(words), {}};
}

// proto, local, arrow, remote, TX slave, RX slave, ...
std::string tx_slave(const PseudoTerminal& terminal, std::uint16_t port) {
    const std::vector<std::string> words = flow_words(terminal, port);
    return words.size() > 4 ? words[4] : "";
}

int first_flow_row(const PseudoTerminal& terminal) {
    return terminal.row_with("10.77.0.1:4");
}

class LiveScreen : public testing::Test {
  protected:
    LiveScreen() : lab_("direct --mode 802.3ad --policy layer3+4 --slaves 2") {}
    Lab lab_;
};

TEST_F(LiveScreen, ShowsTheFlowsOnTheSlavesWhereThePeerSawThem) {
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    std::map<std::string, Result<Tap>> taps;
    for (const int i : {0, 1})
        taps.emplace(fmt::format("s{}", i), Tap::open(ends.b, fmt::format("p{}", i)));
    const std::vector<std::uint16_t> ports = ports_from(40000, 24);
    const SteadyTraffic traffic(ends.v4_a(), ends.v4_b(), ports, 5001, 500, milliseconds(50));
    ASSERT_FALSE(HasFailure());

    PseudoTerminal terminal(live({"--filter", "port 5001"}), {120, 40});
    const auto all_shown = [&] {
        return std::all_of(ports.begin(), ports.end(),
                           [&](std::uint16_t port) { return !tx_slave(terminal, port).empty(); });
    };
    ASSERT_TRUE(terminal.await(all_shown)) << terminal.text();
    std::map<std::uint16_t, std::string> truth;
    for (auto& [slave, tap] : taps) {
        ASSERT_TRUE(tap) << tap.error().what;
        const auto frames = tap->udp_by_source_port();
        ASSERT_TRUE(frames) << frames.error().what;
        for (const auto& [port, seen] : *frames)
            truth.emplace(port, slave);
    }
    std::set<std::string> used;
    for (const std::uint16_t port : ports) {
        EXPECT_EQ(tx_slave(terminal, port), truth[port]) << port;
        used.insert(truth[port]);
    }
    EXPECT_EQ(used.size(), 2U) << "24 flows did not use both slaves";
    for (const std::uint16_t port : ports)
        EXPECT_EQ(flow_words(terminal, port).back(), "✓") << "not where the hash says " << port;
    EXPECT_THAT(terminal.line(1), HasSubstr("LACP up"));
    EXPECT_THAT(terminal.line(0), HasSubstr("coverage 100 %"));
    EXPECT_TRUE(terminal.await_text("ns/packet")) << "what it costs is measured\n" << terminal.text();
    // 500 bytes and headers, 20 times a second: 86.7 kbit/s, give or take what an emulated machine makes of
    // it.
    EXPECT_TRUE(terminal.await([&] {
        const std::vector<std::string> words = flow_words(terminal, 40000);
        if (words.size() < 8 || words[7] != "k") return false;
        const double rate = std::atof(words[6].c_str());
        return rate > 40 && rate < 130;
    })) << terminal.text();

    // Sorted by the local end, forwards and backwards.
    terminal.send("s");
    ASSERT_TRUE(terminal.await_text("local address and port"));
    terminal.send("jjjjjj\r");
    ASSERT_TRUE(terminal.await([&] {
        const int row = terminal.row_with("10.77.0.1:40000 ");
        return row >= 0 && row == first_flow_row(terminal) &&
               terminal.row_with("10.77.0.1:40023 ") == row + 23;
    })) << terminal.text();
    terminal.send("r");
    ASSERT_TRUE(terminal.await([&] {
        const int row = terminal.row_with("10.77.0.1:40023 ");
        return row >= 0 && row == first_flow_row(terminal);
    })) << terminal.text();

    // Filtered, with what is wrong with a filter shown, and kept through a pause.
    terminal.send("/\x15slave s7\r");
    ASSERT_TRUE(terminal.await_text("there is no slave s7 here")) << terminal.text();
    terminal.send("\x15udp and tx slave s1\r");
    const auto only_s1 = [&] {
        return std::all_of(ports.begin(), ports.end(), [&](std::uint16_t port) {
            return flow_words(terminal, port).empty() == (truth[port] != "s1");
        });
    };
    ASSERT_TRUE(terminal.await(only_s1)) << terminal.text();
    terminal.send("p");
    ASSERT_TRUE(terminal.await_text("PAUSED"));
    const std::string paused = terminal.text();
    EXPECT_FALSE(terminal.await([&] { return terminal.text() != paused; }, milliseconds(1500)))
        << "something moves";
    terminal.send("p");
    ASSERT_TRUE(terminal.await_no_text("PAUSED"));
    EXPECT_TRUE(terminal.await(only_s1)) << terminal.text();

    // From the smallest screen to a large one.
    terminal.resize({60, 16});
    ASSERT_TRUE(terminal.await([&] { return terminal.line(15).find("help") != std::string::npos; }))
        << terminal.text();
    EXPECT_TRUE(terminal.await_text("10.77.0.2:5001 s1")) << terminal.text();
    terminal.resize({200, 50});
    ASSERT_TRUE(terminal.await([&] { return terminal.line(49).find("interval") != std::string::npos; }))
        << terminal.text();
    EXPECT_TRUE(terminal.await_text("packets/s")) << terminal.text();

    terminal.send("q");
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_EQ(terminal.not_restored(), "");
}

// The names are the system's; the machine's /etc/hosts is this test's own to write.
TEST_F(LiveScreen, ShowsNamesOfHosts) {
    ASSERT_FALSE(HasFailure());
    std::ofstream("/etc/hosts", std::ios::app) << "\n10.77.0.2 storage2.lab\n";
    const LabEnds ends = LabEnds::open();
    const SteadyTraffic traffic(ends.v4_a(), ends.v4_b(), ports_from(40000, 2), 5001, 500, milliseconds(50));
    PseudoTerminal terminal(live({"-n"}), {120, 40});
    ASSERT_TRUE(terminal.await_text("storage2.lab:5001")) << terminal.text();
    EXPECT_EQ(terminal.text().find("10.77.0.2:5001"), std::string::npos) << terminal.text();
    terminal.send("n");
    EXPECT_TRUE(terminal.await_text("10.77.0.2:5001")) << terminal.text();
    terminal.send("n");
    EXPECT_TRUE(terminal.await_text("storage2.lab:5001")) << terminal.text();
    terminal.send("q");
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_EQ(terminal.not_restored(), "");

    const Output plain = capture(live({"--plain", "--count", "1", "-n"}));
    EXPECT_EQ(plain.status, 0) << plain.err;
    EXPECT_THAT(plain.out, HasSubstr("remote storage2.lab:5001"));
}

TEST_F(LiveScreen, ASlaveThatGoesDownMovesItsFlowsAndComesBack) {
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    const std::vector<std::uint16_t> ports = ports_from(40000, 12);
    const SteadyTraffic traffic(ends.v4_a(), ends.v4_b(), ports, 5001, 500, milliseconds(50));
    PseudoTerminal terminal(live(), {120, 40});
    std::set<std::uint16_t> on_s0;
    ASSERT_TRUE(terminal.await([&] {
        on_s0.clear();
        for (const std::uint16_t port : ports) {
            const std::string slave = tx_slave(terminal, port);
            if (slave.empty()) return false;
            if (slave == "s0") on_s0.insert(port);
        }
        return !on_s0.empty() && on_s0.size() < ports.size();
    })) << terminal.text();
    terminal.send("e");
    ASSERT_TRUE(terminal.await_text("nothing has happened"));

    // The other end's device: the carrier is lost here.
    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p0", "down"}));
    EXPECT_TRUE(terminal.await_text("slave s0 down (no carrier)")) << terminal.text();
    ASSERT_TRUE(terminal.await_text("moved from s0 to s1")) << terminal.text();
    EXPECT_TRUE(terminal.await([&] {
        return std::any_of(on_s0.begin(), on_s0.end(), [&](std::uint16_t port) {
            const int row = terminal.row_with(fmt::format("10.77.0.1:{} ", port));
            if (row < 0) return false;
            const std::string line = terminal.line(row);
            const std::size_t byte = line.find("s0→s1");
            if (byte == std::string::npos) return false;
            // One character before it, ↔, takes three bytes and one column.
            return terminal.look(row, static_cast<int>(byte) - 2).reverse;
        });
    })) << "no move is marked\n"
        << terminal.text();
    EXPECT_TRUE(terminal.await([&] {
        return std::all_of(ports.begin(), ports.end(),
                           [&](std::uint16_t port) { return tx_slave(terminal, port) == "s1"; });
    })) << "the marks do not go\n"
        << terminal.text();
    EXPECT_TRUE(terminal.await_text("LACP 1 of 2 up")) << terminal.text();

    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p0", "up"}));
    EXPECT_TRUE(terminal.await_text("slave s0 up")) << terminal.text();
    EXPECT_TRUE(terminal.await_text("LACP up")) << terminal.text();
    EXPECT_TRUE(terminal.await_text("moved from s1 to s0")) << terminal.text();
    terminal.send("q");
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_EQ(terminal.not_restored(), "");
}

TEST_F(LiveScreen, GivesTheTerminalBackHoweverItEnds) {
    ASSERT_FALSE(HasFailure());
    struct Ending {
        const char* name;
        std::function<void(PseudoTerminal&)> end;
        int status;
    };
    const std::vector<Ending> endings = {
        {"q", [](PseudoTerminal& terminal) { terminal.send("q"); }, 0},
        {"Ctrl-C", [](PseudoTerminal& terminal) { terminal.send("\x03"); }, 0},
        {"SIGTERM", [](PseudoTerminal& terminal) { terminal.signal(SIGTERM); }, 0},
        {"SIGHUP", [](PseudoTerminal& terminal) { terminal.signal(SIGHUP); }, 0},
        {"SIGABRT", [](PseudoTerminal& terminal) { terminal.signal(SIGABRT); }, 128 + SIGABRT}};
    for (const Ending& ending : endings) {
        SCOPED_TRACE(ending.name);
        PseudoTerminal terminal(live(), {120, 40});
        ASSERT_TRUE(terminal.await_text("LACP up")) << terminal.text();
        EXPECT_NE(terminal.not_restored(), "");
        ending.end(terminal);
        EXPECT_EQ(terminal.wait(), ending.status);
        EXPECT_EQ(terminal.not_restored(), "");
        EXPECT_TRUE(await([] {
            return capture({"bpftool", "prog", "show"}).out.find("bt_") == std::string::npos;
        })) << "programs are still attached";
    }
}

// A slow line must do: a refresh of 50 active flows at 120x40 takes less than 4 KB.
TEST_F(LiveScreen, WritesLittle) {
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    const SteadyTraffic traffic(ends.v4_a(), ends.v4_b(), ports_from(40000, 50), 5001, 500, milliseconds(40));
    PseudoTerminal terminal(live(), {120, 40});
    ASSERT_TRUE(terminal.await_text("of 50,")) << terminal.text();
    ASSERT_TRUE(terminal.await_text("ns/packet")) << terminal.text();
    // The clock in the title tells refreshes of a second; there are two in one here, both counted.
    const auto began = Clock::now();
    const std::size_t before = terminal.bytes();
    (void)terminal.await([] { return false; }, milliseconds(10000));
    const double refreshes = std::chrono::duration<double>(Clock::now() - began).count() / 0.5;
    const double bytes = static_cast<double>(terminal.bytes() - before) / refreshes;
    RecordProperty("bytes_per_refresh", static_cast<int>(bytes));
    std::printf("%.0f bytes a refresh\n", bytes);
    EXPECT_GT(bytes, 100) << "nothing is refreshed";
    EXPECT_LT(bytes, 4096);
}

// The first screen comes about as fast as the program can attach at all.
TEST_F(LiveScreen, ComesUpAtOnce) {
    ASSERT_FALSE(HasFailure());
    constexpr int runs = 3;
    auto fastest_flows = milliseconds::max(), fastest_live = milliseconds::max();
    for (int i = 0; i < runs; ++i) {
        auto began = Clock::now();
        (void)capture({program, "flows", "bond0", "--netns", "bt-a", "--for", "0"});
        fastest_flows =
            std::min(fastest_flows, std::chrono::duration_cast<milliseconds>(Clock::now() - began));
        began = Clock::now();
        PseudoTerminal terminal(live(), {120, 40});
        ASSERT_TRUE(terminal.await_text("LACP up")) << terminal.text();
        fastest_live = std::min(fastest_live, std::chrono::duration_cast<milliseconds>(Clock::now() - began));
        terminal.send("q");
        EXPECT_EQ(terminal.wait(), 0);
    }
    std::printf("flows --for 0: %d ms, first screen: %d ms\n", static_cast<int>(fastest_flows.count()),
                static_cast<int>(fastest_live.count()));
    EXPECT_LT(fastest_live.count(), fastest_flows.count() * 3 / 2 + 100);
}

TEST_F(LiveScreen, LinesAreValidAndCanBePlayedAgain) {
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    const SteadyTraffic traffic(ends.v4_a(), ends.v4_b(), ports_from(40000, 8), 5001, 500, milliseconds(50));
    const std::string path = fmt::format("/tmp/live-{}.jsonl", getpid());
    const Output output = capture(live({"--json", "--count", "4"}));
    EXPECT_EQ(output.status, 0) << output.err;
    std::istringstream lines(output.out);
    std::string line;
    int sequence = 0;
    for (; std::getline(lines, line); ++sequence) {
        const auto document = nlohmann::json::parse(line);
        EXPECT_EQ(document.at("sequence"), sequence);
        EXPECT_EQ(document.at("schema"), "bondtrace.live/1");
        std::ofstream(path) << line;
        EXPECT_TRUE(run({BONDTRACE_SOURCE_DIR "/tools/validate-json",
                         BONDTRACE_SOURCE_DIR "/docs/schema/live.schema.json", path}));
        int found = 0;
        for (const auto& flow : document.at("bonds").at(0).at("flows"))
            if (flow.at("remote_port") == 5001) {
                ++found;
                EXPECT_GT(flow.at("rate").at("tx_packets").get<double>(), 0) << flow;
            }
        EXPECT_EQ(found, 8);
    }
    EXPECT_EQ(sequence, 4);
    std::ofstream(path) << output.out;
    const Output text = capture({program, "--replay", path, "--plain"});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("flow udp 10.77.0.1:40000 - 10.77.0.2:5001, TX "));
    const Output again = capture({program, "--replay", path, "--json"});
    EXPECT_EQ(std::count(again.out.begin(), again.out.end(), '\n'), 4);
    std::remove(path.c_str());
}

TEST_F(LiveScreen, AFullTableIsALossAndNothingElse) {
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    PseudoTerminal terminal(live({"--max-flows", "16"}), {120, 40});
    ASSERT_TRUE(terminal.await_text("LACP up")) << terminal.text();
    const SteadyTraffic traffic(ends.v4_a(), ends.v4_b(), ports_from(40000, 60), 5001, 500, milliseconds(50));
    EXPECT_TRUE(terminal.await_text(" lost")) << terminal.text();
    EXPECT_TRUE(terminal.await_text("coverage 100 %")) << "the slaves' sums stay exact\n" << terminal.text();
    terminal.send("e");
    EXPECT_TRUE(terminal.await_text("the flow table of 16 entries is full")) << terminal.text();
    terminal.send("q");
    EXPECT_EQ(terminal.wait(), 0);
}

TEST(LiveWrongInput, IsSaidOnAnOrdinaryTerminal) {
    PseudoTerminal terminal({program, "live", "bond7"}, {80, 24});
    EXPECT_EQ(terminal.wait(), 64);
    EXPECT_THAT(terminal.text(), HasSubstr("bond7"));
    EXPECT_EQ(terminal.not_restored(), "");
}

// A reading in the middle says what the end says, when nothing passes in between.
TEST(Snapshot, GoesOnCountingAndAgreesWithTheEnd) {
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    auto observation = Observation::start(ends.a, {"bond0"}, test_config());
    ASSERT_TRUE(observation) << observation.error().what;
    ASSERT_TRUE(observation->measure_cost());
    auto sent = send_udp(ends.v4_a(), ends.v4_b(), {{40000, 5001, 7, 100}});
    ASSERT_TRUE(sent) << sent.error().what;
    const auto first = observation->snapshot();
    ASSERT_TRUE(first) << first.error().what;
    sent = send_udp(ends.v4_a(), ends.v4_b(), {{40000, 5001, 5, 100}});
    ASSERT_TRUE(sent) << sent.error().what;
    const auto second = observation->snapshot();
    ASSERT_TRUE(second) << second.error().what;
    const auto end = observation->finish();
    ASSERT_TRUE(end) << end.error().what;
    const auto packets = [](const Observed& observed) {
        std::uint64_t sum = 0;
        for (const FlowEntry& entry : observed.flows)
            if (!(entry.key.flags & BT_KEY_RX) && ntohs(entry.key.src_port) == 40000)
                sum += entry.value.count.packets;
        return sum;
    };
    EXPECT_EQ(packets(*first), 7U);
    EXPECT_EQ(packets(*second), 12U);
    EXPECT_EQ(packets(*end), 12U);
    EXPECT_GT(first->programs.runs, 0U);
    EXPECT_GT(second->programs.runs, first->programs.runs);
    EXPECT_GT(second->programs.run_ns, first->programs.run_ns);
    EXPECT_GT(second->ended_ns, first->ended_ns);
    for (const Observed* observed : {&*second, &*end})
        if (observed->reading_skew == 0) expect_conservation(*observed, Unit::skb, Unit::skb);
}

} // namespace
} // namespace bondtrace::test
