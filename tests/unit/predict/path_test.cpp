// SPDX-License-Identifier: GPL-2.0-or-later
// Expected hashes are the kernel's own, of frames T1, T6 and T10 in tests/fixtures/hash_vectors.txt.
#include "user/predict/path.h"

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using testing::HasSubstr;

constexpr MacAddress mac_a{2, 0, 0, 0, 0x0a, 1}, mac_b{2, 0, 0, 0, 0x0b, 2};

PathBond bond(HashPolicy policy, BondMode mode = BondMode::balance_xor) {
    PathBond path;
    path.name = "bond0";
    path.mode = mode;
    path.policy = policy;
    path.usable = {"a", "b", "c"};
    return path;
}

TypedFlow t1() {
    return *parse_typed_flow("tcp", "10.0.0.1:40000", "10.0.0.2:443");
}

PathFrame with_macs() {
    PathFrame frame;
    frame.src_mac = mac_a;
    frame.dst_mac = mac_b;
    return frame;
}

TEST(Path, GivesTheKernelsHashAndSlave) {
    const auto expect = [](HashPolicy policy, std::uint32_t hash, const char* slave) {
        const PathAnswer answer = predict_path(bond(policy), t1(), with_macs());
        EXPECT_EQ(answer.hash, hash) << to_text(policy);
        EXPECT_EQ(answer.slave, slave) << to_text(policy);
        EXPECT_EQ(answer.why, "");
    };
    expect(HashPolicy::layer2, 0x803, "c");
    expect(HashPolicy::layer23, 0x03030b08, "b");
    expect(HashPolicy::layer34, 0x5c5cfcb2, "c");
    expect(HashPolicy::encap23, 0x03030b08, "b");
    expect(HashPolicy::vlan_srcmac, 0x00020a01, "b");
    PathBond old = bond(HashPolicy::layer23);
    old.era = *parse_era("5.10");
    EXPECT_EQ(predict_path(old, t1(), with_macs()).hash, 0x01818184U);
}

TEST(Path, NeedsMacAddressesOnlyWhereTheyAreHashed) {
    EXPECT_EQ(predict_path(bond(HashPolicy::layer34), t1(), {}).slave, "c");
    const PathAnswer none = predict_path(bond(HashPolicy::layer2), t1(), {});
    EXPECT_FALSE(none.predictable());
    EXPECT_THAT(none.why, HasSubstr("MAC addresses"));
    EXPECT_THAT(none.advice, HasSubstr("--dst-mac"));
    PathFrame unresolved;
    unresolved.problem = "next hop's MAC unknown";
    unresolved.advice = "ping it";
    const PathAnswer resolved = predict_path(bond(HashPolicy::layer23), t1(), unresolved);
    EXPECT_EQ(resolved.why, "next hop's MAC unknown");
    EXPECT_EQ(resolved.advice, "ping it");
    PathFrame source = with_macs();
    source.dst_mac.reset();
    EXPECT_EQ(predict_path(bond(HashPolicy::vlan_srcmac), t1(), source).slave, "b");
    source.tci_known = false;
    EXPECT_THAT(predict_path(bond(HashPolicy::vlan_srcmac), t1(), source).why, HasSubstr("priorities"));
}

TEST(Path, NeedsPortsOnlyWhereTheyAreHashed) {
    const TypedFlow flow = *parse_typed_flow("tcp", "10.0.0.1", "10.0.0.2:443");
    EXPECT_THAT(predict_path(bond(HashPolicy::layer34), flow, {}).why, HasSubstr("source port"));
    EXPECT_EQ(predict_path(bond(HashPolicy::layer23), flow, with_macs()).slave, "b");
    PathFrame fragment;
    fragment.fragment = true;
    EXPECT_EQ(predict_path(bond(HashPolicy::layer34), flow, fragment).hash, 0x01818181U);
    TypedFlow ping = *parse_typed_flow("icmp", "10.0.0.1", "10.0.0.2");
    ping.icmp_type = 8;
    EXPECT_FALSE(predict_path(bond(HashPolicy::layer34), ping, {}).predictable());
    ping.icmp_id = 0x1234;
    EXPECT_EQ(predict_path(bond(HashPolicy::layer34), ping, {}).hash, 0x08929296U);
}

TEST(Path, NeverGuessesASocketsHash) {
    PathFrame frame = with_macs();
    frame.local_source = true;
    const PathAnswer tcp = predict_path(bond(HashPolicy::encap34), t1(), frame);
    EXPECT_FALSE(tcp.predictable());
    EXPECT_THAT(tcp.why, HasSubstr("socket"));
    EXPECT_FALSE(tcp.advice.empty());
    // UDP from here may be connected or not; a forwarded packet may have the NIC's hash or not.
    EXPECT_EQ(carries_socket_hash(t1(), frame), true);
    EXPECT_EQ(carries_socket_hash(*parse_typed_flow("udp", "10.0.0.1:1", "10.0.0.2:2"), frame), std::nullopt);
    frame.local_source = false;
    EXPECT_EQ(carries_socket_hash(t1(), frame), std::nullopt);
    EXPECT_FALSE(predict_path(bond(HashPolicy::encap34), t1(), frame).predictable());
    frame.l4_hash = false;
    EXPECT_EQ(predict_path(bond(HashPolicy::encap34), t1(), frame).hash, 0x5c5cfcb2U);
    PathBond dissected = bond(HashPolicy::encap34);
    dissected.flow_dissector = true;
    EXPECT_FALSE(predict_path(dissected, t1(), frame).predictable());
}

TEST(Path, KnowsTheModesThatDoNotHash) {
    PathBond backup = bond(HashPolicy::layer2, BondMode::active_backup);
    EXPECT_THAT(predict_path(backup, t1(), {}).why, HasSubstr("no active slave"));
    backup.active_slave = "b";
    EXPECT_EQ(predict_path(backup, t1(), {}).slave, "b");
    EXPECT_EQ(predict_path(backup, t1(), {}).index, std::nullopt);
    backup.queue_override = true;
    EXPECT_FALSE(predict_path(backup, t1(), {}).predictable());
    const PathAnswer rr = predict_path(bond(HashPolicy::layer2, BondMode::balance_rr), t1(), {});
    EXPECT_THAT(rr.why, HasSubstr("balance-rr"));
    const PathAnswer all = predict_path(bond(HashPolicy::layer2, BondMode::broadcast), t1(), {});
    EXPECT_TRUE(all.every_slave);
    EXPECT_EQ(all.slave, std::nullopt);
    EXPECT_TRUE(all.predictable());
    EXPECT_THAT(predict_path(bond(HashPolicy::layer34, BondMode::balance_tlb), t1(), with_macs()).why,
                HasSubstr("tlb_dynamic_lb"));
    PathBond tlb = bond(HashPolicy::layer34, BondMode::balance_tlb);
    tlb.tlb_dynamic_lb = false;
    EXPECT_EQ(predict_path(tlb, t1(), with_macs()).slave, "c");
    // Whether it is broadcast is in the MAC address alone.
    EXPECT_FALSE(predict_path(tlb, t1(), {}).predictable());
}

TEST(Path, NeverNamesASlaveWithoutKnowingTheOrder) {
    PathBond unordered = bond(HashPolicy::layer34);
    unordered.order_known = false;
    const PathAnswer answer = predict_path(unordered, t1(), {});
    EXPECT_EQ(answer.slave, std::nullopt);
    EXPECT_EQ(answer.index, 2U);
    EXPECT_THAT(answer.why, HasSubstr("order"));
    PathBond empty = bond(HashPolicy::layer34);
    empty.usable.clear();
    EXPECT_THAT(predict_path(empty, t1(), {}).why, HasSubstr("no usable slave"));
}

TEST(PathBond, IsTheBondInTheKernelsOrder) {
    Bond real;
    real.name = "bond0";
    real.mode = BondMode::lacp;
    real.policy = HashPolicy::layer34;
    real.aggregator = AggregatorInfo{};
    real.aggregator->aggregator_id = 2;
    for (const auto& [name, aggregator, up] :
         {std::tuple{"z", 2, true}, {"a", 1, true}, {"m", 2, false}, {"b", 2, true}}) {
        Slave slave;
        slave.ifindex = static_cast<int>(real.slaves.size()) + 10;
        slave.name = name;
        slave.admin_up = slave.carrier = true;
        slave.mii_status = up ? MiiStatus::up : MiiStatus::down;
        slave.aggregator_id = static_cast<std::uint16_t>(aggregator);
        real.slaves.push_back(slave);
    }
    const PathBond path = path_bond(real, newest_era, false);
    EXPECT_THAT(path.usable, testing::ElementsAre("z", "b"));
    EXPECT_THAT(path.others, testing::ElementsAre("a", "m"));
    EXPECT_FALSE(path.queue_override);
    real.slaves[1].queue_id = 1;
    EXPECT_TRUE(path_bond(real, newest_era, false).queue_override);
}

TEST(InputsText, NamesWhatIsHashed) {
    const PathAnswer answer = predict_path(bond(HashPolicy::layer34), t1(), with_macs());
    EXPECT_EQ(inputs_text(answer, HashPolicy::layer34), "10.0.0.1 port 40000 and 10.0.0.2 port 443");
    EXPECT_EQ(inputs_text(answer, HashPolicy::layer2),
              "MAC 02:00:00:00:0a:01 and 02:00:00:00:0b:02, ethertype 0x0800");
    EXPECT_EQ(inputs_text(answer, HashPolicy::layer23),
              "MAC 02:00:00:00:0a:01 and 02:00:00:00:0b:02, ethertype 0x0800, 10.0.0.1 and 10.0.0.2");
    EXPECT_EQ(inputs_text(answer, HashPolicy::vlan_srcmac), "tag 0x0000, source MAC 02:00:00:00:0a:01");
}

} // namespace
} // namespace bondtrace
