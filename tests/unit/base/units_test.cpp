// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/units.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(FormatBytes, HasThreeSignificantDigits) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(999), "999 B");
    EXPECT_EQ(format_bytes(1000), "1 kB");
    EXPECT_EQ(format_bytes(1500000), "1.5 MB");
    EXPECT_EQ(format_bytes(1234567), "1.23 MB");
    EXPECT_EQ(format_bytes(12345678), "12.3 MB");
    EXPECT_EQ(format_bytes(123456789), "123 MB");
}

TEST(FormatBytes, GoesToTheNextUnitWhenRoundingDoes) {
    EXPECT_EQ(format_bytes(999499), "999 kB");
    EXPECT_EQ(format_bytes(999500), "1 MB");
    EXPECT_EQ(format_bytes(9995000), "10 MB");
    EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
}

TEST(FormatCount, IsExactUpToFiveDigits) {
    EXPECT_EQ(format_count(99999), "99999");
    EXPECT_EQ(format_count(123456), "123 k");
    EXPECT_EQ(format_count(1234567), "1.23 M");
}

TEST(FormatBitRate, UsesBits) {
    EXPECT_EQ(format_bit_rate(941e3), "941 kbit/s");
    EXPECT_EQ(format_bit_rate(25e9), "25 Gbit/s");
    EXPECT_EQ(format_bit_rate(0.4), "0 bit/s");
    EXPECT_EQ(format_bit_rate(std::nan("")), "0 bit/s");
    EXPECT_EQ(format_bit_rate(-5), "0 bit/s");
}

TEST(FormatDuration, PicksTheUnit) {
    EXPECT_EQ(format_duration(0s), "0 s");
    EXPECT_EQ(format_duration(-1s), "0 s");
    EXPECT_EQ(format_duration(850us), "850 us");
    EXPECT_EQ(format_duration(500ms), "500 ms");
    EXPECT_EQ(format_duration(9980ms), "9.98 s");
    EXPECT_EQ(format_duration(10003ms), "10 s");
    EXPECT_EQ(format_duration(59960ms), "1 min");
    EXPECT_EQ(format_duration(125s), "2 min 5 s");
    EXPECT_EQ(format_duration(63min), "1 h 3 min");
    EXPECT_EQ(format_duration(52h), "2 d 4 h");
}

TEST(FormatPercent, NeverHidesAPacket) {
    EXPECT_EQ(format_percent(10, 10), "100 %");
    EXPECT_EQ(format_percent(999999999, 1000000000), "99.99 %");
    EXPECT_EQ(format_percent(1000000001, 1000000000), "100.01 %");
    EXPECT_EQ(format_percent(1, 1000000), "<0.1 %");
    EXPECT_EQ(format_percent(0, 7), "0 %");
    EXPECT_EQ(format_percent(1, 3), "33 %");
    EXPECT_EQ(format_percent(1, 40), "2.5 %");
    EXPECT_EQ(format_percent(5, 2), "250 %");
}

TEST(ParseDuration, Reads) {
    EXPECT_EQ(parse_duration("10s").value(), 10s);
    EXPECT_EQ(parse_duration("500ms").value(), 500ms);
    EXPECT_EQ(parse_duration("250us").value(), 250us);
    EXPECT_EQ(parse_duration("2m").value(), 2min);
    EXPECT_EQ(parse_duration("2min").value(), 2min);
    EXPECT_EQ(parse_duration("1h").value(), 1h);
    EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
    EXPECT_EQ(parse_duration("10 s").value(), 10s);
    EXPECT_EQ(parse_duration("30").value(), 30s);
    EXPECT_EQ(parse_duration("0").value(), 0s);
    EXPECT_EQ(parse_duration("366d").value(), 366 * 24h);
}

TEST(ParseDuration, SaysWhatIsWrong) {
    const auto what = [](std::string_view text) {
        const auto result = parse_duration(text);
        return result ? std::string("accepted") : result.error().what;
    };
    EXPECT_THAT(what(""), HasSubstr("empty"));
    EXPECT_THAT(what("-5s"), HasSubstr("negative"));
    EXPECT_THAT(what("soon"), HasSubstr("begin with a number"));
    EXPECT_THAT(what("10 parsecs"), HasSubstr("unit \"parsecs\""));
    EXPECT_THAT(what("10  s"), HasSubstr("unit"));
    EXPECT_THAT(what("1.2.3s"), HasSubstr("\"1.2.3\" is not a number"));
    EXPECT_THAT(what("."), HasSubstr("not a number"));
    EXPECT_THAT(what("1e3"), HasSubstr("unit \"e3\""));
    EXPECT_THAT(what("367d"), HasSubstr("longer than 366 days"));
    EXPECT_THAT(what("99999999999999999999h"), HasSubstr("longer than 366 days"));
    EXPECT_THAT(what(std::string(400, '9')), HasSubstr("not a number"));
    EXPECT_THAT(what("\x1b[31m"), testing::Not(HasSubstr("\x1b")));
    EXPECT_EQ(parse_duration("x").error().kind, ErrorKind::usage);
}

} // namespace
} // namespace bondtrace
