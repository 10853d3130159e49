// SPDX-License-Identifier: GPL-2.0-or-later
// What of io_uring and of sockets the engine uses when the running kernel has it. Each is found by trying,
// and each can be left out, so that the way without it can be tested where the kernel has it.
#pragma once

#include "user/base/result.h"

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace::traffic {

enum class Feature : std::uint8_t {
    single_issuer,   // IORING_SETUP_SINGLE_ISSUER, Linux 6.0
    defer_taskrun,   // IORING_SETUP_DEFER_TASKRUN, 6.1
    coop_taskrun,    // IORING_SETUP_COOP_TASKRUN, 5.19; what stands in for defer_taskrun
    registered_ring, // the ring's own descriptor registered, 5.18
    msg_trunc,       // recv that discards (MSG_TRUNC), tried on the first receive
    sendfile,        // pages of a memory file sent by reference
    udp_segment,     // UDP_SEGMENT, 4.18
    udp_gro,         // UDP_GRO, 5.0
    count,
};

class FeatureSet {
  public:
    void add(Feature feature) { bits_.set(static_cast<std::size_t>(feature)); }
    void remove(Feature feature) { bits_.reset(static_cast<std::size_t>(feature)); }
    [[nodiscard]] bool has(Feature feature) const { return bits_.test(static_cast<std::size_t>(feature)); }
    void merge(const FeatureSet& other) { bits_ |= other.bits_; }
    // "single-issuer", "defer-taskrun", ... in the order of Feature.
    [[nodiscard]] std::vector<std::string> names() const;

  private:
    std::bitset<static_cast<std::size_t>(Feature::count)> bits_;
};

// Reads "single-issuer,msg-trunc"; the empty text is the empty set. An unknown name is wrong usage.
Result<FeatureSet> parse_features(std::string_view text);

} // namespace bondtrace::traffic
