// SPDX-License-Identifier: GPL-2.0-or-later
// What `bondtrace predict` found out, as text and as JSON.
#pragma once

#include "user/hash/era.h"
#include "user/predict/path.h"
#include "user/report/flows_report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct PredictReport {
    struct Reach {
        std::string slave;
        std::vector<std::uint16_t> ports;
    };

    ReportHeader header;
    std::string netns; // as the user named it; empty: the caller's own
    PathBond bond;
    EraFinding era;
    std::vector<PathAnswer> answers;
    std::optional<Reach> reach;
};

// "bond0 tcp 10.0.0.1:40000 10.0.0.2:443 -> eth1", the slave being the last word; "-> not predictable: why",
// "-> all slaves". Ends in '\n'.
std::string answer_text(const PathBond& bond, const PathAnswer& answer);

// The reason behind it, several indented lines.
std::string reason_text(const PathBond& bond, const EraFinding& era, const PathAnswer& answer);

// The document, as docs/schema/predict.schema.json describes it.
std::string predict_json(const PredictReport& report);

} // namespace bondtrace
