// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/text.h"

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

TEST(DisplayWidth, CountsColumns) {
    EXPECT_EQ(display_width(""), 0U);
    EXPECT_EQ(display_width("bond0"), 5U);
    EXPECT_EQ(display_width("→ s0"), 4U);
    EXPECT_EQ(display_width("größe"), 5U);
    EXPECT_EQ(display_width("e\xcc\x81"), 1U); // e and a combining acute
    EXPECT_EQ(display_width("網路"), 4U);
    EXPECT_EQ(display_width("\xf0\x9f\x98\x80"), 2U); // an emoji
    EXPECT_EQ(display_width("a\xff z"), 4U);          // a malformed byte is shown as one character
}

TEST(FirstCodePoint, RejectsWhatIsNotUtf8) {
    const auto malformed = [](std::string_view text) {
        const CodePoint point = first_code_point(text);
        return point.value == 0xfffd && point.length == 1;
    };
    EXPECT_TRUE(malformed("\x80"));
    EXPECT_TRUE(malformed("\xc0\xaf"));         // overlong '/'
    EXPECT_TRUE(malformed("\xe0\x80\xaf"));     // overlong
    EXPECT_TRUE(malformed("\xed\xa0\x80"));     // a surrogate
    EXPECT_TRUE(malformed("\xf4\x90\x80\x80")); // beyond U+10FFFF
    EXPECT_TRUE(malformed("\xe2\x86"));         // cut
    EXPECT_FALSE(malformed("\xe2\x86\x92"));
}

TEST(Sanitize, TakesAwayWhatATerminalObeys) {
    EXPECT_EQ(sanitize("eth0"), "eth0");
    EXPECT_EQ(sanitize("a\x1b[2Jb"), "a?[2Jb");
    EXPECT_EQ(sanitize(std::string_view("a\0b\x7f\n", 5)), "a?b??");
    EXPECT_EQ(sanitize("\xc2\x9b"), "?");     // CSI as one C1 character
    EXPECT_EQ(sanitize("\xe2\x80\xae"), "?"); // right-to-left override
    EXPECT_EQ(sanitize("bond\xff"), "bond?");
    EXPECT_EQ(sanitize("grün"), "grün");
    EXPECT_EQ(sanitize_ascii("grün"), "gr?n");
}

TEST(ValidUtf8, ReplacesMalformedBytesOnly) {
    EXPECT_EQ(valid_utf8("a\x1b\xff→"), "a\x1b\xef\xbf\xbd→");
}

TEST(Shorten, KeepsTheWidth) {
    EXPECT_EQ(shorten_end("enp65s0f0np0", 12, "…"), "enp65s0f0np0");
    EXPECT_EQ(shorten_end("enp65s0f0np0", 8, "…"), "enp65s0…");
    EXPECT_EQ(shorten_middle("enp65s0f0np0", 8, "…"), "enp6…np0");
    EXPECT_EQ(shorten_middle("enp65s0f0np0", 8, ".."), "enp..np0");
    EXPECT_EQ(shorten_middle("網路介面", 5, "…"), "網…面");
    EXPECT_EQ(shorten_end("abc", 1, ".."), ".");
    EXPECT_EQ(shorten_end("abc", 0, ".."), "");
}

} // namespace
} // namespace bondtrace
