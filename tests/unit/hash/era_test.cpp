// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/era.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

TEST(Era, ReleasesFallBetweenTheChanges) {
    EXPECT_EQ(parse_era("3.10")->low_bit, LowBit::kept);
    EXPECT_EQ(parse_era("4.14")->low_bit, LowBit::kept);
    EXPECT_EQ(parse_era("4.15")->low_bit, LowBit::dropped);
    EXPECT_FALSE(parse_era("5.4.302")->icmp);
    EXPECT_TRUE(parse_era("5.5")->icmp);
    EXPECT_TRUE(parse_era("5.10.223")->ethertype_raw);
    EXPECT_EQ(parse_era("5.10-28-amd64")->dissector, Dissector::classic);
    EXPECT_FALSE(parse_era("5.15")->ethertype_raw);
    EXPECT_EQ(parse_era("5.17")->low_bit, LowBit::dropped);
    EXPECT_EQ(parse_era("5.18")->low_bit, LowBit::dropped_by_ports);
    EXPECT_EQ(parse_era("6.1.0-57-amd64")->dissector, Dissector::v5_15);
    EXPECT_EQ(*parse_era("6.12"), newest_era);
    EXPECT_EQ(*parse_era("10.0"), newest_era);
}

TEST(Era, TraitsChangeARelease) {
    const auto era = parse_era("5.15,low-bit=dropped-by-ports"); // 5.15.y from about .38 on
    ASSERT_TRUE(era);
    EXPECT_EQ(*era, *parse_era("5.18"));
    EXPECT_EQ(*parse_era("ethertype=raw,low-bit=dropped,icmp=on,dissector=5.10"), *parse_era("5.10"));
}

TEST(Era, TextRoundTrip) {
    for (const NamedEra& named : eras) {
        EXPECT_EQ(to_text(named.era), named.name);
        EXPECT_EQ(*parse_era(named.name), named.era);
    }
    for (const bool raw : {false, true})
        for (const bool icmp : {false, true})
            for (const LowBit low_bit : {LowBit::kept, LowBit::dropped, LowBit::dropped_by_ports})
                for (const Dissector dissector : {Dissector::classic, Dissector::v5_15, Dissector::v6_5}) {
                    const Era era{raw, low_bit, icmp, dissector};
                    EXPECT_EQ(*parse_era(to_text(era)), era) << to_text(era);
                }
}

TEST(Era, RejectsOtherText) {
    for (const char* text :
         {"", "5", "5.", ".15", "5.15x", "new", "5.15,", "5.15,5.18", "low-bit", "low-bit=", "low-bit=no",
          "icmp=ON", "99999999.1", "5.70000", "ethertype=raw "}) {
        const auto era = parse_era(text);
        ASSERT_FALSE(era) << text;
        EXPECT_EQ(era.error().kind, ErrorKind::usage);
    }
}

} // namespace
} // namespace bondtrace
