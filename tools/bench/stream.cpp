// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/bench/stream.h"

#include "tools/bench/own_objects.h"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sched.h>

namespace bondtrace::bench {
namespace {

// On the calling thread, which has entered the namespace.
Result<std::uint64_t> run_stream(int ifindex, const Stream& stream, std::uint32_t packets,
                                 const std::atomic<bool>& stop) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(stream.cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        return fail_errno(errno, fmt::format("going to CPU {}", stream.cpu));
    const Packet sent = make_packets(64)[0];
    const Packet packet = stream.received ? answer_to(sent) : sent;
    const auto program = own_program(stream.received ? "bt_tc_rx" : "bt_tc_tx");
    if (!program) return tl::make_unexpected(program.error());
    auto lane = Lane::open(packet, stream.flows);
    if (!lane) return tl::make_unexpected(lane.error());
    std::uint64_t done = 0;
    do {
        const auto run = lane->run(program->get(), packets, static_cast<std::uint32_t>(ifindex));
        if (!run) return tl::make_unexpected(run.error());
        done += packets;
    } while (!stop);
    return done;
}

} // namespace

Packet answer_to(Packet packet) {
    constexpr std::ptrdiff_t mac = 6, source_address = 26, ipv4 = 4;
    const auto bytes = packet.bytes.begin();
    std::swap_ranges(bytes, bytes + mac, bytes + mac);
    std::swap_ranges(bytes + source_address, bytes + source_address + ipv4, bytes + source_address + ipv4);
    return packet;
}

Result<std::vector<std::uint64_t>> run_streams(const NetNs& netns, int ifindex,
                                               std::span<const Stream> streams, std::uint32_t packets,
                                               const std::atomic<bool>& stop) {
    std::vector<Result<std::uint64_t>> results(streams.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < streams.size(); ++i)
        threads.emplace_back([&, i] {
            results[i] = run_in(netns, [&] { return run_stream(ifindex, streams[i], packets, stop); });
        });
    for (std::thread& thread : threads)
        thread.join();
    std::vector<std::uint64_t> sent;
    for (const auto& result : results) {
        if (!result) return tl::make_unexpected(result.error());
        sent.push_back(*result);
    }
    return sent;
}

} // namespace bondtrace::bench
