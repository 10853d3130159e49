// SPDX-License-Identifier: GPL-2.0-or-later
// What `bondtrace whatif` found out, as text and as JSON.
#pragma once

#include "user/hash/era.h"
#include "user/report/flows_report.h"
#include "user/report/text_style.h"
#include "user/whatif/analysis.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct WhatifReport {
    enum class Source : std::uint8_t { live, flows, capture };

    ReportHeader header;
    Source source = Source::live;
    std::string name; // of the bond watched, or of the file
    double seconds = 0;
    bool interrupted = false;
    bool incomplete = false;         // the file ends within a packet, or flows were left out of the document
    bool both_directions = false;    // of a capture that shows what was received as well
    std::optional<std::string> bond; // whose policy and slaves are the current ones
    std::optional<BondMode> mode;
    WhatifCurrent current;
    EraFinding era;
    std::uint64_t flows = 0, packets = 0, bytes = 0;
    std::uint64_t lost_packets = 0, lost_bytes = 0, elsewhere_packets = 0;
    std::vector<WhatifRow> rows;
    std::vector<std::string> notes;
};

std::string whatif_text(const WhatifReport& report, const TextOptions& options);

// The document, as docs/schema/whatif.schema.json describes it.
std::string whatif_json(const WhatifReport& report);

} // namespace bondtrace
