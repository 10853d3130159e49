// SPDX-License-Identifier: GPL-2.0-or-later
// The life of a run: slaves that come and go for hours, a reader that is held up, others beside it, clocks
// that jump. Nothing is lost, nothing grows, nothing stays.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/program.h"
#include "tests/kernel/support/window.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct UdpStatistics {
    std::uint64_t sent = 0;   // given to the device, which took them
    std::uint64_t failed = 0; // which did not take them
};

// What the namespace's IP layer says (/proc/net/snmp).
UdpStatistics udp_statistics(const std::string& netns) {
    std::istringstream stream(capture({"ip", "netns", "exec", netns, "cat", "/proc/net/snmp"}).out);
    std::vector<std::string> names;
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        std::vector<std::string> values{std::istream_iterator<std::string>(words), {}};
        if (values.empty() || values.front() != "Udp:") continue;
        if (names.empty()) {
            names = values;
            continue;
        }
        UdpStatistics statistics;
        for (std::size_t i = 1; i < std::min(names.size(), values.size()); ++i) {
            if (names[i] == "OutDatagrams") statistics.sent = std::stoull(values[i]);
            if (names[i] == "SndbufErrors") statistics.failed = std::stoull(values[i]);
        }
        return statistics;
    }
    ADD_FAILURE() << "no statistics of UDP in " << netns;
    return {};
}

// Sent by the flows to that port, of all slaves.
std::uint64_t udp_sent(const Observed& observed, std::uint16_t destination_port) {
    std::uint64_t packets = 0;
    for (const FlowEntry& entry : observed.flows)
        if (entry.key.protocol == 17 && (entry.key.flags & BT_KEY_RX) == 0 &&
            entry.key.dst_port == htons(destination_port))
            packets += entry.value.count.packets;
    return packets;
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

bool is_up(const LinkReader& reader, const std::string& slave) {
    const auto bonds = reader.find_bonds({"bond0"});
    if (!bonds) return false;
    for (const Slave& one : bonds->front().slaves)
        if (one.name == slave) return one.carrier && one.mii_status == MiiStatus::up;
    return false;
}

// What a program does between two readings.
Result<void> follow(Observation& observation) {
    pollfd events{observation.fd(), POLLIN, 0};
    while (poll(&events, 1, 0) > 0)
        if (const auto followed = observation.follow(); !followed) return followed;
    return {};
}

TEST(Lifecycle, ASlaveThatLeavesAndReturnsAHundredTimesUnderLoad) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    const auto reader_a = LinkReader::open(ends.a), reader_b = LinkReader::open(ends.b);
    ASSERT_TRUE(reader_a && reader_b);
    auto observation = Observation::start(ends.a, {"bond0"}, test_config());
    ASSERT_TRUE(observation) << observation.error().what;
    const UdpStatistics before = udp_statistics("bt-a");

    constexpr int rounds = 100, warm_up = 20;
    constexpr std::uint16_t flows = 8;
    constexpr milliseconds period(20);
    std::size_t descriptors = 0;
    std::uint64_t resident = 0;
    {
        const SteadyTraffic out(ends.v4_a(), ends.v4_b(), ports_from(40000, flows), 5001, 200, period);
        const SteadyTraffic in(ends.v4_b(), ends.v4_a(), ports_from(41000, flows), 5001, 200, period);
        std::string name = "s1";
        for (int round = 1; round <= rounds; ++round) {
            SCOPED_TRACE(round);
            // This end first: what it sends must find the other end of the wire there.
            ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", name, "nomaster"}));
            ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p1", "nomaster"}));
            auto followed = follow(*observation);
            ASSERT_TRUE(followed) << followed.error().what;
            if (round % 10 == 0) { // it left the bond and is down, so that every kernel lets it be renamed
                const std::string other = name == "s1" ? "r1" : "s1";
                ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", name, "name", other}));
                name = other;
                const auto away = observation->snapshot();
                ASSERT_TRUE(away) << away.error().what;
                ASSERT_EQ(away->bonds.front().slaves.size(), 2U);
                EXPECT_TRUE(slave_named(*away, name).gone);
                EXPECT_FALSE(slave_named(*away, "s0").gone);
            }
            ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", name, "master", "bond0"}));
            ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p1", "master", "bond0"}));
            ASSERT_TRUE(await([&] { return is_up(*reader_a, name) && is_up(*reader_b, "p1"); }));
            followed = follow(*observation);
            ASSERT_TRUE(followed) << followed.error().what;
            if (round == warm_up) {
                descriptors = open_descriptors();
                resident = memory_kib(getpid(), "VmRSS");
            }
        }
        EXPECT_EQ(open_descriptors(), descriptors);
        constexpr std::uint64_t allowance = 512; // KiB in eighty rounds: what the allocator makes of it
        EXPECT_LE(memory_kib(getpid(), "VmRSS"), resident + allowance);
    }
    const UdpStatistics after = udp_statistics("bt-a");
    const auto observed = observation->finish();
    ASSERT_TRUE(observed) << observed.error().what;
    EXPECT_EQ(observed->reading_skew, 0U);
    EXPECT_EQ(observed->stats.slots_full, 0U);

    // Whatever the IP layer handed over is in a flow, and the flows add up to the slaves' sums.
    const std::uint64_t sent = after.sent - before.sent, failed = after.failed - before.failed;
    const std::uint64_t traced = udp_sent(*observed, 5001);
    EXPECT_GT(sent, std::uint64_t{rounds} * flows);
    if (test_attachment() ==
        Attachment::tc) // does not see what a slave sends before bondtrace has heard of it
        EXPECT_LE(traced, sent + failed);
    else
        EXPECT_EQ(traced, sent + failed);
    ASSERT_EQ(observed->bonds.front().slaves.size(), 2U);
    for (const ObservedSlave& slave : observed->bonds.front().slaves) {
        SCOPED_TRACE(slave.slave.name);
        EXPECT_FALSE(slave.gone);
        std::uint64_t tx = 0, rx = 0;
        for (const FlowEntry& entry : observed->flows)
            if (entry.slave_ifindex == slave.slave.ifindex)
                ((entry.key.flags & BT_KEY_RX) != 0 ? rx : tx) += entry.value.count.packets;
        EXPECT_EQ(tx, slave.totals.tx.packets);
        EXPECT_EQ(rx, slave.totals.rx.packets);
        const std::uint64_t sent_counted = slave.counters.tx_packets + slave.counters.tx_dropped;
        std::printf("%s: TX traced %llu, counted %llu; RX traced %llu, counted %llu\n",
                    slave.slave.name.c_str(), slave.totals.tx.packets,
                    static_cast<unsigned long long>(sent_counted), slave.totals.rx.packets,
                    static_cast<unsigned long long>(slave.counters.rx_packets));
        if (slave.slave.name == "s0") { // was there all the time
            EXPECT_EQ(slave.totals.tx.packets, sent_counted);
            EXPECT_EQ(slave.totals.rx.packets, slave.counters.rx_packets);
            continue;
        }
        // The counters that the kernel tells when a slave leaves are not of the instant in which the bond
        // stops using it: up to a fifth of a second's load lies between, each time.
        const auto difference = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
        constexpr std::uint64_t allowance = std::uint64_t{rounds} * flows * (200 / period.count());
        EXPECT_LE(difference(slave.totals.tx.packets, sent_counted), allowance);
        EXPECT_LE(difference(slave.totals.rx.packets, slave.counters.rx_packets), allowance);
    }
    std::printf("UDP: sent %llu, not taken %llu, traced %llu\n", static_cast<unsigned long long>(sent),
                static_cast<unsigned long long>(failed), static_cast<unsigned long long>(traced));
}

// How much the program's sockets had to leave out of what the kernel told them.
std::uint64_t lost_netlink_messages(pid_t pid, const std::string& netns) {
    std::set<std::string> inodes;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entry.path(), gone);
        if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
    }
    std::istringstream stream(capture({"ip", "netns", "exec", netns, "cat", "/proc/net/netlink"}).out);
    std::uint64_t lost = 0;
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line); // sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode
        const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
        if (fields.size() >= 10 && inodes.contains(fields[9])) lost += std::stoull(fields[8]);
    }
    return lost;
}

void rename_while_down(const std::string& from, const std::string& to) {
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", from, "down"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", from, "name", to}));
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", to, "up"}));
}

// So many events that they do not fit into any buffer: of links that come, change their names and go.
void overflow_link_events(pid_t pid) {
    std::string commands;
    for (int i = 0; i < 4; ++i) {
        commands += "link add noise0 type veth peer name noise1\nlink set noise0 name other0\n";
        commands += "link set other0 up\n";
        for (int j = 0; j < 100; ++j) // a change like another, and a quick one
            commands += fmt::format("link set other0 alias {}\n", j);
        commands += "link del other0\n";
    }
    const std::string path = fmt::format("/tmp/noise-{}", getpid());
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(commands.c_str(), file);
    std::fclose(file);
    EXPECT_TRUE(await([&] {
        EXPECT_TRUE(run({"ip", "-n", "bt-a", "-batch", path}));
        return testing::Test::HasFailure() || lost_netlink_messages(pid, "bt-a") > 0;
    }));
    ::unlink(path.c_str());
}

TEST(Lifecycle, AReaderThatWasSuspendedLosesNoCounts) {
    const char* const asked = std::getenv("BONDTRACE_SUSPEND_SECONDS");
    const std::chrono::seconds duration(asked ? std::atoi(asked) : 5);
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    const auto reader = LinkReader::open(ends.a);
    ASSERT_TRUE(reader);
    Program live({"live", "bond0", "--netns", "bt-a", "--json", "--interval", "500ms"});
    ASSERT_TRUE(live.await_document([](const json&) { return true; }));

    live.signal(SIGSTOP);
    const auto began = Clock::now();
    // More flows than a CPU's cache holds (BT_CACHE_FLOWS).
    constexpr unsigned count = 600, each = 3;
    std::vector<UdpFlow> out, in;
    for (std::uint16_t i = 0; i < count; ++i) {
        out.push_back({static_cast<std::uint16_t>(20000 + i), 5001, each, 200});
        in.push_back({static_cast<std::uint16_t>(30000 + i), 5002, each, 200});
    }
    const auto send = [&]() -> Result<void> {
        if (auto sent = send_udp(ends.v4_a(), ends.v4_b(), out); !sent) return sent;
        return send_udp(ends.v4_b(), ends.v4_a(), in);
    };
    auto sent = send();
    ASSERT_TRUE(sent) << sent.error().what;
    rename_while_down("s0", "ren0");
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s1", "nomaster"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p1", "nomaster"}));
    overflow_link_events(live.pid());
    ASSERT_FALSE(HasFailure());
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s1", "master", "bond0"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p1", "master", "bond0"}));
    ASSERT_TRUE(await([&] { return is_up(*reader, "ren0") && is_up(*reader, "s1"); }));
    std::this_thread::sleep_until(began + duration); // it is to be that long
    sent = send();
    ASSERT_TRUE(sent) << sent.error().what;
    const std::uint64_t lost = lost_netlink_messages(live.pid(), "bt-a");
    EXPECT_GT(lost, 0U);
    const std::uint64_t continued = now_ns();
    live.signal(SIGCONT);

    ASSERT_TRUE(live.await_document(
        [&](const json& document) { return document.at("monotonic_ns").get<std::uint64_t>() > continued; }));
    const std::vector<json> documents = live.documents();
    const json& next = *std::find_if(documents.begin(), documents.end(), [&](const json& document) {
        return document.at("monotonic_ns").get<std::uint64_t>() > continued;
    });
    const json& bond = next.at("bonds").at(0);
    EXPECT_EQ(bond.at("slaves").size(), 2U);
    EXPECT_EQ(named(bond.at("slaves"), "ren0").at("state"), "active");
    EXPECT_EQ(named(bond.at("slaves"), "s1").at("state"), "active");
    expect_conservation(next, bond);
    std::uint64_t flows = 0, packets = 0;
    for (const json& flow : bond.at("flows")) {
        if (flow.at("protocol") != "udp") continue;
        ++flows;
        for (const char* direction : {"tx", "rx"})
            for (const json& use : flow.at(direction)) {
                EXPECT_THAT(use.at("slave").get<std::string>(), testing::AnyOf("ren0", "s1"));
                packets += use.at("packets").get<std::uint64_t>();
            }
    }
    EXPECT_EQ(flows, 2U * count);
    EXPECT_EQ(packets, 2U * 2 * count * each);
    std::printf("%d s suspended, %llu netlink messages lost, %llu documents\n",
                static_cast<int>(duration.count()), static_cast<unsigned long long>(lost),
                static_cast<unsigned long long>(documents.size()));
}

TEST(Lifecycle, SeveralRunsAtOnceAndOneIsKilled) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(left_in_kernel(), "");
    const LabEnds ends = LabEnds::open();
    const std::string best(to_text(test_attachment()));
    const auto start = [&](const std::string& attach) {
        return std::make_unique<Program>(std::vector<std::string>{
            "flows", "bond0", "--netns", "bt-a", "--json", "-v", "--for", "1h", "--attach", attach});
    };
    std::vector<std::unique_ptr<Program>> runs;
    for (const std::string& attach : {best, best, std::string("tc")})
        runs.push_back(start(attach));
    auto killed = start(best);
    for (const auto& one : runs)
        ASSERT_TRUE(one->await_counting());
    ASSERT_TRUE(killed->await_counting());

    std::vector<UdpFlow> flows;
    for (std::uint16_t i = 0; i < 64; ++i)
        flows.push_back({static_cast<std::uint16_t>(30000 + i), 5001, 10, 300});
    for (int part = 0; part < 2; ++part) {
        const auto sent = send_udp(ends.v4_a(), ends.v4_b(), flows);
        ASSERT_TRUE(sent) << sent.error().what;
        if (part == 0) killed->stop(SIGKILL);
    }
    std::vector<std::map<std::string, std::pair<std::string, std::uint64_t>>> seen;
    for (const auto& one : runs) {
        EXPECT_EQ(one->stop(SIGINT), 0) << one->errors();
        const json document = one->document();
        ASSERT_TRUE(document.is_object());
        SCOPED_TRACE(document.at("attach"));
        EXPECT_TRUE(document.at("interrupted").get<bool>());
        expect_conservation(document, document.at("bonds").at(0));
        auto& flows_seen = seen.emplace_back();
        for (const json& flow : document.at("bonds").at(0).at("flows"))
            if (flow.at("protocol") == "udp" && flow.at("remote_port") == 5001)
                for (const json& use : flow.at("tx"))
                    flows_seen[fmt::format("{} on {}", flow.at("local_port").get<int>(),
                                           use.at("slave").get<std::string>())] = {
                        flow.at("local"), use.at("packets").get<std::uint64_t>()};
        EXPECT_EQ(flows_seen.size(), flows.size());
        for (const auto& [name, value] : flows_seen)
            EXPECT_EQ(value.second, 20U) << name;
        EXPECT_EQ(flows_seen, seen.front());
    }
    // A killed tc filter stays until the next start; everything else has gone by itself.
    EXPECT_EQ(capture({BONDTRACE_PROGRAM, "flows", "--netns", "bt-a", "--for", "10ms"}).status, 3);
    EXPECT_TRUE(await([] { return left_in_kernel().empty(); })) << left_in_kernel();
    for (const char* slave : {"s0", "s1"})
        EXPECT_THAT(capture({"tc", "-n", "bt-a", "qdisc", "show", "dev", slave}).out,
                    testing::Not(testing::HasSubstr("clsact")));
}

// Puts the wall clock where it would be without the jumps, whatever becomes of the test.
class WallClock {
  public:
    WallClock() : wall_(read(CLOCK_REALTIME)), monotonic_(read(CLOCK_MONOTONIC)) {}
    WallClock(const WallClock&) = delete;
    WallClock& operator=(const WallClock&) = delete;
    ~WallClock() { EXPECT_TRUE(jump({})); }
    // Sets it `offset` off the true time.
    [[nodiscard]] bool jump(std::chrono::seconds offset) const {
        timespec time = wall_;
        const timespec now = read(CLOCK_MONOTONIC);
        time.tv_sec += now.tv_sec - monotonic_.tv_sec + offset.count();
        return ::clock_settime(CLOCK_REALTIME, &time) == 0;
    }

  private:
    static timespec read(clockid_t id) {
        timespec time{};
        EXPECT_EQ(::clock_gettime(id, &time), 0);
        return time;
    }
    timespec wall_, monotonic_;
};

TEST(Lifecycle, TheWallClockMayJump) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    const SteadyTraffic traffic(ends.v4_a(), ends.v4_b(), ports_from(40000, 4), 5001, 200, milliseconds(20));
    Program live({"live", "bond0", "--netns", "bt-a", "--json", "--interval", "500ms"});
    ASSERT_TRUE(live.await_document([](const json&) { return true; }));

    const std::uint64_t began = now_ns();
    Program flows({"flows", "bond0", "--netns", "bt-a", "--json", "-v", "--for", "3s"});
    ASSERT_TRUE(flows.await_counting());
    const std::uint64_t counting = now_ns();
    {
        const WallClock clock;
        constexpr std::chrono::hours day(24);
        for (const auto offset : {-day, day}) { // two days between them
            const std::uint64_t at = now_ns();
            ASSERT_TRUE(clock.jump(offset)) << errno_text(errno);
            // Not before the other program has written something with this time.
            ASSERT_TRUE(live.await_document([&](const json& document) {
                return document.at("monotonic_ns").get<std::uint64_t>() > at + 600'000'000;
            }));
        }
        ASSERT_TRUE(await([&] { return flows.has_ended(); }));
    }
    const std::uint64_t ended = now_ns();
    EXPECT_EQ(flows.stop(SIGKILL), 0) << flows.errors(); // its own end
    const json document = flows.document();
    ASSERT_TRUE(document.is_object()) << flows.errors();
    const auto seconds = document.at("window_seconds").get<double>();
    EXPECT_GE(seconds, 3.0);
    EXPECT_LE(seconds, static_cast<double>(ended - began) / 1e9);
    EXPECT_LT(static_cast<double>(counting - began) / 1e9, 30);
    unsigned found = 0;
    for (const json& flow : document.at("bonds").at(0).at("flows")) {
        if (flow.at("remote_port") != 5001) continue;
        ++found;
        const json& use = flow.at("tx").at(0);
        const std::uint64_t first = use.at("first_ns"), last = use.at("last_ns");
        constexpr std::uint64_t tick = 20'000'000; // the programs' clock is that of the kernel's ticks
        EXPECT_GE(first + tick, began);
        EXPECT_LE(last, ended);
        EXPECT_GE(last - first, 2'000'000'000U) << "a packet every 20 ms for 3 s";
        EXPECT_LE(static_cast<double>(last - first) / 1e9, seconds + 0.1);
    }
    EXPECT_EQ(found, 4U);

    EXPECT_EQ(live.stop(SIGINT), 0) << live.errors();
    const std::vector<json> lines = live.documents();
    ASSERT_GE(lines.size(), 4U);
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const json &line = lines[i], &before = lines[i - 1];
        const std::uint64_t step =
            line.at("monotonic_ns").get<std::uint64_t>() - before.at("monotonic_ns").get<std::uint64_t>();
        const auto interval = line.at("interval_seconds").get<double>();
        EXPECT_NEAR(interval, static_cast<double>(step) / 1e9, 1e-6);
        EXPECT_LE(line.at("elapsed_seconds").get<double>(), static_cast<double>(now_ns()) / 1e9);
        for (const json& flow : line.at("bonds").at(0).at("flows")) {
            if (flow.at("remote_port") != 5001) continue;
            const auto sum = [&](const json& of) {
                std::uint64_t packets = 0;
                for (const json& other : of.at("bonds").at(0).at("flows"))
                    if (other.at("local_port") == flow.at("local_port"))
                        for (const json& use : other.at("tx"))
                            packets += use.at("packets").get<std::uint64_t>();
                return packets;
            };
            EXPECT_NEAR(flow.at("rate").at("tx_packets").get<double>() * interval,
                        static_cast<double>(sum(line) - sum(before)), 0.01);
        }
    }
}

} // namespace
} // namespace bondtrace::test
