// SPDX-License-Identifier: GPL-2.0-or-later
// What the driver's hash makes of a conversation: under the bond's policy, under the others, and with other
// ports. Pure.
#pragma once

#include "user/bond/model.h"
#include "user/flow/conversation.h"
#include "user/hash/era.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct PolicyAnswer {
    HashPolicy policy = HashPolicy::layer2;
    std::string inputs; // what is hashed: "10.77.0.1, 10.77.0.2, ports 40001, 443"; empty when not known
    std::optional<std::string> slave;
    std::uint32_t hash = 0, index = 0, usable = 0; // with `slave`
    std::string reason;                            // without
};

// One answer for every policy, that of the bond first; none for modes that do not hash. The bond's slaves are
// those of now.
std::vector<PolicyAnswer> ask_policies(const Bond& bond, const Conversation& conversation, const Era& era);

struct OtherPorts {
    std::string slave;
    std::vector<std::uint16_t> ports; // local ones, the next above the conversation's
};

// Local ports with which the conversation would leave through each of the other usable slaves; empty where
// ports do not decide.
std::vector<OtherPorts> ports_elsewhere(const Bond& bond, const Conversation& conversation, const Era& era);

} // namespace bondtrace
