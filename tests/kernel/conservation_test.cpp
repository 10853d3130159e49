// SPDX-License-Identifier: GPL-2.0-or-later
// What the hooks count adds up to the kernel's own counters, in every mode, for a mix of everything.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/window.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace bondtrace::test {
namespace {

Result<void> must_run(const std::vector<std::string>& argv) {
    const Output output = capture(argv);
    if (output.status == 0) return {};
    return fail(ErrorKind::unavailable,
                fmt::format("{} failed ({}): {}{}", argv.front(), output.status, output.out, output.err));
}

Result<void> ping(const std::string& address) {
    return must_run(
        {"ip", "netns", "exec", "bt-a", "ping", "-q", "-c", "5", "-i", "0.05", "-s", "200", address});
}

// TCP and UDP both ways in both families, on the bond and on a VLAN, fragments, ICMP, and ARP.
Result<void> everything(const LabEnds& lab) {
    // A table entry that is gone makes the next packet ask.
    for (const char* end : {"bt-a", "bt-b"})
        if (const auto done = must_run({"ip", "-n", end, "neigh", "flush", "dev", "bond0"}); !done)
            return done;
    // Answered before the rest follows: packets wait for an address in a queue that a burst would overflow
    // (net.ipv6.neigh.*.unres_qlen_bytes).
    for (const char* address : {"10.77.0.2", "fd77::2", "10.78.0.2"})
        if (const auto done = ping(address); !done) return done;
    const std::vector<UdpFlow> udp{{40000, 5001, 50, 100}, {40001, 5001, 20, 1400}, {40002, 5002, 7, 4},
                                   {40003, 5002, 50, 700}, {40004, 5003, 1, 1},     {40005, 5003, 3, 1472}};
    std::vector<UdpFlow> flows = udp;
    flows[4].payload = 4;
    const std::vector<UdpFlow> fragmented{{41000, 5001, 5, 4000}, {41001, 5002, 3, 20000}};
    struct Transfer {
        End from, to;
    };
    for (const Transfer& way : {Transfer{lab.v4_a(), lab.v4_b()}, Transfer{lab.v6_b(), lab.v6_a()},
                                Transfer{lab.vlan_a(), lab.vlan_b()}}) {
        if (const auto done = send_udp(way.from, way.to, flows); !done) return done;
        if (const auto done = send_udp(way.from, way.to, fragmented); !done) return done;
        if (const auto done = transfer_tcp(way.from, way.to, 42000, 5004, 600'000); !done) return done;
        if (const auto done = transfer_tcp(way.to, way.from, 42001, 5005, 100'000); !done) return done;
    }
    return {};
}

class Conservation : public testing::TestWithParam<const char*> {};

TEST_P(Conservation, EveryPacketOfEveryKindIsInItsFlowAndInTheCounters) {
    const Lab lab(fmt::format("direct --mode {} --vlan 100", GetParam()));
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    for (const NetNs& netns : {ends.a, ends.b}) {
        SCOPED_TRACE(netns.name());
        const auto observed = observe(netns, [&] { return everything(ends); });
        ASSERT_TRUE(observed) << observed.error().what;
        expect_conservation(*observed, Unit::skb,
                            Unit::skb); // veth with TSO counts skbs as they are handed over

        // The traffic did contain what it was to contain.
        std::set<unsigned> protocols;
        bool fragments = false, arp = false, vlan = false, v6 = false, segmented = false;
        for (const FlowEntry& entry : observed->flows) {
            protocols.insert(entry.key.protocol);
            fragments |= (entry.key.flags & BT_KEY_FRAGMENT) != 0;
            arp |= entry.key.ethertype == 0x0806;
            vlan |= entry.key.vlan == (BT_VLAN_PRESENT | 100);
            v6 |= entry.key.ethertype == 0x86dd;
            segmented |= entry.value.count.added_packets > 0;
            EXPECT_EQ(entry.key.flags & BT_KEY_UNPARSED, 0);
        }
        EXPECT_TRUE(protocols.contains(6) && protocols.contains(17) && protocols.contains(1) &&
                    protocols.contains(58));
        EXPECT_TRUE(fragments && arp && vlan && v6 && segmented);
    }
}

TEST_P(Conservation, WithoutSegmentationOffloadTheWireIsCounted) {
    const Lab lab(fmt::format("direct --mode {} --vlan 100", GetParam()));
    ASSERT_FALSE(HasFatalFailure());
    // The slaves split what the bond hands over: their counters are then those of the wire.
    for (const char* slave : {"s0", "s1"})
        ASSERT_TRUE(run({"ip", "netns", "exec", "bt-a", "ethtool", "-K", slave, "tso", "off", "gso", "off"}));
    const LabEnds ends = LabEnds::open();
    const auto observed = observe(ends.a, [&] { return everything(ends); });
    ASSERT_TRUE(observed) << observed.error().what;
    expect_conservation(*observed, Unit::wire, Unit::skb);
    std::uint64_t split = 0;
    for (const ObservedSlave& slave : observed->bonds.front().slaves)
        split += slave.totals.tx.added_packets;
    EXPECT_GT(split, 0U) << "nothing was segmented: the test showed nothing";
}

INSTANTIATE_TEST_SUITE_P(Modes, Conservation,
                         testing::Values("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad",
                                         "balance-tlb"),
                         [](const auto& instance) {
                             std::string name;
                             for (const char* c = instance.param; *c != 0; ++c)
                                 if (std::isalnum(static_cast<unsigned char>(*c)) != 0) name += *c;
                             return name;
                         });

TEST(ConservationOfControlFrames, LacpdusAreCountedApart) {
    const Lab lab("direct --mode 802.3ad --lacp-rate fast");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    auto observation = Observation::start(ends.a, {"bond0"}, test_config());
    ASSERT_TRUE(observation) << observation.error().what;
    // With the fast rate each port sends one a second (IEEE 802.1AX, Fast_Periodic_Time).
    ASSERT_TRUE(await([&] {
        const auto now = observation->snapshot();
        if (!now) return false;
        const auto& slaves = now->bonds.front().slaves;
        return std::all_of(slaves.begin(), slaves.end(), [](const ObservedSlave& seen) {
            return seen.totals.rx_control.packets >= 2 && seen.totals.tx_control.packets >= 2;
        });
    }));
    const auto observed = observation->finish();
    ASSERT_TRUE(observed) << observed.error().what;
    for (const ObservedSlave& seen : observed->bonds.front().slaves) {
        EXPECT_GE(seen.totals.rx_control.packets, 2U);
        EXPECT_GE(seen.totals.tx_control.packets, 2U);
        EXPECT_EQ(seen.totals.rx_control.bytes, seen.totals.rx_control.packets * 124);
        EXPECT_EQ(seen.totals.tx_control.bytes, seen.totals.tx_control.packets * 124);
    }
}

TEST(ConservationOfControlFrames, LearningPacketsAreCountedApart) {
    const Lab lab("direct --mode balance-tlb");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    auto observation = Observation::start(ends.a, {"bond0"}, test_config());
    ASSERT_TRUE(observation) << observation.error().what;
    // One a second from each slave, which the lab otherwise puts off for years (Documentation: lp_interval).
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "bond0", "type", "bond", "lp_interval", "1"}));
    // Not for frames of any kind, of which there may be others.
    ASSERT_TRUE(await([&] {
        const auto now = observation->snapshot();
        if (!now) return false;
        const auto& slaves = now->bonds.front().slaves;
        return std::all_of(slaves.begin(), slaves.end(),
                           [](const ObservedSlave& seen) { return seen.totals.tx_control.packets >= 1; });
    }));
    ASSERT_TRUE(
        run({"ip", "-n", "bt-a", "link", "set", "bond0", "type", "bond", "lp_interval", "100000000"}));
    const auto observed = observation->finish();
    ASSERT_TRUE(observed) << observed.error().what;
    expect_conservation(*observed, Unit::skb, Unit::skb);
    for (const ObservedSlave& seen : observed->bonds.front().slaves)
        EXPECT_GE(seen.totals.tx_control.packets, 1U) << seen.slave.name;
}

} // namespace
} // namespace bondtrace::test
