// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/data_header.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

TEST(DataHello, IsWrittenAsDocumented) {
    DataHello hello;
    std::fill(hello.token.begin(), hello.token.end(), std::uint8_t{0xab});
    hello.flow = 0x01020304;
    const auto bytes = encode(hello);
    ASSERT_EQ(bytes.size(), 28U);
    EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + 8), "btdata1\n");
    EXPECT_TRUE(std::all_of(bytes.begin() + 8, bytes.begin() + 24, [](std::uint8_t b) { return b == 0xab; }));
    EXPECT_THAT(std::vector(bytes.begin() + 24, bytes.end()), testing::ElementsAre(1, 2, 3, 4));
    const auto back = decode_data_hello(bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->token, hello.token);
    EXPECT_EQ(back->flow, hello.flow);
}

TEST(DataHello, RefusesEverythingElse) {
    auto bytes = encode(DataHello{});
    EXPECT_FALSE(decode_data_hello(std::span(bytes).first(27)));
    EXPECT_FALSE(decode_data_hello({}));
    bytes[6] = '2'; // another version
    EXPECT_FALSE(decode_data_hello(bytes));
}

TEST(DatagramHeader, IsWrittenAsDocumented) {
    std::array<std::uint8_t, datagram_header_size> bytes{};
    encode(DatagramHeader{DatagramKind::data, 5, 0x1122334455667788, 0x0102030405060708, 9}, bytes);
    EXPECT_THAT(bytes, testing::ElementsAre('b', 'd', 1, 3, 0, 0, 0, 5, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
                                            0x77, 0x88, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 9));
    const auto back = decode_datagram(bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->kind, DatagramKind::data);
    EXPECT_EQ(back->flow, 5U);
    EXPECT_EQ(back->tag, 0x1122334455667788U);
    EXPECT_EQ(back->sequence, 0x0102030405060708U);
    EXPECT_EQ(back->sent_ns, 9U);
}

TEST(DatagramHeader, RefusesEverythingElse) {
    std::array<std::uint8_t, datagram_header_size> good{};
    encode(DatagramHeader{}, good);
    ASSERT_TRUE(decode_datagram(good));
    EXPECT_FALSE(decode_datagram(std::span(good).first(31)));
    for (const auto& [at, value] : std::initializer_list<std::pair<std::size_t, std::uint8_t>>{
             {0, 'x'}, {1, 'x'}, {2, 2}, {3, 0}, {3, 4}, {3, 255}}) {
        auto bad = good;
        bad[at] = value;
        EXPECT_FALSE(decode_datagram(bad)) << at;
    }
}

TEST(DatagramHeader, TheTagIsHalfTheToken) {
    Token token{};
    for (std::uint8_t i = 0; i < 16; ++i)
        token[i] = i;
    EXPECT_EQ(datagram_tag(token), 0x0001020304050607U);
}

} // namespace
} // namespace bondtrace::traffic
