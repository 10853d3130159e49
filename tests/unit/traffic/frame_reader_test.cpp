// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/frame_reader.h"

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

using testing::HasSubstr;

TEST(FrameReader, AFrameIsLengthAndText) {
    const std::string bytes = frame(FinishMessage{});
    EXPECT_EQ(bytes, std::string("\0\0\0\x11", 4) + R"({"type":"finish"})");
}

TEST(FrameReader, TakesMessagesByteByByte) {
    const std::string bytes = frame(StartMessage{3}) + frame(FinishMessage{});
    FrameReader reader;
    std::vector<std::size_t> complete_at;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        reader.feed(bytes.substr(i, 1));
        const auto message = reader.next();
        ASSERT_TRUE(message);
        if (*message) complete_at.push_back(i + 1);
    }
    EXPECT_THAT(complete_at, testing::ElementsAre(frame(StartMessage{3}).size(), bytes.size()));
    EXPECT_EQ(reader.size(), 0U);
}

TEST(FrameReader, TakesSeveralAtOnce) {
    FrameReader reader;
    reader.feed(frame(StartMessage{3}) + frame(StartedMessage{2}) + frame(DoneMessage{}) + "\0");
    EXPECT_EQ(std::get<StartMessage>(**reader.next()).flows, 3U);
    EXPECT_EQ(std::get<StartedMessage>(**reader.next()).flows, 2U);
    EXPECT_TRUE(std::holds_alternative<DoneMessage>(**reader.next()));
    EXPECT_FALSE(*reader.next());
}

TEST(FrameReader, RefusesAHugeLengthBeforeAnythingOfItComes) {
    FrameReader reader;
    reader.feed("\xff\xff\xff\xff");
    const auto message = reader.next();
    ASSERT_FALSE(message);
    EXPECT_THAT(message.error().what, HasSubstr("4294967295 bytes"));
    FrameReader least;
    least.feed(std::string("\x00\x04\x00\x01", 4)); // 256 KiB and one
    EXPECT_FALSE(least.next());
}

TEST(FrameReader, RefusesNonsense) {
    FrameReader reader;
    reader.feed(std::string("\0\0\0\x04", 4) + "null");
    EXPECT_FALSE(reader.next());
    FrameReader empty;
    empty.feed(std::string("\0\0\0\0", 4));
    EXPECT_FALSE(empty.next());
}

} // namespace
} // namespace bondtrace::traffic
