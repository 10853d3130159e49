// SPDX-License-Identifier: GPL-2.0-or-later
// What a reading of a large flow table costs the live table, by steps: taking it in, choosing and ordering,
// drawing. And what reading the map costs, where maps may be made.
#include "user/base/fd.h"
#include "user/live/controller.h"
#include "user/live/screen.h"
#include "user/trace/batch.h"

#include <cstring>

#include <arpa/inet.h>
#include <benchmark/benchmark.h>

namespace {

using namespace bondtrace;

constexpr std::uint64_t second = 1'000'000'000;

// `flows` conversations, each an entry a direction, spread over two slaves.
LiveReading make_reading(std::size_t flows, bool on_one_slave = false) {
    LiveReading reading;
    reading.host = "host";
    BondReport report;
    report.name = "bond0";
    report.ifindex = 10;
    report.mode = BondMode::lacp;
    report.policy_used = true;
    LiveBond bond;
    bond.state.mode = BondMode::lacp;
    bond.state.policy = report.policy = HashPolicy::layer34;
    for (unsigned i = 0; i < 2; ++i) {
        SlaveReport slave;
        slave.name = i == 0 ? "s0" : "s1";
        slave.ifindex = static_cast<int>(11 + i);
        slave.index = i;
        slave.state = "active";
        report.slaves.push_back(slave);
        bond.counters.push_back({});
    }
    reading.report.bonds.push_back(report);
    reading.bonds.push_back(bond);
    for (std::size_t i = 0; i < flows; ++i) {
        for (const bool received : {false, true}) {
            FlowEntry entry{};
            const std::uint32_t local = htonl(0x0a4d0001),
                                remote = htonl(static_cast<std::uint32_t>(0x0a4e0000 + i / 1000));
            std::memcpy(received ? entry.key.dst : entry.key.src, &local, 4);
            std::memcpy(received ? entry.key.src : entry.key.dst, &remote, 4);
            entry.key.ethertype = 0x0800;
            entry.key.protocol = 6;
            const auto port = htons(static_cast<std::uint16_t>(1024 + i % 60000));
            (received ? entry.key.dst_port : entry.key.src_port) = port;
            (received ? entry.key.src_port : entry.key.dst_port) = htons(443);
            entry.key.flags = received ? BT_KEY_RX : 0;
            const std::size_t slave = on_one_slave ? 0 : i % 2;
            entry.key.slot = static_cast<std::uint16_t>(slave);
            entry.slave_ifindex = static_cast<int>(11 + slave);
            entry.value.outer_ethertype = 0x0800;
            entry.value.count.packets = 1;
            entry.value.count.bytes = 100;
            reading.entries.push_back(entry);
        }
    }
    return reading;
}

// All conversations carry something in every interval, each at another rate.
void advance(LiveReading& reading) {
    reading.time_ns += second;
    std::uint64_t number = 0;
    for (FlowEntry& entry : reading.entries) {
        const std::uint64_t packets = 1 + (number++ * 2654435761U >> 7) % 1000;
        entry.value.count.packets += packets;
        entry.value.count.bytes += packets * 1000;
        entry.value.last_ns = reading.time_ns;
        SlaveReport& slave =
            reading.report.bonds[0].slaves[static_cast<std::size_t>(entry.slave_ifindex - 11)];
        SlaveDirection& direction = (entry.key.flags & BT_KEY_RX) ? slave.rx : slave.tx;
        direction.traced += {packets, packets * 1000, packets, packets * 1000};
    }
}

// The second argument: all on one slave, whose probability is then computed.
void take_in(benchmark::State& state) {
    LiveReading reading = make_reading(static_cast<std::size_t>(state.range(0)), state.range(1) != 0);
    LiveModel model;
    for ([[maybe_unused]] auto _ : state) {
        state.PauseTiming();
        advance(reading);
        LiveReading next = reading;
        state.ResumeTiming();
        model.update(std::move(next));
    }
    state.counters["throws"] = static_cast<double>(model.bonds()[0].tx_balance.throws);
}
BENCHMARK(take_in)
    ->Args({1000, 0})
    ->Args({100000, 0})
    ->Args({1000, 1})
    ->Args({100000, 1})
    ->Unit(benchmark::kMillisecond);

// The kernel's part: a map of as many entries, read in batches.
void read_map(benchmark::State& state) {
    const LiveReading reading = make_reading(static_cast<std::size_t>(state.range(0)));
    const auto entries = static_cast<std::uint32_t>(reading.entries.size());
    const Fd map(bpf_map_create(BPF_MAP_TYPE_HASH, "bench_flows", sizeof(bt_flow_key), sizeof(bt_flow_value),
                                entries * 2, nullptr));
    if (!map.valid()) return state.SkipWithError("maps cannot be made here (root?)");
    for (const FlowEntry& entry : reading.entries)
        if (bpf_map_update_elem(map.get(), &entry.key, &entry.value, BPF_ANY) != 0)
            return state.SkipWithError("filling the map");
    for ([[maybe_unused]] auto _ : state) {
        std::size_t taken = 0;
        const auto read = read_hash<bt_flow_key, bt_flow_value>(
            map.get(), entries * 2, [&](const bt_flow_key&, const bt_flow_value&) { ++taken; });
        if (!read || taken != entries) return state.SkipWithError("reading the map");
    }
}
BENCHMARK(read_map)->Arg(100000)->Unit(benchmark::kMillisecond);

void choose_and_order(benchmark::State& state) {
    LiveReading reading = make_reading(static_cast<std::size_t>(state.range(0)));
    LiveModel model;
    model.update(reading);
    advance(reading);
    model.update(reading);
    ViewSettings settings;
    if (state.range(1) != 0) settings.filter = *parse_filter("net 10.78.0.0/28 or port 1024-30000");
    FlowView view;
    for ([[maybe_unused]] auto _ : state)
        view.rebuild(model, settings);
}
BENCHMARK(choose_and_order)->Args({100000, 0})->Args({100000, 1})->Unit(benchmark::kMillisecond);

void draw(benchmark::State& state) {
    LiveReading reading = make_reading(static_cast<std::size_t>(state.range(0)));
    LiveModel model;
    model.update(reading);
    advance(reading);
    model.update(reading);
    Controller controller({}, false);
    controller.refresh(model, 50);
    const Symbols symbols;
    Canvas canvas(200, 50);
    for ([[maybe_unused]] auto _ : state)
        draw_screen(canvas, {.model = model,
                             .view = controller.view(),
                             .ui = controller.ui(),
                             .symbols = symbols,
                             .replay = {}});
}
BENCHMARK(draw)->Arg(50)->Arg(100000)->Unit(benchmark::kMillisecond);

// All of it, as once a second.
void whole_reading(benchmark::State& state) {
    LiveReading reading = make_reading(static_cast<std::size_t>(state.range(0)));
    LiveModel model;
    Controller controller({}, false);
    const Symbols symbols;
    Canvas canvas(200, 50);
    for ([[maybe_unused]] auto _ : state) {
        state.PauseTiming();
        advance(reading);
        LiveReading next = reading;
        state.ResumeTiming();
        model.update(std::move(next));
        controller.refresh(model, 50);
        draw_screen(canvas, {.model = model,
                             .view = controller.view(),
                             .ui = controller.ui(),
                             .symbols = symbols,
                             .replay = {}});
    }
}
BENCHMARK(whole_reading)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
