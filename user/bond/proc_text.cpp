// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/proc_text.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace bondtrace {
namespace {

constexpr std::size_t max_slaves = 4096, max_name = 15; // IFNAMSIZ - 1
constexpr std::string_view blanks = " \t\r\v\f";

std::string_view trim(std::string_view text) {
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// What dev_valid_name() in net/core/dev.c accepts.
bool is_interface_name(std::string_view name) {
    return !name.empty() && name.size() <= max_name && name != "." && name != ".." &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return c != '/' && c != ':' && c != ' ' && (c < '\t' || c > '\r') && c != '\0';
           });
}

// "10000 Mbps" → 10000. "Unknown" is what the driver prints for SPEED_UNKNOWN; 0 and all ones (16 or 32 bits)
// are what older drivers leaked for it.
std::optional<std::uint32_t> parse_speed(std::string_view text) {
    std::uint32_t speed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
    if (error != std::errc{} || speed == 0 || speed == UINT16_MAX || speed == UINT32_MAX) return std::nullopt;
    if (trim({end, static_cast<std::size_t>(text.data() + text.size() - end)}) != "Mbps") return std::nullopt;
    return speed;
}

} // namespace

std::vector<ProcSlave> parse_proc_slaves(std::string_view text) {
    std::vector<ProcSlave> slaves;
    std::unordered_set<std::string_view> seen;
    bool in_slave = false; // false as well inside a block whose name was refused
    while (!text.empty()) {
        const auto line_end = text.find('\n');
        const bool cut = line_end == std::string_view::npos;
        const std::string_view line = text.substr(0, line_end);
        text.remove_prefix(cut ? text.size() : line_end + 1);
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        const std::string_view key = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
        if (key == "Slave Interface") {
            in_slave =
                !cut && slaves.size() < max_slaves && is_interface_name(value) && seen.insert(value).second;
            if (in_slave) slaves.push_back({std::string(value), std::nullopt});
        } else if (key == "Speed" && in_slave && !slaves.back().speed_mbps) {
            slaves.back().speed_mbps = parse_speed(value);
        }
    }
    return slaves;
}

} // namespace bondtrace
