// SPDX-License-Identifier: GPL-2.0-or-later
// The hash in words. That the hash itself is right is for tests/unit/hash; here, that the right things are
// asked of it.
#include "tests/unit/live/reading_builder.h"
#include "user/hash/choice.h"
#include "user/live/hash_words.h"

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Conversation sent_from(std::uint16_t port) {
    Conversation flow = conversation(6, "10.77.0.1", port, "10.77.0.2", 443);
    flow.tx.push_back(use(s0, 1, 2));
    flow.tx[0].origin.local_mac = {2, 0, 0, 0, 0x0a, 0x01};
    flow.tx[0].origin.remote_mac = {2, 0, 0, 0, 0x0b, 0x02};
    flow.tx[0].origin.outer_ethertype = 0x0800;
    return flow;
}

TEST(HashWords, AnswersForEveryPolicyTheBondsFirst) {
    const Bond bond = ReadingBuilder(0).bond();
    const std::vector<PolicyAnswer> answers = ask_policies(bond, sent_from(40001), newest_era);
    ASSERT_EQ(answers.size(), 6U);
    EXPECT_EQ(answers[0].policy, HashPolicy::layer34);
    EXPECT_EQ(answers[0].usable, 2U);
    EXPECT_EQ(answers[0].index, answers[0].hash % 2);
    EXPECT_EQ(answers[0].slave, answers[0].index == 0 ? "s0" : "s1");
    EXPECT_EQ(answers[0].inputs, "10.77.0.1, 10.77.0.2, ports 40001, 443");
    // layer2: the last bytes of the MAC addresses and the ethertype (bonding.txt): 01 ^ 02 ^ 0800.
    EXPECT_EQ(answers[1].policy, HashPolicy::layer2);
    EXPECT_EQ(answers[1].hash, 0x0803U);
    EXPECT_EQ(answers[1].slave, "s1");
    EXPECT_THAT(answers[1].inputs, HasSubstr("..:01 ..:02, type 0x0800"));
}

TEST(HashWords, CountsUsableSlavesOnly) {
    Bond bond = ReadingBuilder(0).down(s0).bond();
    EXPECT_EQ(ask_policies(bond, sent_from(40001), newest_era)[0].slave, "s1");
    bond.slaves[1].aggregator_id = 2; // none is left
    const PolicyAnswer none = ask_policies(bond, sent_from(40001), newest_era)[0];
    EXPECT_FALSE(none.slave);
    EXPECT_NE(none.reason, "");
}

TEST(HashWords, SaysNothingForModesThatDoNotHash) {
    const Bond bond = ReadingBuilder(0, BondMode::active_backup).bond();
    EXPECT_THAT(ask_policies(bond, sent_from(40001), newest_era), IsEmpty());
    EXPECT_THAT(ports_elsewhere(bond, sent_from(40001), newest_era), IsEmpty());
}

TEST(HashWords, OtherPortsLeadElsewhere) {
    const Bond bond = ReadingBuilder(0).bond();
    const std::vector<OtherPorts> others = ports_elsewhere(bond, sent_from(40001), newest_era);
    ASSERT_EQ(others.size(), 1U) << "one other slave";
    EXPECT_EQ(others[0].slave, "s1");
    ASSERT_EQ(others[0].ports.size(), 3U);
    for (const std::uint16_t port : others[0].ports) {
        EXPECT_GT(port, 40001);
        EXPECT_EQ(ask_policies(bond, sent_from(port), newest_era)[0].slave, "s1") << port;
    }
    Bond by_address = bond;
    by_address.policy = HashPolicy::layer23;
    EXPECT_THAT(ports_elsewhere(by_address, sent_from(40001), newest_era), IsEmpty());
}

TEST(HashWords, IcmpIsHashedByItsId) {
    const Bond bond = ReadingBuilder(0).bond();
    Conversation ping = sent_from(1);
    ping.key.protocol = 1;
    ping.key.detail = IcmpMessage{8, 0, 4711};
    EXPECT_EQ(ask_policies(bond, ping, newest_era)[0].inputs, "10.77.0.1, 10.77.0.2, id 4711");
}

} // namespace
} // namespace bondtrace::test
