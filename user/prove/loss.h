// SPDX-License-Identifier: GPL-2.0-or-later
// Which slave loses packets: losses of flows, put down to the slaves that carried them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bondtrace {

// What one slave carried of the flows of a test, in one direction.
struct SlaveLoss {
    std::string slave;
    std::uint64_t flows = 0;          // that it carried alone
    std::uint64_t failed = 0;         // of these, flows that never came about
    std::uint64_t sent = 0, lost = 0; // packets; lost: sent and never received, or retransmitted
    double load = 0;                  // part of its speed that was in use; 0: unknown
    [[nodiscard]] double rate() const {
        return sent == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(sent);
    }
};

// A slave that loses what the others do not.
struct LossySlave {
    std::size_t slave = 0;
    double probability =
        1;             // that so many of all losses hit one slave by chance, were it no worse than others
    bool full = false; // it was nearly full: losses may be those of a queue that overflows
};

// Losses are put down to a slave when it lost at least 0.2 % and 20 packets, five times the rate of the
// others, and when chance explains so many with a probability below 10^-6 (binomial: every loss hits a slave
// in proportion to what it carried). Needs another slave that carried something.
std::vector<LossySlave> lossy_slaves(std::span<const SlaveLoss> slaves);

// Slaves of which every flow failed, two at least, while no flow of another slave did.
std::vector<std::size_t> black_holes(std::span<const SlaveLoss> slaves);

} // namespace bondtrace
