// SPDX-License-Identifier: GPL-2.0-or-later
// Frames of any content through a bond, and the slaves they left through, in order.
#pragma once

#include "user/base/fd.h"
#include "user/base/netns.h"
#include "user/base/result.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace bondtrace::test {

class FramePath {
  public:
    // Sends on `bond` and watches `slaves`, by ifindex; all in `netns`.
    static Result<FramePath> open(const NetNs& netns, int bond, std::vector<int> slaves);

    // Sends the frames one after the other and returns the slave that each left through. Nothing else may be
    // sent through the bond meanwhile: what is seen is told apart by its order, and checked by its length.
    Result<std::vector<int>> send(std::span<const std::vector<std::uint8_t>> frames);

  private:
    FramePath(Fd sender, Fd observer, std::set<int> slaves)
        : sender_(std::move(sender)), observer_(std::move(observer)), slaves_(std::move(slaves)) {}

    Result<void> collect(std::span<const std::vector<std::uint8_t>> frames, std::vector<int>& left);

    Fd sender_, observer_;
    std::set<int> slaves_;
};

// Sends frames on an interface of `netns`, by ifindex, and leaves them to themselves.
Result<void> send_frames(const NetNs& netns, int interface,
                         std::span<const std::vector<std::uint8_t>> frames);

// The seed of this run: $BONDTRACE_SEED, or another one each time; printed.
std::uint64_t test_seed();

// "02:00:…" as bytes in hex, for messages.
std::string to_hex(std::span<const std::uint8_t> bytes);

} // namespace bondtrace::test
