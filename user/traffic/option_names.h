// SPDX-License-Identifier: GPL-2.0-or-later
// The words of the options, as the command line, the control channel and the reports write them.
#pragma once

#include "user/traffic/options.h"

#include <optional>
#include <string_view>

namespace bondtrace::traffic {

std::string_view name_of(Transport transport); // "tcp", "udp"
std::string_view name_of(Direction direction); // "up", "down", "both"
std::string_view name_of(Pace::Kind pace);     // "none", "busy", "yield", "sleep"
std::optional<Transport> parse_transport(std::string_view text);
std::optional<Direction> parse_direction(std::string_view text);
std::optional<Pace::Kind> parse_pace_kind(std::string_view text);

} // namespace bondtrace::traffic
