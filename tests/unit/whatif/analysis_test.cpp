// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/whatif/analysis.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Units whose hash is `hash` under layer3+4 and 0 under every other policy.
WhatifUnits units(const std::vector<std::pair<std::uint32_t, std::uint64_t>>& hashes_and_bytes) {
    WhatifUnits result;
    for (const auto& [hash, bytes] : hashes_and_bytes) {
        Unit unit;
        unit.known = 0x3f;
        unit.hash[policy_index(HashPolicy::layer34)] = hash;
        unit.bytes = bytes;
        unit.packets = 1;
        result.units.push_back(unit);
        ConversationKey key;
        key.ip = true;
        key.ethertype = 0x0800;
        key.protocol = 6;
        key.local = *parse_ip("10.0.0.1");
        key.remote = *parse_ip("10.0.0.2");
        key.detail = Ports{1, static_cast<std::uint16_t>(hash)};
        result.keys.push_back(key);
    }
    return result;
}

const WhatifRow& row(const std::vector<WhatifRow>& rows, HashPolicy policy, unsigned slaves) {
    return *std::find_if(rows.begin(), rows.end(),
                         [&](const WhatifRow& one) { return one.policy == policy && one.slaves == slaves; });
}

TEST(Analysis, SharesAreByHashModuloSlaves) {
    const auto rows = analyse(units({{0, 100}, {1, 200}, {2, 300}, {3, 400}}), {2, 3}, {});
    const WhatifRow& two = row(rows, HashPolicy::layer34, 2);
    EXPECT_EQ(two.loads[0].bytes, 400U);
    EXPECT_EQ(two.loads[1].bytes, 600U);
    EXPECT_EQ(two.loads[0].flows, 2U);
    EXPECT_DOUBLE_EQ(two.largest_byte_share, 0.6);
    EXPECT_DOUBLE_EQ(two.largest_flow_share, 0.5);
    EXPECT_NEAR(two.bandwidth, 1 / 0.6, 1e-12);
    EXPECT_EQ(two.hashes, 4U);
    const WhatifRow& three = row(rows, HashPolicy::layer34, 3);
    EXPECT_EQ(three.loads[0].bytes, 500U); // hashes 0 and 3
    const WhatifRow& all_on_one = row(rows, HashPolicy::layer2, 2);
    EXPECT_DOUBLE_EQ(all_on_one.largest_byte_share, 1);
    EXPECT_DOUBLE_EQ(all_on_one.bandwidth, 1);
    EXPECT_EQ(all_on_one.hashes, 1U);
}

TEST(Analysis, BestFirstInEachGroupAndMarksTheCurrent) {
    const auto rows = analyse(units({{0, 100}, {1, 100}}), {2, 1, 3}, {HashPolicy::layer2, 2});
    ASSERT_EQ(rows.size(), 18U);
    EXPECT_EQ(rows[0].policy, HashPolicy::layer34);
    EXPECT_EQ(rows[0].slaves, 2U);
    EXPECT_EQ(rows[6].slaves, 1U);
    EXPECT_EQ(rows[12].slaves, 3U);
    EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](const WhatifRow& one) { return one.current; }), 1);
    EXPECT_TRUE(row(rows, HashPolicy::layer2, 2).current);
    EXPECT_THAT(neighbouring_counts(2), ElementsAre(2U, 1U, 3U));
    EXPECT_THAT(neighbouring_counts(1), ElementsAre(1U, 2U));
    EXPECT_TRUE(analyse(units({}), {0}, {}).empty());
}

TEST(Analysis, WhatIsUnknownNeverMakesAPolicyBest) {
    WhatifUnits source = units({{0, 100}, {1, 100}, {1, 300}});
    source.units[2].known = static_cast<std::uint8_t>(0x3fU & ~(1U << policy_index(HashPolicy::layer34)));
    const auto rows = analyse(source, {2}, {});
    const WhatifRow& ports = row(rows, HashPolicy::layer34, 2);
    EXPECT_EQ(ports.unknown.flows, 1U);
    EXPECT_EQ(ports.unknown.bytes, 300U);
    EXPECT_DOUBLE_EQ(ports.largest_byte_share, 0.5);
    // 400 of 500 bytes might be on one slave, still better than the others' 500 of 500.
    EXPECT_EQ(rows[0].policy, HashPolicy::layer34);
    source.units[0].known = source.units[1].known = source.units[2].known;
    const auto unknown = analyse(source, {2}, {});
    EXPECT_EQ(row(unknown, HashPolicy::layer34, 2).hashes, 0U);
    EXPECT_DOUBLE_EQ(row(unknown, HashPolicy::layer34, 2).bandwidth, 0);
}

// 64 flows of equal size over two slaves: the binomial's quantiles are 24 and 40 (P(X <= 23) = 0.0164, P(X <=
// 24) = 0.0300 for k = 64, p = 1/2).
TEST(Analysis, SaysWhatChanceWouldDo) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> flows;
    for (std::uint32_t i = 0; i < 64; ++i)
        flows.emplace_back(i, 10);
    const auto rows = analyse(units(flows), {2}, {});
    const WhatifRow& ports = row(rows, HashPolicy::layer34, 2);
    EXPECT_DOUBLE_EQ(ports.expected_flows.low, 24.0 / 64);
    EXPECT_DOUBLE_EQ(ports.expected_flows.high, 40.0 / 64);
}

TEST(Notes, NameWhatNoPolicySplits) {
    const auto notes_of = [](const WhatifUnits& source) {
        return whatif_notes(source, analyse(source, {2}, {}));
    };
    EXPECT_TRUE(notes_of(units({})).empty());
    const auto elephant = notes_of(units({{1, 900}, {2, 100}}));
    EXPECT_THAT(elephant[0], HasSubstr("one flow is 90 % of the bytes"));
    EXPECT_THAT(elephant[0], HasSubstr("1.11 times"));
    EXPECT_THAT(notes_of(units({{1, 100}, {2, 100}})), Not(Contains(HasSubstr("one flow is"))));

    WhatifUnits mixed = units({{1, 100}, {2, 100}, {3, 100}, {4, 100}});
    mixed.keys[0].protocol = 17;
    mixed.keys[0].detail = Ports{60000, 4789};
    mixed.keys[1].fragment = true;
    mixed.keys[2].ip = false;
    mixed.keys[2].local = mixed.keys[2].remote = MacAddress{};
    const auto notes = notes_of(mixed);
    EXPECT_THAT(notes, Contains(HasSubstr("of the bytes 25 % in VXLAN (1 flow apart)")));
    EXPECT_THAT(notes, Contains(HasSubstr("25 % of the bytes are IP fragments")));
    EXPECT_THAT(notes, Contains(HasSubstr("25 % of the bytes are not IP")));
    EXPECT_THAT(notes, Contains(HasSubstr("do not keep 802.3ad's promise of order")));
    EXPECT_THAT(notes, Contains(HasSubstr("encap3+4 is shown as packets' headers give it")));
    mixed.units[3].socket_hash = true;
    EXPECT_THAT(notes_of(mixed),
                Contains(HasSubstr("25 % of the bytes are of TCP and connected UDP sockets")));
}

} // namespace
} // namespace bondtrace
