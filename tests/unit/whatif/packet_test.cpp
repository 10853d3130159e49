// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/frame_generator.h"
#include "user/hash/policy.h"
#include "user/whatif/units.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr const char* fixture = BONDTRACE_SOURCE_DIR "/tests/fixtures/hash_vectors.txt";

Bytes hex(const std::string& digits) {
    Bytes bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    return bytes;
}

Bytes frame_named(const std::string& wanted) {
    std::ifstream file(fixture);
    std::string kind, name, digits;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        if (words >> kind >> name >> digits && kind == "frame" && name == wanted) return hex(digits);
    }
    ADD_FAILURE() << "no frame " << wanted;
    return Bytes(60);
}

Unit unit_of_packet(const Bytes& bytes, LinkType link = LinkType::ethernet, std::uint32_t length = 0) {
    UnitTable table(*parse_era("5.18"), 10);
    table.add({bytes, length == 0 ? static_cast<std::uint32_t>(bytes.size()) : length, link});
    const WhatifUnits units = table.finish();
    return units.units.empty() ? Unit{} : units.units.front();
}

// What real kernels made of each frame, with and without the tag of a VLAN device; in a capture the tag
// stands in the frame.
TEST(Packet, HashesAreTheKernels) {
    std::ifstream file(fixture);
    unsigned compared = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind, name, era, policy, hash, tci;
        words >> kind >> name;
        if (kind == "tagged") words >> tci;
        if ((kind != "hash" && kind != "tagged") || !(words >> era >> policy >> hash) || era != "5.18")
            continue;
        Bytes frame = frame_named(name);
        if (frame[12] == 0x81 && frame[13] == 0) continue; // a tag inside would be taken for a VLAN device's
        if (!tci.empty()) {
            const auto value = static_cast<unsigned>(std::stoul(tci, nullptr, 16));
            const Bytes tag{0x81, 0, static_cast<std::uint8_t>(value >> 8U),
                            static_cast<std::uint8_t>(value)};
            frame.insert(frame.begin() + 12, tag.begin(), tag.end());
        }
        const Unit unit = unit_of_packet(frame);
        const HashPolicy which = *parse_hash_policy(policy);
        ASSERT_TRUE(unit.knows(which)) << line;
        EXPECT_EQ(unit.hash[policy_index(which)], std::stoul(hash, nullptr, 16)) << line;
        ++compared;
    }
    EXPECT_GE(compared, 150U);
}

TEST(Packet, KeepsWhatTheParsersSaw) {
    test::FrameGenerator generator(4711);
    const Era era = newest_era;
    PacketReader reader(era);
    PacketKey key;
    unsigned compared = 0;
    for (int i = 0; i < 200'000; ++i) {
        const Bytes bytes = generator.next();
        if ((bytes[12] == 0x81 && bytes[13] == 0x00) || (bytes[12] == 0x88 && bytes[13] == 0xa8)) continue;
        ASSERT_TRUE(reader.read({bytes, static_cast<std::uint32_t>(bytes.size()), LinkType::ethernet}, key));
        const Frame frame = make_frame(bytes);
        for (const HashPolicy policy : all_policies) {
            const HashInputs direct = hash_inputs(frame, policy, era);
            if (direct.flow.random) continue;
            ASSERT_EQ(hash_of(inputs_of(key, policy), policy, era), hash_of(direct, policy, era))
                << to_text(policy) << ", frame " << i;
        }
        ++compared;
    }
    EXPECT_GT(compared, 150'000U);
}

TEST(Packet, ReadsOtherLinkTypes) {
    const Bytes frame = frame_named("T1");
    const Bytes ip(frame.begin() + 14, frame.end());
    Bytes cooked{0, 4, 0, 1, 0, 6};
    cooked.insert(cooked.end(), frame.begin() + 6, frame.begin() + 12);
    cooked.insert(cooked.end(), {0, 0, 8, 0});
    cooked.insert(cooked.end(), ip.begin(), ip.end());
    Bytes cooked2{8, 0, 0, 0, 0, 0, 0, 7, 0, 1, 4, 6};
    cooked2.insert(cooked2.end(), frame.begin() + 6, frame.begin() + 12);
    cooked2.insert(cooked2.end(), {0, 0});
    cooked2.insert(cooked2.end(), ip.begin(), ip.end());
    for (const auto& [bytes, link, source] : {std::tuple{cooked, LinkType::linux_cooked, true},
                                              {cooked2, LinkType::linux_cooked2, true},
                                              {ip, LinkType::raw_ip, false}}) {
        const Unit unit = unit_of_packet(bytes, link);
        EXPECT_EQ(unit.bytes, frame.size());
        EXPECT_EQ(unit.hash[policy_index(HashPolicy::layer34)], 0x5c5cfcb2U);
        EXPECT_TRUE(unit.knows(HashPolicy::layer34));
        EXPECT_TRUE(unit.knows(HashPolicy::encap34));
        EXPECT_FALSE(unit.knows(HashPolicy::layer2));
        EXPECT_FALSE(unit.knows(HashPolicy::layer23));
        EXPECT_EQ(unit.knows(HashPolicy::vlan_srcmac), source);
        if (source) {
            EXPECT_EQ(unit.hash[policy_index(HashPolicy::vlan_srcmac)], 0x00020a01U);
        }
    }
    // What came in is not what a bond sends.
    cooked[1] = 0;
    cooked2[10] = 0;
    EXPECT_EQ(unit_of_packet(cooked, LinkType::linux_cooked).packets, 0U);
    EXPECT_EQ(unit_of_packet(cooked2, LinkType::linux_cooked2).packets, 0U);
    EXPECT_EQ(unit_of_packet({0x75, 0}, LinkType::raw_ip).packets, 0U);
}

TEST(Packet, KnowsWhatACutCaptureHides) {
    const Bytes t1 = frame_named("T1");
    const auto cut = [&](const Bytes& frame, std::size_t captured) {
        return unit_of_packet(Bytes(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(captured)),
                              LinkType::ethernet, static_cast<std::uint32_t>(frame.size()));
    };
    // Ports end at 38, addresses at 34.
    EXPECT_EQ(cut(t1, 38).hash[policy_index(HashPolicy::layer34)], 0x5c5cfcb2U);
    EXPECT_EQ(cut(t1, 38).known, 0x3f);
    EXPECT_FALSE(cut(t1, 36).knows(HashPolicy::layer34));
    EXPECT_FALSE(cut(t1, 36).knows(HashPolicy::encap34));
    EXPECT_FALSE(cut(t1, 30).knows(HashPolicy::layer23));
    EXPECT_TRUE(cut(t1, 14).knows(HashPolicy::layer2));
    EXPECT_EQ(cut(t1, 14).bytes, t1.size());
    EXPECT_EQ(cut(t1, 13).packets, 0U);
    // An ICMP error about T4 (frame T9) needs the embedded packet's ports; without them nothing is said.
    const Bytes t9 = frame_named("T9");
    EXPECT_TRUE(cut(t9, t9.size()).knows(HashPolicy::layer34));
    EXPECT_FALSE(cut(t9, 60).knows(HashPolicy::layer34));
    // A packet that is as short as that in truth is another matter: the kernel hashes it so.
    EXPECT_TRUE(unit_of_packet(Bytes(t1.begin(), t1.begin() + 36)).knows(HashPolicy::layer34));
}

TEST(Packet, GivesFlowsTheirNames) {
    PacketReader reader(newest_era);
    PacketKey key;
    const auto name = [&](const char* frame) {
        const Bytes bytes = frame_named(frame);
        EXPECT_TRUE(reader.read({bytes, static_cast<std::uint32_t>(bytes.size()), LinkType::ethernet}, key));
        return conversation_key(key);
    };
    const ConversationKey tcp = name("T1");
    EXPECT_EQ(to_text(tcp.local), "10.0.0.1");
    EXPECT_EQ(std::get<Ports>(tcp.detail), (Ports{40000, 443}));
    EXPECT_TRUE(name("T10").fragment);
    EXPECT_EQ(name("T20").protocol, 47);
    EXPECT_EQ(std::get<Spi>(name("T22").detail).value, 0x11223344U);
    EXPECT_EQ(std::get<IcmpMessage>(name("T6").detail).id, 0x1234);
    EXPECT_FALSE(name("T18").ip);
    EXPECT_EQ(to_text(name("T18").remote), "ff:ff:ff:ff:ff:ff");
}

} // namespace
} // namespace bondtrace
