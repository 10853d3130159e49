// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/quantity.h"

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

using testing::HasSubstr;

TEST(Quantity, Amounts) {
    constexpr std::uint64_t most = 1ULL << 40;
    for (const auto& [text, value] :
         std::initializer_list<std::pair<const char*, std::uint64_t>>{{"0", 0},
                                                                      {"1500", 1'500},
                                                                      {"64k", 64'000},
                                                                      {"64K", 64'000},
                                                                      {"64Ki", 65'536},
                                                                      {"1.5M", 1'500'000},
                                                                      {"2Gi", 2ULL << 30},
                                                                      {"1T", 1'000'000'000'000}})
        EXPECT_EQ(parse_amount("--bytes", text, most).value_or(~0ULL), value) << text;
    for (const char* text : {"", "k", "-1", "1x", "1kk", "1e3", "nan", "inf", "1 k", "2T", "0x10", "1kiB"}) {
        const auto wrong = parse_amount("--bytes", text, most);
        ASSERT_FALSE(wrong) << text;
        EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
        EXPECT_THAT(wrong.error().what, HasSubstr("--bytes: \"" + std::string(text) + "\""));
    }
}

TEST(Quantity, Rates) {
    for (const auto& [text, value] : std::initializer_list<std::pair<const char*, double>>{{"1000", 1e3},
                                                                                           {"100M", 1e8},
                                                                                           {"9.5G", 9.5e9},
                                                                                           {"64k", 64e3},
                                                                                           {"1Mbit/s", 1e6},
                                                                                           {"10Gbps", 1e10}})
        EXPECT_DOUBLE_EQ(parse_rate("--rate", text).value_or(0), value) << text;
    for (const char* text : {"", "0", "-5M", "1Mi", "11T", "fast", "bit/s"})
        EXPECT_FALSE(parse_rate("--rate", text)) << text;
}

} // namespace
} // namespace bondtrace::traffic
