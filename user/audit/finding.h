// SPDX-License-Identifier: GPL-2.0-or-later
// What an audit says: findings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// In order of weight. critical: a slave carries nothing it should carry, or LACP is not up.
enum class Severity : std::uint8_t { info, warning, critical };
std::string_view to_text(Severity severity);

// One way to mend it: where it is typed, and what.
struct Fix {
    std::string
        where; // "iproute2", "nmcli", "netplan", "ifupdown", "systemd-networkd", "switch (any)", "Cisco", ...
    std::string command; // may be several lines
    // For another network manager than the one that is known to be in charge of the bond.
    bool other_manager = false;
};

struct Finding {
    std::string id; // "hash.layer2-one-mac": one of those in the contract
    Severity severity = Severity::info;
    std::string bond;
    std::optional<std::string> slave;
    std::string summary; // one line
    std::string seen;    // the numbers
    std::string why;     // why it matters, one sentence
    std::vector<Fix> fixes;
};

} // namespace bondtrace
