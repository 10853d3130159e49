// SPDX-License-Identifier: GPL-2.0-or-later
// As much as one machine may have: bonds, flows, and nothing to do.
#include "tests/kernel/support/frames.h"
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/pair.h"
#include "tests/kernel/support/program.h"
#include "tests/kernel/support/window.h"

#include <array>
#include <atomic>
#include <csignal>
#include <ctime>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
    return std::chrono::duration<double>(Clock::now() - began).count();
}

TEST(LifecycleScale, SixtyFourBondsOfEightSlaves) {
    constexpr unsigned bonds = 64, slaves = 8;
    const Namespace host("many"), peer("ends");
    auto began = Clock::now();
    std::string commands, far;
    for (unsigned bond = 0; bond < bonds; ++bond) {
        commands += fmt::format(
            "link add bond{} type bond mode balance-xor miimon 100 xmit_hash_policy layer3+4\n", bond);
        for (unsigned slave = 0; slave < slaves; ++slave) {
            commands += fmt::format("link add s{0}.{1} type veth peer name p{0}.{1} netns {2}\n", bond, slave,
                                    peer.name());
            commands += fmt::format("link set s{0}.{1} master bond{0}\n", bond, slave);
            far += fmt::format("link set p{}.{} up\n", bond, slave);
        }
        commands += fmt::format("link set bond{} up\n", bond);
        commands += fmt::format("address add 10.{}.0.1/24 dev bond{}\n", bond + 1, bond);
        commands += fmt::format("neigh replace 10.{}.0.2 lladdr 02:00:00:00:00:01 dev bond{} nud permanent\n",
                                bond + 1, bond);
    }
    ASSERT_TRUE(host.ip_batch(commands, seconds(400)));
    ASSERT_TRUE(peer.ip_batch(far, seconds(100)));
    const std::string first = "bond0", last = fmt::format("bond{}", bonds - 1);
    for (const std::string& name : {first, last})
        ASSERT_TRUE(await([&] { return all_up(read_bond(host, name)); }));
    std::printf("%.1f s to make them\n", seconds_since(began));

    began = Clock::now();
    Program flows({"flows", "--netns", host.name(), "--json", "-v", "--for", "1h"});
    ASSERT_TRUE(flows.await_counting());
    std::printf("%.1f s to begin, %llu KiB\n", seconds_since(began),
                static_cast<unsigned long long>(memory_kib(flows.pid(), "VmRSS")));
    constexpr std::uint16_t count = 32;
    constexpr unsigned each = 5;
    std::vector<UdpFlow> sent;
    for (std::uint16_t i = 0; i < count; ++i)
        sent.push_back({static_cast<std::uint16_t>(40000 + i), 5001, each, 100});
    for (const unsigned bond : {0U, bonds - 1}) {
        const auto done = send_udp_unheard({host.open(), fmt::format("10.{}.0.1", bond + 1)},
                                           fmt::format("10.{}.0.2", bond + 1), sent);
        ASSERT_TRUE(done) << done.error().what;
    }
    began = Clock::now();
    EXPECT_EQ(flows.stop(SIGINT, seconds(200)), 0) << flows.errors();
    std::printf("%.1f s to end\n", seconds_since(began));
    const json document = flows.document();
    ASSERT_TRUE(document.is_object()) << flows.errors();
    ASSERT_EQ(document.at("bonds").size(), bonds);
    for (const json& bond : document.at("bonds")) {
        SCOPED_TRACE(bond.at("name"));
        EXPECT_EQ(bond.at("slaves").size(), slaves);
        const bool used = bond.at("name") == first || bond.at("name") == last;
        std::uint64_t packets = 0;
        for (const json& flow : bond.at("flows"))
            for (const json& use : flow.at("tx"))
                packets += use.at("packets").get<std::uint64_t>();
        EXPECT_EQ(packets, used ? count * each : 0U);
        expect_conservation(document, bond);
        for (const json& flow : bond.at("flows"))
            EXPECT_NE(flow.at("agrees"), false) << flow;
    }
    EXPECT_TRUE(await([] { return left_in_kernel().empty(); })) << left_in_kernel();
    EXPECT_THAT(capture({"tc", "-n", host.name(), "qdisc", "show"}).out,
                testing::Not(testing::HasSubstr("clsact")));
}

// What is written to a pipe, of which only the beginnings of lines are looked at: the rest may be large.
class LineHeads {
  public:
    // Keeps the last line in whose beginning `key` is.
    explicit LineHeads(std::string key)
        : key_(std::move(key)), path_(fmt::format("/tmp/heads-{}", ::getpid())) {
        EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
        // Both ends, so that nobody waits for the other and reading ends when this one is closed.
        pipe_ = Fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
        EXPECT_TRUE(pipe_.valid());
        reader_ = std::thread([this] { read(); });
    }
    LineHeads(const LineHeads&) = delete;
    LineHeads& operator=(const LineHeads&) = delete;
    ~LineHeads() {
        stop_ = true;
        reader_.join();
        ::unlink(path_.c_str());
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    struct Seen {
        std::size_t lines = 0; // so far
        std::string head;      // of the line that is kept
        std::size_t length = 0;
    };
    [[nodiscard]] Seen seen() {
        const std::lock_guard lock(mutex_);
        return seen_;
    }

  private:
    void read() {
        constexpr std::size_t enough = 4096;
        std::string head;
        std::size_t length = 0;
        std::vector<char> piece(1024 * 1024);
        while (!stop_) {
            const ssize_t size = ::read(pipe_.get(), piece.data(), piece.size());
            if (size <= 0) {
                std::this_thread::sleep_for(milliseconds(5));
                continue;
            }
            for (std::string_view rest(piece.data(), static_cast<std::size_t>(size)); !rest.empty();) {
                const std::size_t end = std::min(rest.find('\n'), rest.size());
                head.append(rest.substr(0, std::min(end, enough - std::min(enough, head.size()))));
                length += end;
                if (end == rest.size()) break;
                const std::lock_guard lock(mutex_);
                ++seen_.lines;
                if (head.find(key_) != std::string::npos) {
                    seen_.head = head;
                    seen_.length = length;
                }
                head.clear();
                length = 0;
                rest.remove_prefix(end + 1);
            }
        }
    }

    std::string key_, path_;
    Fd pipe_;
    std::mutex mutex_;
    Seen seen_;
    std::atomic<bool> stop_{false};
    std::thread reader_; // last: it uses the others
};

// UDP from 10.0.A.B, A.B and the port counting up, so that each is another flow.
std::vector<std::vector<std::uint8_t>> different_flows(unsigned count) {
    std::vector<std::vector<std::uint8_t>> frames;
    frames.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
        std::vector<std::uint8_t> frame{0x02, 0x77, 0,    0,    0, 0x02, 0x02, 0x77, 0,  0,
                                        0,    0x01, 0x08, 0x00, // Ethernet
                                        0x45, 0,    0,    46,   0, 0,    0x40, 0,    64, 17,
                                        0,    0,    10,   77,   0, 1,    10,   77,   0,  2, // IPv4
                                        0,    0,    0x13, 0x89, 0, 26,   0,    0}; // UDP to port 5001
        frame.resize(60);
        frame[28] = static_cast<std::uint8_t>(i >> 14U);
        frame[34] = static_cast<std::uint8_t>(0x40U | (i >> 8U & 0x3fU));
        frame[35] = static_cast<std::uint8_t>(i);
        frames.push_back(std::move(frame));
    }
    return frames;
}

TEST(LifecycleScale, AFullTableFitsInto64Megabytes) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    const auto reader = LinkReader::open(ends.a);
    ASSERT_TRUE(reader);
    const auto bonds = reader->find_bonds({"bond0"});
    ASSERT_TRUE(bonds) << bonds.error().what;
    constexpr unsigned entries = 65536;
    for (const auto& [form, key] :
         {std::pair<std::string, std::string>{"--plain", " more flows: "}, {"--json", "\"flows_total\":"}}) {
        SCOPED_TRACE(form);
        LineHeads lines(key);
        const Background live(
            {BONDTRACE_PROGRAM, "live", "bond0", "--netns", "bt-a", form, "--interval", "1s"}, lines.path());
        ASSERT_TRUE(await([&] { return lines.seen().lines > 0; }));
        std::printf("%s: %llu KiB without flows\n", form.c_str(),
                    static_cast<unsigned long long>(memory_kib(live.pid(), "VmHWM")));
        const std::vector<std::vector<std::uint8_t>> frames = different_flows(entries);
        const auto sent = send_frames(ends.a, bonds->front().ifindex, frames);
        ASSERT_TRUE(sent) << sent.error().what;
        const auto total = [&, &key = key, json = form == "--json"] {
            const std::string head = lines.seen().head; // text begins with the number, JSON has it behind
            const std::size_t at = json ? head.find(key) + key.size() : 0;
            return at < head.size() ? std::strtoul(head.c_str() + at, nullptr, 10) : 0UL;
        };
        // Some places are the neighbours', who look for each other; text shows ten and counts the others.
        EXPECT_TRUE(await([&] { return total() >= entries - 64; }, seconds(200))) << lines.seen().head;
        const std::uint64_t resident = memory_kib(live.pid(), "VmRSS"),
                            most = memory_kib(live.pid(), "VmHWM");
        std::printf("%s: %llu KiB, at most %llu KiB, a line of %llu bytes\n", form.c_str(),
                    static_cast<unsigned long long>(resident), static_cast<unsigned long long>(most),
                    static_cast<unsigned long long>(lines.seen().length));
        EXPECT_LE(most, 64U * 1024);
    }
}

// Processor time of a fixed amount of work: what an emulated or busy machine makes of a second.
double yardstick() {
    timespec from{}, to{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    volatile std::uint64_t hash = 14695981039346656037U;
    for (unsigned i = 0; i < 20'000'000; ++i)
        hash = (hash ^ i) * 1099511628211U;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return static_cast<double>(to.tv_sec - from.tv_sec) +
           static_cast<double>(to.tv_nsec - from.tv_nsec) / 1e9;
}

TEST(LifecycleScale, ARestingRunCostsNothing) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    const std::string out = fmt::format("/tmp/rest-{}", ::getpid());
    const Background live(
        {BONDTRACE_PROGRAM, "live", "bond0", "--netns", "bt-a", "--plain", "--interval", "1s"}, out);
    // Not what it takes to begin: that is over with the first reading that is written.
    ASSERT_TRUE(await([&] { return !read_file(out).empty(); }, seconds(200)));
    const double before = yardstick();
    const auto began = Clock::now();
    const auto used = cpu_time(live.pid());
    std::this_thread::sleep_for(seconds(30)); // a share is of some time
    const double share =
        static_cast<double>((cpu_time(live.pid()) - used).count()) / 1000 / seconds_since(began);
    // Processors of these years do it in half of that; of an emulated one's time, most is the emulator's.
    constexpr double usual = 0.05;
    const double slowness = std::max(1.0, (before + yardstick()) / 2 / usual);
    std::printf("%.2f %% of a core that is %.1f times as slow as usual\n", share * 100, slowness);
    EXPECT_LT(share, 0.005 * slowness);
    ::unlink(out.c_str());
}

} // namespace
} // namespace bondtrace::test
