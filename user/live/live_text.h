// SPDX-License-Identifier: GPL-2.0-or-later
// The live table as lines of text, each to be understood by itself: for pipes, logs and screen readers.
#pragma once

#include "user/live/flow_view.h"
#include "user/live/host_names.h"
#include "user/live/live_model.h"
#include "user/live/symbols.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace bondtrace {

// One reading: a line for the run, each bond, each slave, at most `most` conversations, what is left of them,
// and each event from number `first_event` on (EventLog::total() counts). `names` may be null: addresses.
std::string live_text(const LiveModel& model, const FlowView& view, std::size_t most,
                      std::uint64_t first_event, const Symbols& symbols, const HostNames* names = nullptr);

} // namespace bondtrace
