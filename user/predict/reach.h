// SPDX-License-Identifier: GPL-2.0-or-later
// Source ports that lead a typed flow through a wanted slave. Pure.
#pragma once

#include "user/base/result.h"
#include "user/hash/inverse.h"
#include "user/predict/path.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bondtrace {

struct ReachWish {
    std::string slave;
    std::size_t count = 1;
    std::pair<std::uint16_t, std::uint16_t> ports{32768, 60999}; // both ends included
};

// Up to `wish.count` source ports in ascending order, each checked forwards by predict_path(); fewer when the
// range holds no more, without those that `avoid` is true for. Fails (usage) for a slave that is none or
// where no port decides, and (unavailable) for a slave that is not usable now.
Result<std::vector<std::uint16_t>> reaching_ports(const PathBond& bond, const TypedFlow& flow,
                                                  const PathFrame& frame, const ReachWish& wish,
                                                  const PortFilter& avoid);

} // namespace bondtrace
