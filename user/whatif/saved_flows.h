// SPDX-License-Identifier: GPL-2.0-or-later
// A document of `bondtrace flows --json`, read back. Pure.
#pragma once

#include "user/base/result.h"
#include "user/bond/model.h"
#include "user/flow/conversation.h"
#include "user/hash/era.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

struct SavedBond {
    std::string name;
    std::optional<std::string> netns;
    BondMode mode = BondMode::balance_rr;
    HashPolicy policy = HashPolicy::layer2;
    bool policy_used = false;
    std::vector<std::string> usable; // in the kernel's order
};

struct SavedFlows {
    std::string kernel;
    double seconds = 0;
    std::optional<EraFinding> era;
    std::vector<SavedBond> bonds;
    std::vector<Conversation> flows; // what was sent, with what the hash is made of
    bool complete = true;            // false: --filter or --top left flows out
};

// Reads the document; flows that name what is not understood (a newer version's) fail, for leaving them out
// would be a guess. Usage error for anything that is no such document.
Result<SavedFlows> parse_saved_flows(std::string_view text);

} // namespace bondtrace
