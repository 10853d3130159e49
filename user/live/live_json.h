// SPDX-License-Identifier: GPL-2.0-or-later
// The live table as JSON lines: docs/schema/live.schema.json.
#pragma once

#include "user/live/flow_view.h"
#include "user/live/live_model.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace bondtrace {

// One document "bondtrace.live/1" on one line, ending in a newline: the sums since the start (from which a
// recording is played again) and the rates of the last interval. Of the conversations those of the view, at
// most `most` of each bond. Of the events those from number `first_event` on (EventLog::total() counts).
std::string live_json(const LiveModel& model, const FlowView& view, std::uint64_t sequence, std::size_t most,
                      std::uint64_t first_event);

} // namespace bondtrace
