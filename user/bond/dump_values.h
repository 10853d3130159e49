// SPDX-License-Identifier: GPL-2.0-or-later
// The lines and values of a bond's dump: text in, values out. Each reader takes a whole value and returns
// false, leaving the target alone, when it is nothing the bonding driver prints.
#pragma once

#include "user/bond/model.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bondtrace::dump {

// Without the blanks at both ends (carriage returns among them).
std::string_view trim(std::string_view text);

// For messages: printable, at most 80 characters.
std::string shown(std::string_view line);

struct Line {
    std::size_t number = 0;
    std::string_view text; // trimmed
    bool cut = false;      // the last one, without a line end: it may be half of what was written
};

// Takes the next line off `rest` and counts it in `number`; false at the end.
bool next_line(std::string_view& rest, std::size_t& number, Line& line);

struct Field {
    std::string key; // blanks in it are single spaces
    std::string_view value;
};

// "KEY: VALUE" taken apart, the value possibly empty; nullopt when there is no colon.
std::optional<Field> split_field(std::string_view line);

// A decimal number that fits.
template<typename Number> bool read_number(std::string_view text, Number& value) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return false;
    value = number;
    return true;
}
template<typename Number> bool read_number(std::string_view text, std::optional<Number>& value) {
    Number number{};
    if (!read_number(text, number)) return false;
    value = number;
    return true;
}

// "on" or "off" (the first of the words is true).
bool read_choice(std::string_view text, std::string_view yes, std::string_view no, bool& value);

// "IEEE 802.3ad Dynamic link aggregation", "fault-tolerance (active-backup) (fail_over_mac active)".
bool read_mode(std::string_view text, Bond& bond);
// "layer3+4 (1)": name and number must belong together.
bool read_policy(std::string_view text, Bond& bond);
// "em3 (primary_reselect failure)", "None".
bool read_primary(std::string_view text, Bond& bond);
// "10000 Mbps" or "Unknown".
bool read_speed(std::string_view text, Slave& slave);
bool read_duplex(std::string_view text, Slave& slave);
// An address of Ethernet, or one of another length, which has no place in `mac`.
bool read_hardware_address(std::string_view text, std::optional<MacAddress>& mac);
bool read_mac(std::string_view text, std::optional<MacAddress>& mac);
// "192.0.2.254, 192.0.2.253"; may be empty.
bool read_targets(std::string_view text, bool v6, std::vector<IpAddress>& targets);

} // namespace bondtrace::dump
