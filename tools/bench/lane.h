// SPDX-License-Identifier: GPL-2.0-or-later
// A packet that BPF_PROG_TEST_RUN repeats, behind the program that makes it one of many flows (vary.bpf.c).
#pragma once

#include "tools/bench/packets.h"
#include "user/base/result.h"

#include <cstdint>
#include <memory>

struct bench_vary_bpf;

namespace bondtrace::bench {

// The flows of a lane: `count`, a power of two, from `first` on. They differ in their ports, whose 32 bits
// are the flow's number; `swapped` gives it to the other port, as in what the other end sends.
struct LaneFlows {
    std::uint32_t count = 1;
    std::uint32_t first = 0;
    bool swapped = false;
};

// For one CPU. `packet` must outlive it.
class Lane {
  public:
    // Needs root.
    static Result<Lane> open(const Packet& packet, const LaneFlows& flows);
    Lane(Lane&&) noexcept;
    Lane& operator=(Lane&&) noexcept;
    ~Lane();

    // The empty program: what it takes is to be subtracted.
    [[nodiscard]] int null_program() const;

    // Runs the tc program for `repeat` packets, the flows in turn, as if on the interface with that index of
    // the thread's network namespace (0: its loopback). Gives ns per packet, as the kernel measures them.
    Result<double> run(int program, std::uint32_t repeat, std::uint32_t ifindex = 0);

  private:
    struct Destroy {
        void operator()(bench_vary_bpf* vary) const;
    };
    using Vary = std::unique_ptr<bench_vary_bpf, Destroy>;
    Lane(const Packet& packet, Vary vary);

    const Packet* packet_;
    Vary vary_;
};

} // namespace bondtrace::bench
