// SPDX-License-Identifier: GPL-2.0-or-later
// What user space adds to flows is what it knew for certain when they began, or nothing.
#include "user/trace/choice_notes.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

ChoiceState state(HashPolicy policy = HashPolicy::layer34) {
    return {.mode = BondMode::balance_xor,
            .policy = policy,
            .tlb_dynamic_lb = {},
            .active_slave = {},
            .usable = {7, 5, 9}};
}

FlowEntry sent(std::uint64_t first_ns, int slave, unsigned flags = BT_HASH_PROTOCOL | BT_HASH_SKB) {
    FlowEntry entry{};
    entry.value.first_ns = first_ns;
    entry.value.hash_flags = static_cast<std::uint16_t>(flags);
    entry.value.usable_index = BT_NO_INDEX;
    entry.slave_ifindex = slave;
    return entry;
}

bool noted(const ChoiceNotes& notes, FlowEntry entry) {
    notes.complete(entry);
    return (entry.value.hash_flags & BT_HASH_NOTED) != 0;
}

TEST(ChoiceNotes, AddWhatTheBondWasWhileItWasQuiet) {
    ChoiceNotes notes;
    notes.begin(100, state());
    notes.quiet_until(200);
    FlowEntry entry = sent(150, 5);
    notes.complete(entry);
    EXPECT_TRUE(entry.value.hash_flags & BT_HASH_NOTED);
    EXPECT_TRUE(entry.value.hash_flags & BT_HASH_USABLE);
    EXPECT_EQ(entry.value.mode, 2);   // BOND_MODE_XOR
    EXPECT_EQ(entry.value.policy, 1); // BOND_XMIT_POLICY_LAYER34
    EXPECT_EQ(entry.value.usable_count, 3);
    EXPECT_EQ(entry.value.usable_index, 1);
    FlowEntry stranger = sent(150, 6);
    notes.complete(stranger);
    EXPECT_EQ(stranger.value.usable_index, BT_NO_INDEX);
}

TEST(ChoiceNotes, SayNothingOfOtherTimes) {
    ChoiceNotes notes;
    EXPECT_FALSE(noted(notes, sent(150, 5)));
    notes.begin(100, state());
    EXPECT_FALSE(noted(notes, sent(150, 5))) << "nobody has asked since";
    notes.quiet_until(200);
    EXPECT_FALSE(noted(notes, sent(99, 5)));
    EXPECT_FALSE(noted(notes, sent(201, 5)));
    notes.disturbed();
    notes.quiet_until(300);
    EXPECT_FALSE(noted(notes, sent(250, 5))) << "it is not known what changed";
    EXPECT_TRUE(noted(notes, sent(150, 5)));
    notes.begin(400, state(HashPolicy::layer23));
    notes.quiet_until(500);
    FlowEntry entry = sent(450, 5);
    notes.complete(entry);
    EXPECT_EQ(entry.value.policy, 2);
}

TEST(ChoiceNotes, AreTakenBackWhenTheStateTurnsOutToBeAnother) {
    ChoiceNotes notes;
    notes.begin(100, state());
    notes.quiet_until(200);
    notes.check(state(HashPolicy::layer2));
    EXPECT_FALSE(noted(notes, sent(150, 5)));
}

TEST(ChoiceNotes, LeaveAloneWhatTheProgramsNotedAndWhatCannotBeKnown) {
    ChoiceNotes notes;
    notes.begin(100, state(HashPolicy::encap34));
    notes.quiet_until(200);
    EXPECT_TRUE(noted(notes, sent(150, 5)));
    EXPECT_FALSE(noted(notes, sent(150, 5, BT_HASH_PROTOCOL))) << "the skb's hash may have taken its place";
    EXPECT_FALSE(noted(notes, sent(150, 5, 0)));
    FlowEntry received = sent(150, 5);
    received.key.flags = BT_KEY_RX;
    EXPECT_FALSE(noted(notes, received));
    FlowEntry by_program = sent(150, 5, BT_HASH_PROTOCOL | BT_HASH_NOTED);
    by_program.value.policy = 4;
    by_program.value.usable_count = 1;
    notes.complete(by_program);
    EXPECT_EQ(by_program.value.usable_count, 1);
}

TEST(ChoiceNotes, TellTheActiveSlave) {
    ChoiceState active_backup = state();
    active_backup.mode = BondMode::active_backup;
    active_backup.active_slave = 5;
    ChoiceNotes notes;
    notes.begin(100, active_backup);
    notes.quiet_until(200);
    FlowEntry active = sent(150, 5), other = sent(150, 7);
    notes.complete(active);
    notes.complete(other);
    EXPECT_TRUE(active.value.hash_flags & BT_HASH_ACTIVE);
    EXPECT_FALSE(other.value.hash_flags & BT_HASH_ACTIVE);
    EXPECT_TRUE(other.value.hash_flags & BT_HASH_HAS_ACTIVE);
}

} // namespace
} // namespace bondtrace
