// SPDX-License-Identifier: GPL-2.0-or-later
// Every hash and index that real kernels gave for the frames in tests/fixtures/hash_vectors.txt.
#include "tests/unit/hash/frames.h"

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

const std::map<std::string, HashPolicy> policies{
    {"layer2", HashPolicy::layer2},    {"layer2+3", HashPolicy::layer23},
    {"layer3+4", HashPolicy::layer34}, {"encap2+3", HashPolicy::encap23},
    {"encap3+4", HashPolicy::encap34}, {"vlan+srcmac", HashPolicy::vlan_srcmac},
};

struct Vector {
    std::string line;
    std::string name;
    std::optional<std::uint16_t> tci;
    std::string era;
    std::string policy;
    std::uint32_t hash = 0;
    std::vector<std::uint32_t> indexes; // for 2, 3, 4 slaves; empty when not stated
};

struct Vectors {
    std::map<std::string, Bytes> frames;
    std::vector<Vector> expected;
};

std::vector<std::uint32_t> parse_indexes(std::string text) {
    std::vector<std::uint32_t> out;
    std::stringstream stream(std::move(text));
    for (std::string part; std::getline(stream, part, '/');)
        out.push_back(static_cast<std::uint32_t>(std::stoul(part)));
    return out;
}

Vectors read_vectors() {
    Vectors vectors;
    std::ifstream file(BONDTRACE_SOURCE_DIR "/tests/fixtures/hash_vectors.txt");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind;
        Vector vector;
        if (!(words >> kind >> vector.name) || kind == "#") continue;
        if (kind == "frame") {
            std::string digits;
            words >> digits;
            vectors.frames[vector.name] = hex(digits);
            continue;
        }
        std::string value;
        if (kind == "tagged") {
            words >> value;
            vector.tci = static_cast<std::uint16_t>(std::stoul(value, nullptr, 16));
        }
        words >> vector.era >> vector.policy >> value;
        vector.hash = static_cast<std::uint32_t>(std::stoul(value, nullptr, 16));
        if (words >> value) vector.indexes = parse_indexes(value);
        vector.line = line;
        vectors.expected.push_back(vector);
    }
    return vectors;
}

bool little_endian() {
    return std::endian::native == std::endian::little;
}

TEST(Vectors, FileIsComplete) {
    const Vectors vectors = read_vectors();
    EXPECT_EQ(vectors.frames.size(), 25U);
    std::map<std::string, std::size_t> newest;
    for (const Vector& vector : vectors.expected)
        if (vector.era == "5.18" && !vector.tci && vector.indexes.size() == 3) ++newest[vector.name];
    EXPECT_EQ(newest.size(), 25U);
    for (const auto& [name, count] : newest)
        EXPECT_EQ(count, policies.size()) << name;
}

TEST(Vectors, HashAndIndexAreTheKernels) {
    if (!little_endian()) GTEST_SKIP() << "the expected values are those of little-endian kernels";
    const Vectors vectors = read_vectors();
    for (const Vector& vector : vectors.expected) {
        SCOPED_TRACE(vector.line);
        const Bytes& frame = vectors.frames.at(vector.name);
        const std::uint32_t got = hash(frame, policies.at(vector.policy), era(vector.era), vector.tci);
        EXPECT_EQ(got, vector.hash);
        for (std::uint32_t i = 0; i < vector.indexes.size(); ++i)
            EXPECT_EQ(slave_index(got, i + 2), vector.indexes[i]);
    }
}

// Facts: layer3+4 and encap3+4 of IP packets are the same from 4.15 to today; ICMP from 5.5.
TEST(Vectors, PortPoliciesOfIpAreTheSameInAllEras) {
    if (!little_endian()) GTEST_SKIP() << "the expected values are those of little-endian kernels";
    const Vectors vectors = read_vectors();
    for (const Vector& vector : vectors.expected) {
        const bool by_ports = vector.policy == "layer3+4" || vector.policy == "encap3+4";
        const bool ip = vector.name != "T18" && vector.name != "T24" && vector.name != "T25";
        if (!by_ports || !ip) continue;
        SCOPED_TRACE(vector.line);
        for (const char* name : {"5.10", "5.15", "5.18", "6.12"})
            EXPECT_EQ(hash(vectors.frames.at(vector.name), policies.at(vector.policy), era(name)),
                      vector.hash)
                << name;
    }
}

} // namespace
} // namespace bondtrace::test
