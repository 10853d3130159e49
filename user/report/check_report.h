// SPDX-License-Identifier: GPL-2.0-or-later
// What `bondtrace check` found out, and its two formats.
#pragma once

#include "user/base/result.h"
#include "user/bond/model.h"
#include "user/report/flows_report.h"
#include "user/trace/support.h"

#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

struct CheckReport {
    ReportHeader header;
    std::string libbpf;                   // version
    std::vector<std::string> attachments; // compiled in
    Support support;
    std::optional<Error> obstacle; // why tracing cannot work
    // Of each attachment, in order: why it does not work; nullopt when it does.
    struct Rung {
        Attachment attachment;
        std::optional<Error> obstacle;
    };
    std::vector<Rung> rungs;
    std::vector<Bond> bonds; // of the namespace
    std::optional<Error> bonds_error;
};

std::string check_text(const CheckReport& report);
std::string check_json(const CheckReport& report);

} // namespace bondtrace
