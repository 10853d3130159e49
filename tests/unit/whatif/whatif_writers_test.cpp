// SPDX-License-Identifier: GPL-2.0-or-later
// The document as a whole is held against docs/schema/whatif.schema.json by the tests whatif.schema_*.
#include "user/report/whatif_report.h"

#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

WhatifReport sample() {
    WhatifUnits units;
    for (std::uint32_t i = 0; i < 8; ++i) {
        Unit unit;
        unit.known = 0x3f;
        unit.hash[policy_index(HashPolicy::layer34)] = i;
        unit.bytes = 100 + i;
        unit.packets = 1;
        units.units.push_back(unit);
        units.keys.emplace_back();
    }
    WhatifReport report;
    report.header = {"0.1.0", "2025-06-01T12:00:00Z", "6.1.0-57-amd64", "fentry"};
    report.name = "bond0";
    report.seconds = 10;
    report.bond = "bond0";
    report.mode = BondMode::lacp;
    report.current = {HashPolicy::layer2, 2};
    report.era = {newest_era, EraSource::probed, {}};
    report.flows = 8;
    report.packets = 8;
    report.bytes = 828;
    report.rows = analyse(units, {2, 1, 3}, report.current);
    report.notes = whatif_notes(units, report.rows);
    return report;
}

TEST(WhatifText, ShowsTheBestFirstAndTheCurrentMarked) {
    const std::string text = whatif_text(sample(), {120, false, false});
    EXPECT_THAT(text, HasSubstr("8 flows, 828 B in 8 packets, sent through bond0, 10 s (era 6.5, probed)"));
    EXPECT_THAT(text, HasSubstr("2 slaves, as bond0 has usable now"));
    EXPECT_THAT(text, ContainsRegex("  layer3\\+4 +1\\.99 +50 %"));
    EXPECT_THAT(text, ContainsRegex("\\* layer2 +1\\.00 +100 %"));
    EXPECT_LT(text.find("layer3+4 "), text.find("* layer2"));
    EXPECT_THAT(text, HasSubstr("1 slave\n  everything on it"));
    EXPECT_THAT(text, Not(HasSubstr("unknown")));
    for (const unsigned width : {64U, 80U, 120U}) {
        std::istringstream lines(whatif_text(sample(), {width, true, false}));
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), width) << line;
    }
}

TEST(WhatifText, SaysWhatIsNotInTheNumbers) {
    WhatifReport report = sample();
    report.source = WhatifReport::Source::capture;
    report.name = "a\x1b.pcap";
    report.both_directions = true;
    report.lost_packets = 5;
    report.elsewhere_packets = 7;
    report.incomplete = true;
    report.rows[0].unknown = {1, 300};
    const std::string text = whatif_text(report, {200, false, false});
    EXPECT_THAT(text, HasSubstr("as if all had been sent from one host"));
    EXPECT_THAT(text, HasSubstr("5 packets"));
    EXPECT_THAT(text, HasSubstr("7 packets were not sent from here"));
    EXPECT_THAT(text, HasSubstr("ends within a packet"));
    EXPECT_THAT(text, HasSubstr("unknown"));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    report.rows.clear();
    report.flows = 0;
    EXPECT_THAT(whatif_text(report, {80, false, false}), HasSubstr("nothing was sent"));
}

TEST(WhatifJson, HasTheNumbers) {
    WhatifReport report = sample();
    auto json = nlohmann::json::parse(whatif_json(report));
    EXPECT_EQ(json["schema"], "bondtrace.whatif/1");
    EXPECT_EQ(json["rows"].size(), 18U);
    EXPECT_EQ(json["rows"][0]["policy"], "layer3+4");
    EXPECT_EQ(json["rows"][0]["loads"][0]["flows"], 4);
    EXPECT_EQ(json["xmit_hash_policy"], "layer2");
    EXPECT_EQ(json["usable_slaves"], 2);
    report.seconds = std::numeric_limits<double>::infinity();
    report.bond.reset();
    report.current = {};
    json = nlohmann::json::parse(whatif_json(report));
    EXPECT_EQ(json["source"]["seconds"], nullptr);
    EXPECT_EQ(json["bond"], nullptr);
    EXPECT_EQ(json["xmit_hash_policy"], nullptr);
}

} // namespace
} // namespace bondtrace
