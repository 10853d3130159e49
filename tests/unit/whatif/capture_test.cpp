// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/capture_writer.h"
#include "user/whatif/capture.h"

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using test::CaptureFormat;
using test::CaptureWriter;
using testing::HasSubstr;

struct Packet {
    std::vector<std::uint8_t> bytes;
    std::uint32_t length;
    LinkType link;
};

struct Read {
    Result<CaptureCount> count = CaptureCount{};
    std::vector<Packet> packets;
};

Read read(std::vector<std::uint8_t> bytes, const std::function<bool(std::uint64_t)>& progress = {}) {
    Read result;
    std::FILE* const file = fmemopen(bytes.data(), bytes.size(), "rb");
    EXPECT_NE(file, nullptr);
    result.count = read_capture(
        file, "memory",
        [&](const CapturedPacket& packet) {
            result.packets.push_back(
                {{packet.bytes.begin(), packet.bytes.end()}, packet.length, packet.link});
        },
        progress);
    return result;
}

class Formats : public testing::TestWithParam<CaptureFormat> {};

TEST_P(Formats, GivePacketsAndTimes) {
    const std::vector<std::uint8_t> first(60, 1), second(61, 2);
    CaptureWriter writer(test::link_ethernet, GetParam());
    writer.add(first, 0, 1'000'000);
    writer.add(second, 1514, 3'500'000);
    const Read got = read(writer.bytes());
    ASSERT_TRUE(got.count) << got.count.error().what;
    EXPECT_EQ(got.count->packets, 2U);
    EXPECT_NEAR(got.count->seconds, 2.5, 1e-6);
    EXPECT_FALSE(got.count->truncated);
    ASSERT_EQ(got.packets.size(), 2U);
    EXPECT_EQ(got.packets[0].bytes, first);
    EXPECT_EQ(got.packets[0].length, 60U);
    EXPECT_EQ(got.packets[1].bytes, second);
    EXPECT_EQ(got.packets[1].length, 1514U);
    EXPECT_EQ(got.packets[0].link, LinkType::ethernet);
}

TEST_P(Formats, GiveWhatIsThereOfAFileThatEndsEarly) {
    CaptureWriter writer(test::link_ethernet, GetParam());
    writer.add(std::vector<std::uint8_t>(60, 1));
    const std::size_t whole = writer.bytes().size();
    writer.add(std::vector<std::uint8_t>(60, 2));
    for (std::size_t size = whole + 1; size < writer.bytes().size(); ++size) {
        auto cut = writer.bytes();
        cut.resize(size);
        const Read got = read(std::move(cut));
        ASSERT_TRUE(got.count) << size << got.count.error().what;
        EXPECT_EQ(got.count->packets, 1U) << size;
        EXPECT_TRUE(got.count->truncated) << size;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Formats,
                         testing::Values(CaptureFormat::pcap, CaptureFormat::pcap_big_endian,
                                         CaptureFormat::pcapng));

TEST(Capture, KnowsItsLinkTypes) {
    for (const auto& [number, link] : {std::pair{test::link_raw, LinkType::raw_ip},
                                       {test::link_cooked, LinkType::linux_cooked},
                                       {test::link_cooked2, LinkType::linux_cooked2}}) {
        CaptureWriter writer(number);
        writer.add(std::vector<std::uint8_t>(60, 1));
        const Read got = read(writer.bytes());
        ASSERT_EQ(got.packets.size(), 1U);
        EXPECT_EQ(got.packets[0].link, link);
    }
    const Read wifi = read(CaptureWriter(105).bytes()); // LINKTYPE_IEEE802_11
    ASSERT_FALSE(wifi.count);
    EXPECT_EQ(wifi.count.error().kind, ErrorKind::usage);
    EXPECT_THAT(wifi.count.error().what, HasSubstr("802_11"));
}

TEST(Capture, RejectsOtherFiles) {
    for (const char* text :
         {"hello", "\x7f\x45LF and so on, which is long enough to be a header of a capture"}) {
        const std::string other(text);
        const Read got = read({other.begin(), other.end()});
        ASSERT_FALSE(got.count);
        EXPECT_EQ(got.count.error().kind, ErrorKind::usage);
    }
    EXPECT_EQ(open_capture("/nonexistent/file.pcap").error().kind, ErrorKind::usage);
}

TEST(Capture, StopsWhenAsked) {
    CaptureWriter writer(test::link_ethernet);
    for (int i = 0; i < 200'000; ++i)
        writer.add(std::vector<std::uint8_t>(20, 1));
    std::uint64_t last = 0;
    const Read got = read(writer.bytes(), [&](std::uint64_t position) {
        EXPECT_GT(position, last);
        last = position;
        return false;
    });
    ASSERT_TRUE(got.count);
    EXPECT_TRUE(got.count->stopped);
    EXPECT_LT(got.count->packets, 200'000U);
}

TEST(IsFrom, LooksAtTheOutermostSource) {
    // With a VLAN tag; 02:00:00:00:0a:01, 10.0.0.1.
    const std::vector<std::uint8_t> frame{2,  0, 0,   0, 0x0b, 2,    2, 0, 0,  0, 0x0a, 1, 0x81,
                                          0,  0, 100, 8, 0,    0x45, 0, 0, 40, 0, 1,    0, 0,
                                          64, 6, 0,   0, 10,   0,    0, 1, 10, 0, 0,    2};
    const CapturedPacket packet{frame, 60, LinkType::ethernet};
    EXPECT_TRUE(is_from(packet, *parse_mac("02:00:00:00:0a:01")));
    EXPECT_FALSE(is_from(packet, *parse_mac("02:00:00:00:0b:02")));
    EXPECT_TRUE(is_from(packet, *parse_prefix("10.0.0.1")));
    EXPECT_TRUE(is_from(packet, *parse_prefix("10.0.0.0/31")));
    EXPECT_FALSE(is_from(packet, *parse_prefix("10.0.0.2")));
    EXPECT_FALSE(is_from(packet, *parse_prefix("fd00::/8")));
    for (std::size_t size = 0; size < frame.size(); ++size)
        for (const LinkType link :
             {LinkType::ethernet, LinkType::linux_cooked, LinkType::linux_cooked2, LinkType::raw_ip})
            (void)is_from({std::span(frame).first(size), 60, link}, *parse_prefix("10.0.0.1"));
    EXPECT_FALSE(is_from({std::span(frame).first(33), 60, LinkType::ethernet}, *parse_prefix("10.0.0.1")));
}

} // namespace
} // namespace bondtrace
