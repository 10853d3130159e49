// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/fixes.h"

#include <fmt/format.h>

namespace bondtrace {

std::vector<Fix> policy_fixes(const std::string& bond, HashPolicy wanted) {
    return {
        {"iproute2", fmt::format("ip link set dev {} type bond xmit_hash_policy {}", bond, to_text(wanted))}};
}

std::vector<Fix> switch_hash_fixes() {
    return {
        {"switch (any)", "let the link aggregation group hash on source and destination address and port"}};
}

} // namespace bondtrace
