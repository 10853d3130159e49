// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/flow/flow_builder.h"
#include "user/flow/sort.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Names names = {[](std::size_t, int slave) -> std::string_view { return slave == 1 ? "s1" : "s0"; },
                     [](std::size_t) -> std::string_view { return "bond0"; }};

// Local ports name the conversations.
Conversation flow(std::uint16_t port, std::vector<SlaveUse> tx, std::vector<SlaveUse> rx) {
    Conversation result = test::conversation(6, "10.0.0.1", port, "10.0.0.2", 80);
    result.tx = std::move(tx);
    result.rx = std::move(rx);
    return result;
}

std::vector<Conversation> sample() {
    using test::use;
    std::vector<Conversation> flows;
    flows.push_back(flow(1, {use(1, 50, 60, 100, 9)}, {use(2, 50, 60, 5000, 1)}));
    flows.push_back(flow(2, {use(2, 10, 60, 3000, 2)}, {use(1, 10, 60, 100, 2)}));
    flows.push_back(flow(3, {use(2, 30, 35, 200, 1), use(1, 40, 60, 300, 1)}, {}));
    flows.push_back(flow(4, {}, {use(1, 20, 60, 5100, 3)}));
    flows[1].key.remote = *parse_ip("10.0.0.1");
    flows[2].key.protocol = 17;
    std::get<Ports>(flows[3].key.detail).remote = 22;
    return flows;
}

std::vector<int> order(std::vector<Conversation> flows, SortKey key,
                       std::optional<std::size_t> top = std::nullopt) {
    sort_conversations(flows, key, names, top);
    std::vector<int> ports;
    for (const Conversation& one : flows)
        ports.push_back(std::get<Ports>(one.key.detail).local);
    return ports;
}

TEST(Sort, OrdersByEachKey) {
    EXPECT_THAT(order(sample(), SortKey::bytes), ElementsAre(1, 4, 2, 3)); // 1 and 4 are equal: by identity
    EXPECT_THAT(order(sample(), SortKey::packets), ElementsAre(1, 2, 4, 3));
    EXPECT_THAT(order(sample(), SortKey::tx), ElementsAre(2, 3, 1, 4));
    EXPECT_THAT(order(sample(), SortKey::rx), ElementsAre(4, 1, 2, 3));
    EXPECT_THAT(order(sample(), SortKey::moves).front(), 3);
    EXPECT_THAT(order(sample(), SortKey::age), ElementsAre(2, 4, 3, 1));
    EXPECT_THAT(order(sample(), SortKey::local), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(order(sample(), SortKey::remote).front(), 2);
    EXPECT_THAT(order(sample(), SortKey::port), ElementsAre(4, 1, 2, 3));
    EXPECT_THAT(order(sample(), SortKey::proto).back(), 3);
    EXPECT_THAT(order(sample(), SortKey::slave), ElementsAre(2, 3, 1, 4)); // s0/s1, s0/none, s1/s0, none
}

TEST(Sort, KeepsTheFirstOnes) {
    EXPECT_THAT(order(sample(), SortKey::bytes, 2), ElementsAre(1, 4));
    EXPECT_THAT(order(sample(), SortKey::bytes, 0), ElementsAre());
    EXPECT_THAT(order(sample(), SortKey::bytes, 99), ElementsAre(1, 4, 2, 3));
}

TEST(Sort, DoesNotDependOnTheInputsOrder) {
    std::mt19937 random(7);
    for (const SortKey key :
         {SortKey::bytes, SortKey::packets, SortKey::tx, SortKey::rx, SortKey::moves, SortKey::age,
          SortKey::local, SortKey::remote, SortKey::port, SortKey::proto, SortKey::slave}) {
        std::vector<Conversation> flows;
        for (std::uint16_t i = 0; i < 200; ++i)
            flows.push_back(flow(i, {test::use(1 + i % 2, i % 3, 10, i % 5)}, {}));
        const auto expected = order(flows, key), top = order(flows, key, 50);
        EXPECT_TRUE(std::equal(top.begin(), top.end(), expected.begin()));
        for (int round = 0; round < 5; ++round) {
            std::shuffle(flows.begin(), flows.end(), random);
            EXPECT_EQ(order(flows, key), expected);
        }
    }
}

TEST(ParseSortKey, KnowsTheKeysAndListsThem) {
    EXPECT_EQ(parse_sort_key("bytes").value(), SortKey::bytes);
    EXPECT_EQ(parse_sort_key("slave").value(), SortKey::slave);
    const auto wrong = parse_sort_key("size");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
    EXPECT_EQ(wrong.error().what, "\"size\" is no sort key");
    EXPECT_THAT(wrong.error().advice,
                HasSubstr("bytes, packets, tx, rx, moves, age, local, remote, port, proto, slave"));
}

} // namespace
} // namespace bondtrace
