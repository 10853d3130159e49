// SPDX-License-Identifier: GPL-2.0-or-later
// Bonds that are made and removed while others are watched, or waited for.
#include "tests/kernel/support/pair.h"
#include "tests/kernel/support/program.h"
#include "tests/kernel/support/window.h"

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string program = BONDTRACE_PROGRAM;

// What the program does between two packets, as long as there are events.
Result<void> follow(Observation& observation) {
    pollfd events{observation.fd(), POLLIN, 0};
    while (poll(&events, 1, 0) > 0)
        if (const auto followed = observation.follow(); !followed) return followed;
    return {};
}

const ObservedBond* bond_of(const Observed& observed, const std::string& name) {
    const auto found = std::find_if(observed.bonds.begin(), observed.bonds.end(),
                                    [&](const ObservedBond& bond) { return bond.bond.name == name; });
    return found == observed.bonds.end() ? nullptr : &*found;
}

std::uint64_t udp_sent(const Observed& observed, const std::string& bond) {
    std::uint64_t packets = 0;
    for (const FlowEntry& entry : observed.flows)
        if (observed.bonds[entry.bond].bond.name == bond && entry.key.protocol == 17 &&
            (entry.key.flags & BT_KEY_RX) == 0)
            packets += entry.value.count.packets;
    return packets;
}

const std::string balance_xor = "mode balance-xor miimon 100 xmit_hash_policy layer3+4";

TEST(Bonds, OneMadeMeanwhileIsCountedAndOneRemovedIsNamed) {
    const Pair pair(4);
    make_bond(pair.host, balance_xor, {"a0", "a1"});
    make_bond(pair.peer, balance_xor, {"b0", "b1"});
    pair.address();
    ASSERT_TRUE(await([&] { return all_up(read_bond(pair.host)) && all_up(read_bond(pair.peer)); }));
    auto started = Observation::start(pair.host.open(), {}, test_config());
    ASSERT_TRUE(started) << started.error().what;
    Observation& observation = *started;

    make_bond(pair.peer, balance_xor, {"b2", "b3"}, "bond1");
    make_bond(pair.host, balance_xor, {"a2", "a3"}, "bond1");
    pair.address("bond1", "bond1", "203.0.113.");
    ASSERT_TRUE(await(
        [&] { return all_up(read_bond(pair.host, "bond1")) && all_up(read_bond(pair.peer, "bond1")); }));
    auto done = follow(observation);
    ASSERT_TRUE(done) << done.error().what;
    for (const std::string net : {"192.0.2.", "203.0.113."}) {
        done = send_udp(pair.host_end(net), pair.peer_end(net), udp_flows(40000, 16));
        ASSERT_TRUE(done) << done.error().what;
    }
    const auto both = observation.snapshot();
    ASSERT_TRUE(both) << both.error().what;
    ASSERT_EQ(both->bonds.size(), 2U);
    EXPECT_EQ(udp_sent(*both, "bond0"), 16U * 20);
    EXPECT_EQ(udp_sent(*both, "bond1"), 16U * 20);
    EXPECT_FALSE(bond_of(*both, "bond0")->gone);

    ASSERT_TRUE(pair.host.ip("link del bond0"));
    done = send_udp(pair.host_end("203.0.113."), pair.peer_end("203.0.113."), udp_flows(41000, 16));
    ASSERT_TRUE(done) << done.error().what;
    const auto observed = observation.finish();
    ASSERT_TRUE(observed) << observed.error().what;
    ASSERT_EQ(observed->bonds.size(), 2U);
    const ObservedBond* const removed = bond_of(*observed, "bond0");
    ASSERT_NE(removed, nullptr);
    EXPECT_TRUE(removed->gone);
    EXPECT_TRUE(removed->bond.slaves.empty());
    for (const ObservedSlave& slave : removed->slaves)
        EXPECT_TRUE(slave.gone) << slave.slave.name;
    EXPECT_EQ(udp_sent(*observed, "bond0"), 16U * 20) << "what it carried stays";
    EXPECT_EQ(udp_sent(*observed, "bond1"), 2U * 16 * 20);
    EXPECT_TRUE(observed->no_room.empty());
}

TEST(Bonds, WhenThereIsNoRoomForMoreItIsSaid) {
    const Pair pair(2);
    make_bond(pair.host, balance_xor, {"a0", "a1"});
    auto started = Observation::start(pair.host.open(), {}, test_config());
    ASSERT_TRUE(started) << started.error().what;
    for (unsigned i = 1; i <= Observation::spare + 1; ++i)
        ASSERT_TRUE(pair.host.ip("link add bond" + std::to_string(i) + " type bond"));
    const auto observed = started->snapshot();
    ASSERT_TRUE(observed) << observed.error().what;
    EXPECT_EQ(observed->bonds.size(), Observation::spare + 1U);
    EXPECT_THAT(observed->no_room, testing::ElementsAre("bond" + std::to_string(Observation::spare + 1)));
}

// From before the module is loaded to flows on the bond.
TEST(Bonds, AreWaitedFor) {
    if (std::filesystem::exists("/sys/module/bonding")) {
        ASSERT_TRUE(run({"rmmod", "bonding"}));
    }
    const Namespace host("waiting");
    const Output at_once = capture({program, "flows", "--netns", host.name(), "--for", "1s"});
    EXPECT_EQ(at_once.status, 3) << at_once.err;
    const std::string out = "/tmp/bondtrace-wait-out", err = "/tmp/bondtrace-wait-err";
    Background waiting({program, "flows", "bond0", "--wait", "--netns", host.name(), "--for", "1h", "--json"},
                       out, err);
    ASSERT_TRUE(await([&] { return read_file(err).find("waiting for bond0") != std::string::npos; }));
    ASSERT_TRUE(run({"modprobe", "bonding", "max_bonds=0"}));
    ASSERT_TRUE(host.ip("link add a0 type veth peer name b0"));
    make_bond(host, balance_xor, {"a0"});
    ASSERT_TRUE(await([&] {
        return capture({"bpftool", "prog", "show"}).out.find("bt_") != std::string::npos;
    })) << read_file(err);
    EXPECT_EQ(waiting.stop(SIGINT), 3) << read_file(err) << "no traffic was sent";
    const json document = json::parse(read_file(out));
    EXPECT_EQ(document.at("bonds").at(0).at("name"), "bond0");
    EXPECT_EQ(document.at("bonds").at(0).at("removed"), false);

    // A signal ends the waiting itself.
    Background forever({program, "audit", "nothere", "--wait", "--netns", host.name()}, out, err);
    ASSERT_TRUE(await([&] { return read_file(err).find("waiting for nothere") != std::string::npos; }));
    EXPECT_EQ(forever.stop(SIGTERM), 3);
    ::unlink(out.c_str());
    ::unlink(err.c_str());
}

} // namespace
} // namespace bondtrace::test
