// SPDX-License-Identifier: GPL-2.0-or-later
// Runs `bondtrace audit --json` while something happens, and looks into what it says.
#pragma once

#include "user/base/result.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace bondtrace::test {

// Whether a document is as docs/schema/audit.schema.json says. Slow in a virtual machine: seconds.
testing::AssertionResult fits_schema(const std::string& document);

// An audit's document and its exit status.
struct Audited {
    int status = -1;
    nlohmann::json document;

    // The first finding with that id, and about that slave if one is named; nullptr without any.
    [[nodiscard]] const nlohmann::json* find(const std::string& id, const std::string& slave = {}) const;
    // What a finding says: summary, numbers, reason and fixes. Empty when it is not there.
    [[nodiscard]] std::string says(const std::string& id) const;
    [[nodiscard]] std::string worst() const; // severity; "none" without findings
    // Each finding above info as "SEVERITY ID", or "SEVERITY ID SLAVE" when it names one.
    [[nodiscard]] std::set<std::string> faults() const;
    // Of the first bond.
    [[nodiscard]] const nlohmann::json& bond() const { return document.at("bonds").at(0); }
    [[nodiscard]] const nlohmann::json& balance(const char* direction) const {
        return bond().at("balance").at(direction);
    }
    [[nodiscard]] const nlohmann::json* slave(const std::string& name) const;
    // Flows of each usable slave in that direction, in their order.
    [[nodiscard]] std::vector<unsigned> split(const char* direction) const;
    [[nodiscard]] std::string text() const { return document.dump(1); }
};

// Audits bond0 of a namespace while `traffic` runs; the window ends when it has returned.
Audited audit_while(const std::string& netns, const std::function<Result<void>()>& traffic,
                    const std::vector<std::string>& options = {});

// Audits a namespace's bonds in a window of no length.
Audited audit_now(const std::string& netns, const std::vector<std::string>& options = {});

} // namespace bondtrace::test
