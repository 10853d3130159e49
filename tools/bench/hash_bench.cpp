// SPDX-License-Identifier: GPL-2.0-or-later
// How many predictions a second: batches of typed IPv4 flows beside a plain copy of the same columns and the
// obvious loop with a division, single tuples, and frames from bytes. Second argument: flows (a cache full,
// and far more).
#include "user/hash/batch.h"
#include "user/hash/choice.h"
#include "user/hash/policy.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

namespace bondtrace {
namespace {

struct Columns {
    std::vector<std::uint32_t> src, dst, ports, layer2;
    std::vector<std::uint16_t> indexes;

    explicit Columns(std::size_t count)
        : src(count), dst(count), ports(count), layer2(count), indexes(count) {
        std::mt19937 random(1);
        for (auto* column : {&src, &dst, &ports, &layer2})
            for (auto& word : *column)
                word = static_cast<std::uint32_t>(random());
    }

    [[nodiscard]] Ipv4Columns view() const { return {src, dst, ports, layer2}; }
};

void count_items(benchmark::State& state, std::size_t items) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(items));
}

// Reads and writes what the batch reads and writes at least: three columns in, one out.
void copy_columns(benchmark::State& state) {
    const Columns columns(static_cast<std::size_t>(state.range(1)));
    std::vector<std::uint32_t> to(columns.src.size());
    for ([[maybe_unused]] auto _ : state) {
        for (const auto* column : {&columns.src, &columns.dst, &columns.ports}) {
            std::memcpy(to.data(), column->data(), column->size() * sizeof(std::uint32_t));
            benchmark::DoNotOptimize(to.data());
            benchmark::ClobberMemory();
        }
    }
    count_items(state, columns.src.size());
}

void divide(benchmark::State& state) {
    Columns columns(static_cast<std::size_t>(state.range(1)));
    const auto usable = static_cast<std::uint32_t>(state.range(0));
    for ([[maybe_unused]] auto _ : state) {
        for (std::size_t i = 0; i < columns.src.size(); ++i)
            columns.indexes[i] = static_cast<std::uint16_t>(
                fold(columns.ports[i], columns.src[i], columns.dst[i], true) % usable);
        benchmark::DoNotOptimize(columns.indexes.data());
        benchmark::ClobberMemory();
    }
    count_items(state, columns.src.size());
}

template<std::size_t (*Batch)(const Ipv4Columns&, const Era&, const Modulus&, std::span<std::uint16_t>)>
void batch(benchmark::State& state) {
    Columns columns(static_cast<std::size_t>(state.range(1)));
    const Modulus usable(static_cast<std::uint32_t>(state.range(0)));
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(Batch(columns.view(), newest_era, usable, columns.indexes));
        benchmark::ClobberMemory();
    }
    count_items(state, columns.src.size());
}

void tuple(benchmark::State& state) {
    FlowTuple flow = make_tuple(6, *parse_ip("10.0.0.1"), 40000, *parse_ip("10.0.0.2"), 443);
    ChoiceContext bond;
    bond.policy = HashPolicy::layer34;
    bond.usable = 3;
    for ([[maybe_unused]] auto _ : state) {
        ++flow.src_port;
        benchmark::DoNotOptimize(choose(bond, flow));
    }
    count_items(state, 1);
}

// The smallest TCP packet, 64 bytes, with a different source port every time.
void frame(benchmark::State& state) {
    std::vector<std::uint8_t> bytes{0x02, 0,    0, 0, 0x0b, 0x02, 0x02, 0, 0,    0,    0x0a, 0x01, 0x08,
                                    0x00, 0x45, 0, 0, 0x28, 0,    1,    0, 0,    0x40, 6,    0,    0,
                                    10,   0,    0, 1, 10,   0,    0,    2, 0x9c, 0x40, 0x01, 0xbb};
    bytes.resize(64);
    ChoiceContext bond;
    bond.policy = static_cast<HashPolicy>(state.range(0));
    bond.usable = 3;
    bond.l4_hash = false;
    for ([[maybe_unused]] auto _ : state) {
        ++bytes[35];
        benchmark::DoNotOptimize(choose(bond, make_frame(bytes)));
    }
    count_items(state, 1);
}

constexpr std::int64_t in_cache = 1 << 12, in_memory = 1 << 23;

BENCHMARK(copy_columns)->ArgNames({"", "flows"})->Args({0, in_cache})->Args({0, in_memory});
BENCHMARK(divide)->ArgNames({"slaves", "flows"})->Args({3, in_cache});
BENCHMARK(batch<batch_layer34>)
    ->Name("layer34")
    ->ArgNames({"slaves", "flows"})
    ->Args({2, in_cache})
    ->Args({3, in_cache})
    ->Args({7, in_cache})
    ->Args({3, in_memory});
BENCHMARK(batch<batch_layer23>)->Name("layer23")->ArgNames({"slaves", "flows"})->Args({3, in_cache});
BENCHMARK(tuple);
BENCHMARK(frame)->ArgName("policy")->DenseRange(0, 5);

} // namespace
} // namespace bondtrace

BENCHMARK_MAIN();
