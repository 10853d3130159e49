// SPDX-License-Identifier: GPL-2.0-or-later
// Expected indexes are those of the kernel: frames and hashes of facts measured on 6.1, 6.12 and 6.18 (see
// tests/fixtures/hash_vectors.txt), typed in as flows.
#include "tests/unit/flow/flow_builder.h"
#include "user/flow/agreement.h"

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using testing::HasSubstr;

constexpr MacAddress mac_a = {2, 0, 0, 0, 0x0a, 1}, mac_b = {2, 0, 0, 0, 0x0b, 2};
constexpr int s0 = 11, s1 = 12, s2 = 13;

PredictionBond three_slaves() {
    PredictionBond bond;
    bond.usable = {s0, s1, s2};
    bond.slave_name = [](int ifindex) { return "s" + std::to_string(ifindex - s0); };
    return bond;
}

// A use whose slave stands at `index` of `count` usable ones.
SlaveUse noted(int slave, std::uint16_t index, std::uint16_t count, HashPolicy policy,
               BondMode mode = BondMode::balance_xor) {
    SlaveUse use = test::use(slave, 0, 1, 100, 1);
    use.origin.local_mac = mac_a;
    use.origin.remote_mac = mac_b;
    use.origin.outer_ethertype = use.origin.protocol = 0x0800;
    use.origin.bond = BondNote{mode, policy, true, std::nullopt};
    use.origin.usable_index = index;
    use.origin.usable_count = count;
    return use;
}

// Frame T1: tcp 10.0.0.1:40000 -> 10.0.0.2:443.
Conversation t1() {
    return test::conversation(6, "10.0.0.1", 40000, "10.0.0.2", 443);
}

Prediction predict_one(Conversation flow, const PredictionBond& bond = three_slaves(),
                       const Era& era = newest_era) {
    std::vector<Conversation> flows{std::move(flow)};
    predict(flows, std::span(&bond, 1), era);
    return flows[0].prediction.value_or(Prediction{});
}

TEST(Agreement, IsWithTheKernelsIndexOfThatMoment) {
    // T1 under layer3+4: index 0 of two, 2 of three, 2 of four.
    for (const auto& [count, index] : {std::pair{2, 0}, {3, 2}, {4, 2}}) {
        for (int at = 0; at < count; ++at) {
            Conversation flow = t1();
            flow.tx = {noted(s0 + at, static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(count),
                             HashPolicy::layer34)};
            const Prediction prediction = predict_one(flow);
            ASSERT_TRUE(prediction.agrees) << prediction.why;
            EXPECT_EQ(*prediction.agrees, at == index);
            if (at == index) {
                EXPECT_EQ(prediction.slave, "s" + std::to_string(at));
                EXPECT_EQ(prediction.why, "");
            }
        }
    }
}

TEST(Agreement, UsesTheMacAddressesForLayer2) {
    // T1's MAC addresses end in 01 and 02: 0x803, index 1 of two, 2 of three; and 0x0303_0b08 for layer2+3.
    Conversation flow = t1();
    flow.tx = {noted(s2, 2, 3, HashPolicy::layer2)};
    EXPECT_EQ(predict_one(flow).agrees, true);
    flow.tx = {noted(s1, 1, 3, HashPolicy::layer23)};
    EXPECT_EQ(predict_one(flow).agrees, true);
    flow.tx[0].origin.remote_mac[5] = 3;
    EXPECT_EQ(predict_one(flow).agrees, false);
}

TEST(Agreement, FollowsTheEra) {
    // Measured for T1 under layer2+3: 0x01818184 on 5.10, 0x03030b08 on newer kernels; of five slaves 1 and
    // 0.
    Conversation flow = t1();
    flow.tx = {noted(s1, 1, 5, HashPolicy::layer23)};
    EXPECT_EQ(predict_one(flow, three_slaves(), *parse_era("5.10")).agrees, true);
    EXPECT_EQ(predict_one(flow, three_slaves(), newest_era).agrees, false);
}

TEST(Agreement, AllowsForSlavesThatCameAndWent) {
    // One flow on s2 while there were three, then on s0 when s2 was gone: right each time.
    Conversation flow = t1();
    flow.tx = {noted(s2, 2, 3, HashPolicy::layer34), noted(s0, 0, 2, HashPolicy::layer34)};
    flow.tx[1].first_ns = flow.tx[1].last_ns = 5;
    const Prediction moved = predict_one(flow);
    EXPECT_EQ(moved.agrees, true);
    EXPECT_EQ(moved.slave, "s0");
    // Wrong in one of them is wrong.
    flow.tx[0].origin.usable_index = 1;
    EXPECT_EQ(predict_one(flow).agrees, false);
    // The policy may have changed as well: each use has the one of its time.
    flow.tx[0] = noted(s2, 2, 3, HashPolicy::layer2);
    EXPECT_EQ(predict_one(flow).agrees, true);
}

TEST(Agreement, NamesTheSlaveThatTheKernelWouldHaveTaken) {
    PredictionBond bond = three_slaves();
    Conversation wrong = t1(), other = test::conversation(17, "10.0.0.1", 53, "10.0.0.2", 33333);
    wrong.tx = {noted(s0, 0, 3, HashPolicy::layer34)};
    const Prediction by_end = predict_one(wrong, bond);
    EXPECT_EQ(by_end.agrees, false);
    EXPECT_EQ(by_end.slave, "s2");
    EXPECT_THAT(by_end.why, HasSubstr("layer3+4 gives index 2 of 3, which is s2, and s0 had index 0"));
    // Packets have shown another order than the state at the end: they are the kernel's word.
    other.tx = {noted(s1, 2, 3, HashPolicy::layer34)};
    std::vector<Conversation> flows{wrong, other};
    predict(flows, std::span(&bond, 1), newest_era);
    EXPECT_EQ(flows[0].prediction->slave, "s1");
    // Nothing to go by: an index without a name.
    bond.usable = {s0};
    const Prediction nameless = predict_one(wrong, bond);
    EXPECT_EQ(nameless.agrees, false);
    EXPECT_EQ(nameless.slave, std::nullopt);
    EXPECT_THAT(nameless.why, HasSubstr("index 2 of 3, and s0"));
}

TEST(Agreement, ChecksASocketsHashButPredictsNothingFromTheTuple) {
    Conversation flow = t1();
    flow.tx = {noted(s1, 1, 3, HashPolicy::encap34)};
    flow.tx[0].origin.l4_hash = true;
    flow.tx[0].origin.skb_hash = 0xdeadbeef; // 3735928559 = 3 * 1245309519 + 2
    EXPECT_EQ(predict_one(flow).agrees, false);
    flow.tx[0].origin.usable_index = 2;
    const Prediction right = predict_one(flow);
    EXPECT_EQ(right.agrees, true);
    EXPECT_EQ(right.slave, std::nullopt);
    EXPECT_THAT(right.why, HasSubstr("socket"));
    // Without it, as unconnected UDP is sent, encap3+4 is layer3+4 here.
    flow.tx[0].origin.l4_hash = false;
    EXPECT_EQ(predict_one(flow).agrees, true);
    EXPECT_EQ(predict_one(flow).slave, "s1");
}

TEST(Agreement, SaysWhyThereIsNone) {
    const auto why = [](const Conversation& flow) {
        const Prediction prediction = predict_one(flow);
        EXPECT_EQ(prediction.agrees, std::nullopt);
        EXPECT_EQ(prediction.slave, std::nullopt);
        return prediction.why;
    };
    Conversation flow = t1();
    EXPECT_THAT(why(flow), HasSubstr("nothing was sent"));
    flow.tx = {noted(s0, 0, 3, HashPolicy::layer34)};
    Conversation changed = flow;
    changed.tx[0].origin.bond.reset();
    EXPECT_THAT(why(changed), HasSubstr("not noted"));
    changed = flow;
    changed.tx[0].origin.usable_index.reset();
    EXPECT_THAT(why(changed), HasSubstr("usable"));
    changed = flow;
    changed.key.unparsed = true;
    EXPECT_THAT(why(changed), HasSubstr("cut or malformed"));
    changed = flow;
    changed.tx[0].origin.protocol = 0x8100;
    EXPECT_THAT(why(changed), HasSubstr("another protocol"));
    changed = flow;
    changed.tx[0].origin.offloaded = true;
    EXPECT_THAT(why(changed), HasSubstr("TLS"));
    changed = flow;
    changed.tx[0].origin.bond->mode = BondMode::balance_rr;
    EXPECT_THAT(why(changed), HasSubstr("balance-rr"));
    changed = flow;
    changed.tx[0].origin.bond->mode = BondMode::broadcast;
    EXPECT_THAT(why(changed), HasSubstr("every slave"));
    changed = flow;
    changed.tx[0].origin.bond->mode = BondMode::balance_tlb;
    EXPECT_THAT(why(changed), HasSubstr("tlb_dynamic_lb"));
    changed = flow;
    changed.key.protocol = 1;
    changed.key.detail = IcmpMessage{3, 3, {}};
    EXPECT_THAT(why(changed), HasSubstr("ICMP error"));
    // One use that cannot be checked leaves the whole open.
    changed = flow;
    changed.tx = {noted(s2, 2, 3, HashPolicy::layer34), noted(s0, 0, 2, HashPolicy::layer34)};
    changed.tx[1].origin.bond.reset();
    EXPECT_THAT(why(changed), HasSubstr("not noted"));
    PredictionBond dissected = three_slaves();
    dissected.flow_dissector = true;
    changed = flow;
    changed.tx[0].origin.bond->policy = HashPolicy::encap23;
    EXPECT_EQ(predict_one(changed, dissected).agrees, std::nullopt);
}

TEST(Agreement, FragmentsGoByTheirAddresses) {
    // T10, a first fragment of udp 1000 -> 2000 between T1's addresses: which the kernel hashed to
    // 0x01818181: index 1 of three.
    Conversation flow = test::conversation(17, "10.0.0.1", 0, "10.0.0.2", 0);
    flow.key.fragment = true;
    flow.key.detail = std::monostate{};
    flow.tx = {noted(s1, 1, 3, HashPolicy::layer34)};
    EXPECT_EQ(predict_one(flow).agrees, true);
}

TEST(Agreement, ActiveBackupIsHeldAgainstTheActiveSlaveOfThatMoment) {
    Conversation flow = t1();
    flow.tx = {noted(s0, 0, 0, HashPolicy::layer2, BondMode::active_backup)};
    flow.tx[0].origin.usable_index.reset();
    flow.tx[0].origin.usable_count.reset();
    EXPECT_EQ(predict_one(flow).agrees, std::nullopt);
    flow.tx[0].origin.bond->active_slave = true;
    EXPECT_EQ(predict_one(flow).agrees, true);
    EXPECT_EQ(predict_one(flow).slave, "s0");
    flow.tx[0].origin.bond->active_slave = false;
    EXPECT_EQ(predict_one(flow).agrees, false);
    EXPECT_THAT(predict_one(flow).why, HasSubstr("not the active slave"));
    PredictionBond queues = three_slaves();
    queues.queue_override = true;
    EXPECT_EQ(predict_one(flow, queues).agrees, std::nullopt);
}

TEST(Agreement, RewrittenAddressesAreNotHashed) {
    // balance-tlb without dynamic balancing hashes, then gives the frame its slave's address.
    Conversation flow = t1();
    flow.tx = {noted(s2, 2, 3, HashPolicy::layer2, BondMode::balance_tlb)};
    flow.tx[0].origin.bond->tlb_dynamic_lb = false;
    flow.tx[0].origin.bond->active_slave = false;
    EXPECT_EQ(predict_one(flow).agrees, std::nullopt);
    flow.tx[0].origin.bond->active_slave = true;
    EXPECT_EQ(predict_one(flow).agrees, true);
    flow.tx[0].origin.bond->active_slave = false;
    flow.tx[0].origin.bond->policy = HashPolicy::layer34; // which needs no MAC addresses
    EXPECT_EQ(predict_one(flow).agrees, true);
}

TEST(SentTuple, HoldsWhatTheKeyHolds) {
    Conversation esp = test::conversation(50, "10.0.0.1", 0, "10.0.0.2", 0);
    esp.key.detail = Spi{0x11223344};
    const FlowTuple tuple = sent_tuple(esp.key, {});
    EXPECT_EQ(tuple.src_port, 0x1122);
    EXPECT_EQ(tuple.dst_port, 0x3344);
    Conversation ping = test::conversation(1, "10.0.0.1", 0, "10.0.0.2", 0);
    ping.key.detail = IcmpMessage{8, 0, 0x1234};
    EXPECT_EQ(sent_tuple(ping.key, {}).icmp_id, 0x1234);
    EXPECT_EQ(sent_tuple(ping.key, {}).icmp_type, 8);
}

} // namespace
} // namespace bondtrace
