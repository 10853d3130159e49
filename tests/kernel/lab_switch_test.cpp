// SPDX-License-Identifier: GPL-2.0-or-later
// The lab's switch spreads by what its hash is said to be of, and the topologies with a flaw have it.
#include "tests/kernel/support/frames.h"
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/pair.h"
#include "tests/kernel/support/traffic_program.h"
#include "tests/kernel/support/window.h"
#include "user/bond/netlink_reader.h"

#include <array>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::Gt;

using Frame = std::vector<std::uint8_t>;
using Counts = std::vector<std::uint64_t>; // of the slaves, in their order

Bond bond_in(const NetNs& netns) {
    const auto reader = LinkReader::open(netns);
    const auto bonds = reader ? reader->find_bonds({"bond0"}) : tl::make_unexpected(reader.error());
    EXPECT_TRUE(bonds) << bonds.error().what;
    return bonds ? bonds->front() : Bond{};
}

Counts counts(const Bond& bond, std::uint64_t LinkCounters::*counter) {
    Counts all;
    for (const Slave& slave : bond.slaves)
        all.push_back(slave.counters.*counter);
    return all;
}

// What the slaves have counted between two readings.
Counts counted(const Bond& before, const Bond& after, std::uint64_t LinkCounters::*counter) {
    Counts difference = counts(after, counter);
    const Counts begun = counts(before, counter);
    for (std::size_t i = 0; i < difference.size(); ++i)
        difference[i] -= begun.at(i);
    return difference;
}

std::uint64_t sum(const Counts& all) {
    std::uint64_t total = 0;
    for (const std::uint64_t one : all)
        total += one;
    return total;
}

// UDP in frames so large that a few LACPDUs beside them do not matter.
constexpr std::size_t frame_size = 1000;

// What frames differ in: the place of its last byte with each family.
struct Field {
    const char* name;
    std::size_t in_v4, in_v6;
};
constexpr std::array<Field, 6> fields{{{"src-mac", 11, 11},
                                       {"dst-mac", 5, 5},
                                       {"src-ip", 29, 37},
                                       {"dst-ip", 33, 53},
                                       {"src-port", 35, 55},
                                       {"dst-port", 37, 57}}};

// A datagram between addresses that nobody has, so that nothing comes back.
Frame make_datagram(bool v6) {
    Frame frame = {0x02, 0x77, 0, 0, 0x99, 2, 0x02, 0x77, 0, 0, 0x99, 1};
    const auto append = [&](std::initializer_list<int> bytes) {
        for (const int byte : bytes)
            frame.push_back(static_cast<std::uint8_t>(byte));
    };
    constexpr int ip_size = frame_size - 14;
    if (v6) {
        constexpr int payload = ip_size - 40;
        append({0x86, 0xdd, 0x60, 0, 0, 0, payload >> 8, payload & 0xff, 17, 64});
        for (const int host : {1, 2})
            append({0xfd, 0x99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host});
    } else {
        append({0x08, 0, 0x45, 0, ip_size >> 8, ip_size & 0xff, 0, 1, 0x40, 0, 64, 17, 0, 0});
        append({192, 0, 2, 1, 192, 0, 2, 2});
    }
    append({0x9c, 0x40, 0x13, 0x89});
    frame.resize(frame_size);
    return frame;
}

std::vector<Frame> varied(bool v6, const Field& field) {
    std::vector<Frame> frames(16, make_datagram(v6));
    for (std::size_t i = 0; i < frames.size(); ++i)
        frames[i].at(v6 ? field.in_v6 : field.in_v4) = static_cast<std::uint8_t>(0x40 + i);
    return frames;
}

// Sends the frames from one end's bond and returns how many came to each slave of the other's.
Counts arrived(const NetNs& from, const Bond& sender, const NetNs& to, const std::vector<Frame>& frames) {
    const Bond before = bond_in(to);
    const auto sent = send_frames(from, sender.ifindex, frames);
    EXPECT_TRUE(sent) << sent.error().what;
    Counts frames_there;
    EXPECT_TRUE(await([&] {
        frames_there = counted(before, bond_in(to), &LinkCounters::rx_bytes);
        for (std::uint64_t& bytes : frames_there)
            bytes /= frame_size;
        return sum(frames_there) >= frames.size();
    })) << "only "
        << sum(frames_there);
    return frames_there;
}

struct Mode {
    const char* name;
    std::set<std::string> of;
};
const std::vector<Mode> modes{
    {"src-dst-ip", {"src-ip", "dst-ip"}},
    {"src-dst-mac", {"src-mac", "dst-mac"}},
    {"src-port", {"src-port"}},
    {"dst-port", {"dst-port"}},
    {"src-dst-port", {"src-port", "dst-port"}},
    {"src-dst-ip-mac-port", {"src-mac", "dst-mac", "src-ip", "dst-ip", "src-port", "dst-port"}},
    {"src-ip", {"src-ip"}},
    {"dst-ip", {"dst-ip"}},
    {"src-mac", {"src-mac"}},
};

TEST(LabSwitch, SpreadsByTheFieldsOfItsHashAlone) {
    const Lab lab("switch --lacp-rate slow");
    const LabEnds ends = LabEnds::open();
    const Bond a = bond_in(ends.a), b = bond_in(ends.b);
    EXPECT_TRUE(lacp_is_up(a));
    EXPECT_TRUE(lacp_is_up(b));
    for (const Mode& mode : modes) {
        ASSERT_EQ(lab.command(fmt::format("switch-hash {}", mode.name)).status, 0);
        for (const Field& field : fields)
            for (const bool v6 : {false, true}) {
                SCOPED_TRACE(fmt::format("{}: {} varies, {}", mode.name, field.name, v6 ? "IPv6" : "IPv4"));
                const std::vector<Frame> frames = varied(v6, field);
                for (const Counts& members :
                     {arrived(ends.a, a, ends.b, frames), arrived(ends.b, b, ends.a, frames)}) {
                    EXPECT_EQ(sum(members), frames.size());
                    EXPECT_EQ(members[0] != 0 && members[1] != 0, mode.of.contains(field.name))
                        << members[0] << " and " << members[1];
                }
            }
    }
    ASSERT_EQ(lab.command("switch-hash round-robin").status, 0);
    const std::vector<Frame> same(16, make_datagram(false));
    EXPECT_THAT(arrived(ends.a, a, ends.b, same), ElementsAre(8, 8));
    EXPECT_THAT(arrived(ends.b, b, ends.a, same), ElementsAre(8, 8));
    EXPECT_NE(lab.command("status").out.find("--switch-hash round-robin"), std::string::npos);

    // And sockets of both ends reach each other.
    const auto sent = send_udp(ends.v6_a(), ends.v6_b(), udp_flows(40000, 8));
    EXPECT_TRUE(sent) << sent.error().what;
    EXPECT_TRUE(lacp_is_up(bond_in(ends.a)));
    EXPECT_TRUE(lacp_is_up(bond_in(ends.b)));
}

TEST(LabSwitch, TwoSwitchesAreTwoPartners) {
    const Lab lab("two-switches");
    const LabEnds ends = LabEnds::open();
    const auto partners = [](const Bond& bond) {
        std::set<MacAddress> all;
        for (const Slave& slave : bond.slaves)
            if (slave.partner && slave.partner->system_mac) all.insert(*slave.partner->system_mac);
        return all;
    };
    const Bond bond = bond_in(ends.a);
    ASSERT_EQ(bond.slaves.size(), 2U);
    EXPECT_EQ(partners(bond), (std::set<MacAddress>{{2, 0x77, 0, 0, 0, 3}, {2, 0x77, 0, 0, 0, 4}}));
    EXPECT_NE(bond.slaves[0].aggregator_id, bond.slaves[1].aggregator_id);
    EXPECT_EQ(partners(bond_in(ends.b)), (std::set<MacAddress>{{2, 0x77, 0, 0, 0, 3}}));
    const auto there = send_udp(ends.v4_a(), ends.v4_b(), udp_flows(40000, 8));
    EXPECT_TRUE(there) << there.error().what;
    const auto back = send_udp(ends.v4_b(), ends.v4_a(), udp_flows(40000, 8));
    EXPECT_TRUE(back) << back.error().what;
}

TEST(LabSwitch, HalfHasAMemberThatIsDead) {
    const Lab lab("half --slaves 3 --lossy-member 1 --switch-hash src-dst-port");
    const LabEnds ends = LabEnds::open();
    const Bond before = bond_in(ends.a);
    ASSERT_EQ(before.slaves.size(), 3U);
    for (const unsigned slave : {0U, 1U, 2U}) {
        EXPECT_EQ(before.slaves[slave].carrier, slave != 1);
        EXPECT_EQ(before.slaves[slave].mii_status, slave == 1 ? MiiStatus::down : MiiStatus::up);
    }
    EXPECT_TRUE(lacp_is_up(bond_in(ends.b)));
    const auto sent = send_udp(ends.v4_b(), ends.v4_a(), udp_flows(40000, 32, 1, 1));
    EXPECT_TRUE(sent) << sent.error().what;
    const Counts rx = counted(before, bond_in(ends.a), &LinkCounters::rx_packets);
    EXPECT_THAT(rx, ElementsAre(Gt(0U), 0U, Gt(0U)));
}

// What netem has thrown away on the way to bt-b.
std::uint64_t lost_on_the_way() {
    const Output output =
        capture({"nsenter", "--net=/run/netns/bt-cable", "tc", "-s", "-j", "qdisc", "show", "dev", "far"});
    const auto document = json::parse(output.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << output.out << output.err;
    for (const json& qdisc : document)
        if (qdisc.at("kind") == "netem") return qdisc.at("drops");
    ADD_FAILURE() << "no netem: " << output.out;
    return 0;
}

TEST(LabSwitch, ReorderDelaysLosesAndDropsOnOneMember) {
    const Lab lab("reorder --loss 10 --vlan 100 --drop-vlan 100");
    const LabEnds ends = LabEnds::open();
    {
        Kept server("server", server_in("bt-b"));
        ASSERT_TRUE(server.says("listening"));
        // A thousand datagrams a second: of those delayed by 5 ms, each is overtaken.
        const json document =
            run_client("bt-a", "10.77.0.2", "--udp --flows 1 --length 100 --for 2s --rate 800k");
        const json& up = document.at("flows").at(0).at("up");
        const double sent = up.at("sent_packets");
        ASSERT_GT(sent, 1000);
        EXPECT_GT(up.at("reordered").get<double>() / sent, 0.1) << up;
        EXPECT_LT(up.at("reordered").get<double>() / sent, 0.6) << up;
        EXPECT_NEAR(up.at("lost").get<double>() / sent, 0.05, 0.03) << up;
    }
    Bond a = bond_in(ends.a), b = bond_in(ends.b);
    const std::uint64_t lost_before = lost_on_the_way();
    auto sent = send_udp_unheard(ends.v4_a(), "10.77.0.2", udp_flows(40000, 1, 1, 1000));
    ASSERT_TRUE(sent) << sent.error().what;
    Counts tx = counted(a, bond_in(ends.a), &LinkCounters::tx_packets), rx;
    std::uint64_t lost = 0;
    EXPECT_EQ(sum(tx), 1000U);
    EXPECT_THAT(tx, Each(Gt(400U)));
    EXPECT_TRUE(await([&] {
        lost = lost_on_the_way() - lost_before;
        rx = counted(b, bond_in(ends.b), &LinkCounters::rx_packets);
        return sum(rx) + lost == 1000;
    })) << sum(rx)
        << " arrived, " << lost << " were lost";
    EXPECT_EQ(rx[0], tx[0]);
    EXPECT_EQ(rx[1] + lost, tx[1]);
    EXPECT_NEAR(static_cast<double>(lost) / static_cast<double>(tx[1]), 0.1, 0.07);

    a = bond_in(ends.a), b = bond_in(ends.b);
    sent = send_udp_unheard(ends.vlan_a(), "10.78.0.2", udp_flows(40000, 1, 1, 200));
    ASSERT_TRUE(sent) << sent.error().what;
    tx = counted(a, bond_in(ends.a), &LinkCounters::tx_packets);
    EXPECT_EQ(sum(tx), 200U);
    EXPECT_TRUE(await([&] {
        rx = counted(b, bond_in(ends.b), &LinkCounters::rx_packets);
        return rx[0] == tx[0];
    }));
    EXPECT_EQ(rx[1], 0U);
}

TEST(LabSwitch, AStaticLagSendsToTheBackupToo) {
    const Lab lab("static-lag --switch-hash src-dst-port");
    const LabEnds ends = LabEnds::open();
    const Bond before = bond_in(ends.a);
    EXPECT_EQ(before.mode, BondMode::active_backup);
    EXPECT_EQ(bond_in(ends.b).mode, BondMode::balance_xor);
    const auto sent = send_udp_unheard(ends.v4_b(), "10.77.0.1", udp_flows(40000, 32, 1, 1));
    ASSERT_TRUE(sent) << sent.error().what;
    EXPECT_TRUE(await([&] {
        const Counts rx = counted(before, bond_in(ends.a), &LinkCounters::rx_packets);
        return sum(rx) >= 32 && rx[0] > 0 && rx[1] > 0;
    }));
    // From here everything goes, as the switch takes it from any member.
    const auto there = send_udp(ends.v4_a(), ends.v4_b(), udp_flows(40000, 8));
    EXPECT_TRUE(there) << there.error().what;
}

TEST(LabSwitch, ABridgeSendsToTheActiveSlaveAlone) {
    const Lab lab("bridge");
    const LabEnds ends = LabEnds::open();
    for (const auto& [from, to] : {std::pair(ends.v4_a(), ends.v4_b()), {ends.v4_b(), ends.v4_a()}}) {
        const Bond before = bond_in(to.netns);
        const auto sent = send_udp(from, to, udp_flows(40000, 32, 1, 1));
        EXPECT_TRUE(sent) << sent.error().what;
        EXPECT_THAT(counted(before, bond_in(to.netns), &LinkCounters::rx_packets), ElementsAre(32U, 0U));
    }
}

} // namespace
} // namespace bondtrace::test
