// SPDX-License-Identifier: GPL-2.0-or-later
// The control messages that carry what the server's end traced: a part of control_message.cpp.
#pragma once

#include "user/traffic/control_message.h"
#include "user/traffic/control_reader.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace bondtrace::traffic {

// A text as a message may carry it: UTF-8, of max_text bytes at most.
std::string safe(std::string_view text);

nlohmann::json trace_body(const TraceMessage& message);
nlohmann::json trace_body(const TracedMessage& message);
TraceMessage read_trace(const ControlReader& from, Wrong& wrong);
TracedMessage read_traced(const ControlReader& from);

} // namespace bondtrace::traffic
