// SPDX-License-Identifier: GPL-2.0-or-later
// As many bonds and slaves as one machine may have.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/pair.h"
#include "tests/kernel/support/program.h"
#include "tests/kernel/support/window.h"

#include <array>
#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
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

} // namespace
} // namespace bondtrace::test
