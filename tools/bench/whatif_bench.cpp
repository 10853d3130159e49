// SPDX-License-Identifier: GPL-2.0-or-later
// How many packets a second `bondtrace whatif --pcap` takes from a capture that is in the page cache, beside
// what libpcap alone takes. First argument: flows; second: bytes captured of each packet.
#include "user/whatif/capture.h"
#include "user/whatif/units.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>
#include <unistd.h>

namespace bondtrace {
namespace {

constexpr std::size_t packets = 1U << 20U;

// A capture of TCP packets of random flows, in a file without a name.
class Capture {
  public:
    Capture(std::size_t flows, std::size_t captured) : file_(std::tmpfile()) {
        if (!file_) std::abort();
        put32(0xa1b2c3d4);
        put32(0x00040002);
        put32(0);
        put32(0);
        put32(262144);
        put32(1); // Ethernet
        std::mt19937 random(1);
        std::vector<std::uint8_t> frame(captured);
        constexpr std::uint8_t headers[] = {2, 0, 0,    0, 0x0b, 2,    2,  0, 0,    0, 0x0a, 1,
                                            8, 0, 0x45, 0, 0x05, 0xdc, 0,  1, 0x40, 0, 64,   6,
                                            0, 0, 10,   0, 0,    1,    10, 0, 0,    2};
        std::memcpy(frame.data(), headers, std::min(sizeof(headers), captured));
        for (std::size_t i = 0; i < packets; ++i) {
            const auto flow = static_cast<std::uint32_t>(random() % flows);
            frame[28] = static_cast<std::uint8_t>(flow >> 16U);
            frame[34] = static_cast<std::uint8_t>(flow >> 8U);
            frame[35] = static_cast<std::uint8_t>(flow);
            put32(static_cast<std::uint32_t>(i >> 16U));
            put32(0);
            put32(static_cast<std::uint32_t>(captured));
            put32(1514);
            if (std::fwrite(frame.data(), 1, captured, file_) != captured) std::abort();
        }
        if (std::fflush(file_) != 0) std::abort();
    }
    ~Capture() { (void)std::fclose(file_); } // nothing was written since the last flush
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    // The same file from its beginning, as another reader opens it.
    [[nodiscard]] std::FILE* open() const {
        std::FILE* const again =
            std::fopen(("/proc/self/fd/" + std::to_string(fileno(file_))).c_str(), "rbe");
        if (!again) std::abort();
        return again;
    }

  private:
    void put32(std::uint32_t value) {
        if (std::fwrite(&value, sizeof(value), 1, file_) != 1) std::abort();
    }
    std::FILE* file_;
};

void read_only(benchmark::State& state) {
    const Capture capture(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    for ([[maybe_unused]] auto _ : state) {
        std::uint64_t bytes = 0;
        const auto count = read_capture(capture.open(), "",
                                        [&](const CapturedPacket& packet) { bytes += packet.length; }, {});
        if (!count || count->packets != packets) std::abort();
        benchmark::DoNotOptimize(bytes);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(packets));
}

void whatif(benchmark::State& state) {
    const Capture capture(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    for ([[maybe_unused]] auto _ : state) {
        UnitTable table(newest_era, 1U << 24U);
        const auto count =
            read_capture(capture.open(), "", [&](const CapturedPacket& packet) { table.add(packet); }, {});
        if (!count || count->packets != packets) std::abort();
        benchmark::DoNotOptimize(table.finish().units.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(packets));
}

BENCHMARK(read_only)->Args({1000, 96})->Args({1000, 1514})->Unit(benchmark::kMillisecond);
BENCHMARK(whatif)
    ->Args({1000, 96})
    ->Args({100'000, 96})
    ->Args({1'000'000, 96})
    ->Args({1000, 1514})
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace bondtrace

BENCHMARK_MAIN();
