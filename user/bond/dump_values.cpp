// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/dump_values.h"

#include "user/bond/dump_parser.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace bondtrace::dump {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::size_t max_shown = 80, max_targets = 16; // BOND_MAX_ARP_TARGETS

// bond_mode_name() in bond_main.c, by the driver's numbers.
constexpr std::array<std::string_view, 7> mode_names = {
    "load balancing (round-robin)", "fault-tolerance (active-backup)",       "load balancing (xor)",
    "fault-tolerance (broadcast)",  "IEEE 802.3ad Dynamic link aggregation", "transmit load balancing",
    "adaptive load balancing"};

// Takes " (WORD VALUE)" off the end of `text`; nullopt when there is none.
std::optional<std::string_view> take_tail(std::string_view& text, std::string_view word) {
    const std::string opening = fmt::format("({} ", word);
    const auto begin = text.rfind(opening);
    if (begin == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
    const auto value = text.substr(begin + opening.size(), text.size() - begin - opening.size() - 1);
    text = trim(text.substr(0, begin));
    return trim(value);
}

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

} // namespace

std::string_view trim(std::string_view text) {
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string shown(std::string_view line) {
    std::string text;
    for (const char c : line.substr(0, max_shown))
        text += c >= ' ' && c <= '~' ? c : '?';
    if (line.size() > max_shown) text += "...";
    return text;
}

bool next_line(std::string_view& rest, std::size_t& number, Line& line) {
    if (rest.empty()) return false;
    const auto end = rest.find('\n');
    line.number = number++;
    line.cut = end == std::string_view::npos;
    line.text = trim(rest.substr(0, end));
    rest.remove_prefix(line.cut ? rest.size() : end + 1);
    return true;
}

std::optional<Field> split_field(std::string_view line) {
    // The one key with colons of its own: "NS IPv6 target/s (xx::xx form): 2001:db8::1".
    const auto form = line.starts_with("NS IPv6 target/s (") ? line.find(')') : 0;
    const auto colon = form == std::string_view::npos ? form : line.find(':', form);
    if (colon == std::string_view::npos) return std::nullopt;
    Field field;
    bool blank = false;
    for (const char c : trim(line.substr(0, colon))) {
        const bool is_blank = blanks.find(c) != std::string_view::npos;
        if (!is_blank)
            field.key += c;
        else if (!blank)
            field.key += ' ';
        blank = is_blank;
    }
    field.value = trim(line.substr(colon + 1));
    return field;
}

bool read_choice(std::string_view text, std::string_view yes, std::string_view no, bool& value) {
    if (text != yes && text != no) return false;
    value = text == yes;
    return true;
}

bool read_mode(std::string_view text, Bond& bond) {
    const auto fail_over = take_tail(text, "fail_over_mac");
    const auto* const name = std::find(mode_names.begin(), mode_names.end(), text);
    if (name == mode_names.end()) return false;
    bond.mode = static_cast<BondMode>(name - mode_names.begin());
    if (bond.mode == BondMode::active_backup)
        bond.fail_over_mac = fail_over ? parse_fail_over_mac(*fail_over) : FailOverMac::none;
    return true;
}

bool read_policy(std::string_view text, Bond& bond) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return false;
    const auto policy = parse_hash_policy(text.substr(0, space));
    const std::string_view number = trim(text.substr(space));
    if (!policy || number != fmt::format("({})", static_cast<int>(*policy))) return false;
    bond.policy = *policy;
    return true;
}

bool read_primary(std::string_view text, Bond& bond) {
    const auto reselect = take_tail(text, "primary_reselect");
    if (!is_interface_name(text)) return false;
    // An interface may be called "None"; only then the tail follows.
    if (text == "None" && !reselect) return true;
    bond.primary_name = std::string(text);
    if (reselect) bond.primary_reselect = parse_primary_reselect(*reselect);
    return true;
}

bool read_speed(std::string_view text, Slave& slave) {
    std::int64_t speed = 0;
    if (text != "Unknown") {
        if (!text.ends_with("Mbps")) return false;
        if (!read_number(trim(text.substr(0, text.size() - 4)), speed)) return false;
        if (speed < -1 || speed > UINT32_MAX) return false;
    }
    // 0, -1 and all ones (16 or 32 bits) are what older drivers printed for an unknown one.
    slave.speed_undetermined = speed <= 0 || speed == UINT16_MAX || speed == UINT32_MAX;
    if (!slave.speed_undetermined) slave.speed_mbps = static_cast<std::uint32_t>(speed);
    return true;
}

bool read_duplex(std::string_view text, Slave& slave) {
    if (text == "full")
        slave.duplex = Duplex::full;
    else if (text == "half")
        slave.duplex = Duplex::half;
    else
        return text == "Unknown";
    return true;
}

bool read_hardware_address(std::string_view text, std::optional<MacAddress>& mac) {
    constexpr std::size_t max_length = 32; // MAX_ADDR_LEN
    if (text.size() % 3 != 2 || text.size() > max_length * 3) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (i % 3 == 2 ? text[i] != ':' : !is_hex(text[i])) return false;
    mac = parse_mac(text); // nullopt for InfiniBand's 20 bytes
    return true;
}

bool read_mac(std::string_view text, std::optional<MacAddress>& mac) {
    const auto address = parse_mac(text);
    if (address) mac = address;
    return address.has_value();
}

bool read_targets(std::string_view text, bool v6, std::vector<IpAddress>& targets) {
    std::vector<IpAddress> read;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto address = parse_ip(trim(text.substr(0, comma)));
        if (!address || address->v6 != v6 || read.size() == max_targets) return false;
        read.push_back(*address);
        if (comma == std::string_view::npos) break;
        text = trim(text.substr(comma + 1));
    }
    targets = std::move(read);
    return true;
}

} // namespace bondtrace::dump
