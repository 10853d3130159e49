// SPDX-License-Identifier: GPL-2.0-or-later
// The live table as JSON lines: docs/schema/live.schema.json.
#pragma once

#include "user/base/text_pieces.h"
#include "user/live/flow_view.h"
#include "user/live/live_model.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace bondtrace {

struct LiveJsonPart {
    std::uint64_t sequence = 0;
    std::size_t most = std::numeric_limits<std::size_t>::max(); // conversations of each bond
    std::uint64_t first_event = 0;                              // EventLog::total() counts them
};

// One document "bondtrace.live/1" on one line, ending in a newline, in pieces: the sums since the start (from
// which a recording is played again) and the rates of the last interval. Of the conversations those of the
// view. False when the sink did not want the rest.
bool write_live_json(const LiveModel& model, const FlowView& view, const LiveJsonPart& part,
                     const TextSink& sink);
// The same whole.
std::string live_json(const LiveModel& model, const FlowView& view, std::uint64_t sequence, std::size_t most,
                      std::uint64_t first_event);

} // namespace bondtrace
