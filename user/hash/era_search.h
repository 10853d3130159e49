// SPDX-License-Identifier: GPL-2.0-or-later
// Finds out what a kernel's hash does by asking it: frames for which the known kernels choose different
// slaves. Pure: era_probe.h sends them.
#pragma once

#include "user/bond/model.h"
#include "user/hash/era.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bondtrace {

// A frame to be sent by AF_PACKET through a balance-xor bond with that policy.
struct EraQuestion {
    HashPolicy policy = HashPolicy::layer2;
    std::vector<std::uint8_t> frame;
};

// Elimination among all combinations of traits, not only those that a mainline release has: stable series
// carry single changes back.
class EraSearch {
  public:
    // `slaves`: usable slaves of the bond that will be asked, at least 2.
    explicit EraSearch(std::uint32_t slaves);

    // In an order in which the policy changes seldom. The answers to all of them leave one era at most.
    [[nodiscard]] const std::vector<EraQuestion>& questions() const { return questions_; }

    // The bond sent the frame of `question` through the slave with this index.
    void answer(const EraQuestion& question, std::uint32_t index);

    // The eras that would have answered so. None: the kernel does something that no kernel known here does.
    [[nodiscard]] const std::vector<Era>& remaining() const { return remaining_; }

  private:
    std::uint32_t slaves_;
    std::vector<EraQuestion> questions_;
    std::vector<Era> remaining_;
};

} // namespace bondtrace
