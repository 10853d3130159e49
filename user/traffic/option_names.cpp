// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/option_names.h"

#include <array>

namespace bondtrace::traffic {
namespace {

constexpr std::array<std::string_view, 2> transports{"tcp", "udp"};
constexpr std::array<std::string_view, 3> directions{"up", "down", "both"};
constexpr std::array<std::string_view, 4> paces{"none", "busy", "yield", "sleep"};

template<typename Enum, std::size_t n>
std::optional<Enum> find(const std::array<std::string_view, n>& names, std::string_view text) {
    for (std::size_t i = 0; i < n; ++i)
        if (names[i] == text) return static_cast<Enum>(i);
    return std::nullopt;
}

} // namespace

std::string_view name_of(Transport transport) {
    return transports[static_cast<std::size_t>(transport)];
}

std::string_view name_of(Direction direction) {
    return directions[static_cast<std::size_t>(direction)];
}

std::string_view name_of(Pace::Kind pace) {
    return paces[static_cast<std::size_t>(pace)];
}

std::optional<Transport> parse_transport(std::string_view text) {
    return find<Transport>(transports, text);
}

std::optional<Direction> parse_direction(std::string_view text) {
    return find<Direction>(directions, text);
}

std::optional<Pace::Kind> parse_pace_kind(std::string_view text) {
    return find<Pace::Kind>(paces, text);
}

} // namespace bondtrace::traffic
