// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/frame_generator.h"
#include "user/hash/batch.h"
#include "user/hash/policy.h"
#include "user/hash/tuple.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

TEST(Modulus, IsExact) {
    Random random(1);
    std::vector<std::uint32_t> divisors{
        1,     2,     3,     4,          5,          6,          7,          8,         9,
        10,    11,    12,    31,         32,         33,         255,        256,       257,
        65535, 65536, 65537, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
    for (int i = 0; i < 200; ++i)
        divisors.push_back(random.below(1U << 17U) + 1);
    for (const std::uint32_t n : divisors) {
        const Modulus modulus(n);
        EXPECT_EQ(modulus.n(), n);
        for (std::uint64_t edge : {std::uint64_t{0}, std::uint64_t{1} << 31U, std::uint64_t{1} << 32U,
                                   std::uint64_t{n}, std::uint64_t{n} * 2, (std::uint64_t{1} << 32U) / n * n})
            for (std::uint64_t x = edge - 3; x != edge + 4; ++x) {
                const auto word = static_cast<std::uint32_t>(x);
                ASSERT_EQ(modulus(word), word % n) << word << " % " << n;
            }
        for (int i = 0; i < 2000; ++i) {
            const auto word = static_cast<std::uint32_t>(random.next());
            ASSERT_EQ(modulus(word), word % n) << word << " % " << n;
        }
    }
}

// Flows as columns, and as the tuples they were made of.
struct Flows {
    std::vector<FlowTuple> tuples;
    std::vector<std::uint32_t> src, dst, ports, layer2;

    Flows(std::uint64_t seed, std::size_t count, const Era& era) {
        Random random(seed);
        for (std::size_t i = 0; i < count; ++i) {
            IpAddress from;
            IpAddress to;
            MacAddress from_mac{};
            MacAddress to_mac{};
            for (auto* bytes : {from.bytes.data(), to.bytes.data(), from_mac.data(), to_mac.data()})
                for (int byte = 0; byte < 4; ++byte)
                    bytes[byte] = random.byte();
            from_mac[5] = random.byte();
            to_mac[5] = random.byte();
            FlowTuple tuple = make_tuple(17, from, static_cast<std::uint16_t>(random.next()), to,
                                         static_cast<std::uint16_t>(random.next()));
            tuple.src_mac = from_mac;
            tuple.dst_mac = to_mac;
            src.push_back(address_word(from));
            dst.push_back(address_word(to));
            ports.push_back(ports_word(tuple.src_port, tuple.dst_port));
            layer2.push_back(layer2_hash(hash_inputs(tuple, HashPolicy::layer2, era)->ethernet, era));
            tuples.push_back(tuple);
        }
    }

    [[nodiscard]] Ipv4Columns columns() const { return {src, dst, ports, layer2}; }
};

TEST(Batch, IsTheSameAsOneByOne) {
    for (const NamedEra& named : eras) {
        for (const std::size_t count : {0U, 1U, 2U, 3U, 7U, 8U, 15U, 16U, 17U, 1000U}) {
            const Flows flows(count + 1, count, named.era);
            std::vector<std::uint16_t> indexes(count);
            for (const std::uint32_t usable : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 13U, 32U, 256U, 1000U}) {
                for (const HashPolicy policy : {HashPolicy::layer34, HashPolicy::layer23}) {
                    const auto batch = policy == HashPolicy::layer34 ? batch_layer34 : batch_layer23;
                    ASSERT_EQ(batch(flows.columns(), named.era, Modulus(usable), indexes), count);
                    for (std::size_t i = 0; i < count; ++i) {
                        const auto inputs = hash_inputs(flows.tuples[i], policy, named.era);
                        ASSERT_EQ(indexes[i], slave_index(hash_of(*inputs, policy, named.era), usable));
                    }
                }
            }
        }
    }
}

TEST(Batch, EndsWithTheShortestColumn) {
    const Flows flows(1, 20, newest_era);
    std::vector<std::uint16_t> indexes(20, 0xffff);
    EXPECT_EQ(batch_layer34(flows.columns(), newest_era, Modulus(2), std::span(indexes).first(5)), 5U);
    EXPECT_EQ(indexes[5], 0xffff);
    Ipv4Columns columns = flows.columns();
    columns.ports = columns.ports.first(9);
    EXPECT_EQ(batch_layer34(columns, newest_era, Modulus(2), indexes), 9U);
    EXPECT_EQ(indexes[9], 0xffff);
    EXPECT_EQ(batch_layer23(columns, newest_era, Modulus(2), indexes), 20U);
}

} // namespace
} // namespace bondtrace::test
