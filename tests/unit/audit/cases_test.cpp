// SPDX-License-Identifier: GPL-2.0-or-later
// Saved states from public reports and from real bonds (tests/fixtures/cases), and what must be said about
// them (expected.txt there, which explains its words).
#include "user/audit/lacp_findings.h"
#include "user/audit/mode_findings.h"
#include "user/audit/state_findings.h"
#include "user/bond/dump_parser.h"
#include "user/bond/source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

using testing::HasSubstr;

const std::string directory = BONDTRACE_SOURCE_DIR "/tests/fixtures/cases/";

struct Rule {
    std::string verb, rest;
};
struct Case {
    std::string file;
    std::vector<Rule> rules;
};

void PrintTo(const Case& expected, std::ostream* out) {
    *out << expected.file;
}

std::vector<Case> load_cases() {
    std::vector<Case> cases;
    std::ifstream file(directory + "expected.txt");
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        const auto space = line.find(' ');
        const std::string verb = line.substr(0, space), rest = line.substr(space + 1);
        if (verb == "file")
            cases.push_back({rest, {}});
        else
            cases.back().rules.push_back({verb, rest});
    }
    return cases;
}

std::string severity_name(Severity severity) {
    return severity == Severity::critical ? "critical" : severity == Severity::warning ? "warning" : "info";
}

std::vector<Finding> findings_of(const Bond& bond) {
    std::vector<Finding> all = state_findings(bond, nullptr);
    for (auto& more : {lacp_findings(bond, nullptr), mode_findings(bond, nullptr)})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::string everything(const Finding& finding) {
    std::string text = finding.summary + "\n" + finding.seen + "\n" + finding.why;
    for (const Fix& fix : finding.fixes)
        text += "\n" + fix.where + ": " + fix.command;
    return text;
}

std::string describe(const std::vector<Finding>& findings) {
    std::string text = "found:\n";
    for (const Finding& finding : findings)
        text += severity_name(finding.severity) + " " + finding.id + " " + finding.slave.value_or("") + "\n" +
                finding.summary + "\n" + finding.seen + "\n";
    return text;
}

void check(const Rule& rule, const std::vector<Finding>& findings) {
    std::istringstream words(rule.rest);
    std::string severity, id, slave;
    const auto any = [&](auto accept) { return std::any_of(findings.begin(), findings.end(), accept); };
    if (rule.verb == "worst") {
        std::string worst = "none";
        for (const char* name : {"info", "warning", "critical"})
            if (any([&](const Finding& finding) { return severity_name(finding.severity) == name; }))
                worst = name;
        EXPECT_EQ(worst, rule.rest);
    } else if (rule.verb == "expect") {
        words >> severity >> id >> slave;
        EXPECT_TRUE(any([&](const Finding& finding) {
            return finding.id == id && severity_name(finding.severity) == severity &&
                   (slave.empty() || finding.slave == slave);
        })) << rule.rest;
    } else if (rule.verb == "says") {
        words >> id;
        const std::string text = rule.rest.substr(id.size() + 1);
        EXPECT_TRUE(any([&](const Finding& finding) {
            return finding.id == id && everything(finding).find(text) != std::string::npos;
        })) << rule.rest;
    } else if (rule.verb == "never") {
        EXPECT_FALSE(any([&](const Finding& finding) { return finding.id == rule.rest; })) << rule.rest;
    } else if (rule.verb == "at-most") {
        words >> severity >> id;
        EXPECT_FALSE(any([&](const Finding& finding) {
            return finding.id == id && finding.severity != Severity::info;
        })) << rule.rest;
    } else {
        ADD_FAILURE() << "unknown rule " << rule.verb;
    }
}

class SavedCase : public testing::TestWithParam<Case> {};

TEST_P(SavedCase, IsJudgedAsItsReportSays) {
    const Case& expected = GetParam();
    const auto state = read_saved_state(directory + expected.file);
    if (!expected.rules.empty() && expected.rules.front().verb == "error") {
        ASSERT_FALSE(state);
        EXPECT_THAT(state.error().what, HasSubstr(expected.rules.front().rest));
        EXPECT_THAT(state.error().what, HasSubstr(expected.file));
        return;
    }
    ASSERT_TRUE(state) << state.error().what;
    ASSERT_EQ(state->bonds.size(), 1U);
    const std::vector<Finding> findings = findings_of(state->bonds.front());
    SCOPED_TRACE(describe(findings));
    for (const Rule& rule : expected.rules)
        check(rule, findings);
    for (const Finding& finding : findings) {
        EXPECT_FALSE(finding.summary.empty() || finding.seen.empty() || finding.why.empty()) << finding.id;
        EXPECT_EQ(finding.summary.find('\n'), std::string::npos);
        EXPECT_EQ(finding.bond, state->bonds.front().name);
        if (finding.severity != Severity::info) {
            EXPECT_FALSE(finding.fixes.empty() && finding.id != "bond.down") << finding.id;
        }
    }
}

std::string test_name(const testing::TestParamInfo<Case>& parameter) {
    std::string name = parameter.param.file;
    const auto odd = [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); };
    std::replace_if(name.begin(), name.end(), odd, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, SavedCase, testing::ValuesIn(load_cases()), test_name);

TEST(SavedCases, NoneIsWithoutExpectation) {
    const auto cases = load_cases();
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        const std::string name = entry.path().filename();
        if (name == "expected.txt") continue;
        EXPECT_EQ(
            std::count_if(cases.begin(), cases.end(), [&](const Case& one) { return one.file == name; }), 1)
            << name;
    }
}

// A text that was cut somewhere leads to no critical finding that the whole one does not have.
TEST(SavedCases, CutsLeadToNoFalseAlarm) {
    for (const Case& expected : load_cases()) {
        if (!expected.rules.empty() && expected.rules.front().verb == "error") continue;
        std::ifstream file(directory + expected.file);
        std::ostringstream content;
        content << file.rdbuf();
        const std::string text = content.str();
        if (text.find("Bonding Mode: ") == std::string::npos) continue;
        const auto key = [](const Finding& finding) { return finding.id; };
        std::vector<std::string> whole;
        const auto all = parse_dump(text, {.source = "whole", .name = "bond0"});
        ASSERT_TRUE(all);
        for (const Finding& finding : findings_of(all->bonds.front()))
            if (finding.severity == Severity::critical) whole.push_back(key(finding));
        for (std::size_t size = 0; size < text.size(); ++size) {
            const auto cut =
                parse_dump(std::string_view(text).substr(0, size), {.source = "cut", .name = "bond0"});
            if (!cut) continue;
            for (const Finding& finding : findings_of(cut->bonds.front())) {
                if (finding.severity != Severity::critical) continue;
                EXPECT_THAT(whole, testing::Contains(key(finding)))
                    << expected.file << " cut at " << size << ": " << finding.summary << "\n"
                    << finding.seen;
            }
        }
    }
}

} // namespace
} // namespace bondtrace
