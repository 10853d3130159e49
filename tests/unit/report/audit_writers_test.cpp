// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/report/sample_audit.h"
#include "user/base/text.h"
#include "user/report/audit_html.h"
#include "user/report/audit_json.h"
#include "user/report/audit_plots.h"
#include "user/report/audit_text.h"

#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        lines.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return lines;
}

std::string without_sgr(const std::string& text) {
    return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
}

TEST(AuditText, BeginsWithThePluginsLine) {
    for (const char* which : {"live", "healthy", "unwatched", "empty"}) {
        const AuditReport report = test::sample_audit(which);
        for (const unsigned width : {0U, 64U, 80U})
            EXPECT_THAT(audit_text(report, {width, false, true}), StartsWith(report.result.line + "\n"))
                << which;
    }
    EXPECT_THAT(audit_text(test::sample_audit("empty"), {}), StartsWith("BONDTRACE UNKNOWN - no bonds\n"));
}

// The plug-in's line and commands are left whole: nobody could use half of one.
TEST(AuditText, FitsTheWidth) {
    const std::string commands(10, ' ');
    for (const char* which : {"live", "healthy", "unwatched"}) {
        const AuditReport report = test::sample_audit(which);
        for (unsigned width = 64; width <= 200; width += 3) {
            const auto lines = lines_of(audit_text(report, {width, false, false}));
            for (std::size_t i = 1; i < lines.size(); ++i) {
                if (lines[i].starts_with(commands)) continue;
                EXPECT_LE(display_width(lines[i]), width) << lines[i];
                EXPECT_FALSE(lines[i].ends_with(' ')) << lines[i];
            }
        }
    }
}

TEST(AuditText, ShowsStateSharesAndWhatIsExpected) {
    const std::string text = audit_text(test::sample_audit("healthy"), {120, false, false});
    EXPECT_THAT(text, HasSubstr("bond0  802.3ad  layer3+4  2 slaves  up\n"));
    EXPECT_THAT(text, HasSubstr("aggregator 1 with 2 of 2 slaves"));
    EXPECT_THAT(text, HasSubstr("partner 00:00:5e:00:53:01"));
    // Binomial(64, 1/2): 24 and 40 are its quantiles at 2.5 and 97.5 %; equal sizes' normal band is
    // 1/2 +- 1.96 / (2 sqrt 64) = 37.75 to 62.25 %.
    EXPECT_THAT(text, ContainsRegex("a0 +active +10 Gbit/s +1 +TX +3.2 MB +50 % +38 to 62 % +32 +100 %"));
    EXPECT_THAT(text, HasSubstr("hash of 6.5 (assumed)"));
    EXPECT_THAT(text, HasSubstr("\nno findings\n"));
}

TEST(AuditText, NamesCauseAndCure) {
    const std::string text = audit_text(test::sample_audit("live"), {120, false, false});
    EXPECT_THAT(text, ContainsRegex("\nCRITICAL  bond.missing  bond7: there is no bond bond7\n"));
    EXPECT_THAT(text, ContainsRegex("\nWARNING  hash.layer2-one-mac  bond0: "));
    EXPECT_THAT(text, HasSubstr("          ip link set dev bond0 type bond xmit_hash_policy layer3+4\n"));
    EXPECT_THAT(text, ContainsRegex("a2: actor state 7 \\(active, short timeout, aggregatable\\)"));
    EXPECT_THAT(text, ContainsRegex("\n  a2 +active +10 Gbit/s +2 +nobody +3 +TX"));
    EXPECT_THAT(text, ContainsRegex("\n  old0 +gone"));
    EXPECT_LT(text.find("CRITICAL  bond.missing"), text.find("WARNING  hash.layer2-one-mac"));
}

TEST(AuditText, UnwatchedTrafficIsUnknown) {
    const AuditReport report = test::sample_audit("unwatched");
    EXPECT_EQ(report.result.status, ExitStatus::cannot_tell);
    const std::string text = audit_text(report, {120, false, false});
    EXPECT_THAT(text, StartsWith("BONDTRACE UNKNOWN - bond0: balance unknown; traffic could not be watched: "
                                 "loading BPF programs: not permitted (EPERM)\n"));
    EXPECT_THAT(text, HasSubstr("INFO  trace.attach-fallback  traffic could not be watched"));
    EXPECT_THAT(text, HasSubstr("run as root or give it CAP_BPF"));
    EXPECT_THAT(text, Not(HasSubstr("share")));
}

TEST(AuditText, EqualFixesAreToldOnce) {
    std::vector<Finding> findings(2);
    for (Finding& finding : findings) {
        finding.id = "lacp.no-partner";
        finding.summary = "s";
        finding.fixes = {{"Arista", "interface Ethernet1\n lacp rate fast"}};
    }
    const std::string text = findings_text(findings, TextStyle({80, false, false}));
    EXPECT_EQ(text, "2 findings: 2 info\n"
                    "\nINFO  lacp.no-partner  s\n  fix   Arista:\n          interface Ethernet1\n           "
                    "lacp rate fast\n"
                    "\nINFO  lacp.no-partner  s\n  fix   as for lacp.no-partner above\n");
}

TEST(AuditText, OtherManagersWaysAreForTheCurious) {
    std::vector<Finding> findings(1);
    findings[0].id = "hash.layer2-one-mac";
    findings[0].summary = "s";
    findings[0].fixes = {{"iproute2", "now"}, {"netplan", "for good"}, {"nmcli", "elsewhere", true}};
    const TextStyle style({80, false, false});
    EXPECT_EQ(findings_text(findings, style),
              "1 finding: 1 info\n\nINFO  hash.layer2-one-mac  s\n  fix   iproute2:\n          now\n  fix   "
              "netplan:\n          for good\n        -v also shows nmcli\n");
    EXPECT_THAT(findings_text(findings, style, true), HasSubstr("nmcli:\n          elsewhere\n"));
}

TEST(AuditText, ShowsProgramsOffloadsAndWhoManages) {
    AuditReport report = test::sample_audit("healthy");
    Bond& bond = report.input.bonds[0];
    bond.manager = Manager::networkd;
    bond.programs = {
        {{ProgramHook::tc_egress, "bpf", "cil_to_netdev", 42, {}}}, true, true, false, std::nullopt};
    for (Slave& slave : bond.slaves)
        slave.offloads = Offloads{.tso = true, .gro = true};
    const std::string text = audit_text(report, {120, false, false});
    EXPECT_THAT(text,
                HasSubstr("  programs    tc egress bpf cil_to_netdev (program 42) on bond0; tcx unknown\n"));
    EXPECT_THAT(text, HasSubstr("  offloads    tso, gro\n"));
    EXPECT_THAT(text, HasSubstr("  managed by  systemd-networkd\n"));
    const json document = json::parse(audit_json(report));
    const json& shown = document.at("bonds").at(0);
    EXPECT_EQ(shown.at("manager"), "systemd-networkd");
    EXPECT_EQ(shown.at("programs").at("found").at(0).at("id"), 42);
    EXPECT_EQ(shown.at("programs").at("unknown"), json::parse(R"(["tcx"])"));
    EXPECT_EQ(shown.at("offloads"), nullptr);
    EXPECT_EQ(shown.at("slaves").at(0).at("offloads").at("tso"), true);
    EXPECT_EQ(shown.at("slaves").at(0).at("programs").at("unknown").size(), 3U);
}

TEST(AuditText, IsPlainAsciiWhenAskedAndColoursAddNothingElse) {
    AuditReport report = test::sample_audit("live");
    for (const char c : audit_text(report, {100, true, false}))
        ASSERT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f));
    EXPECT_EQ(without_sgr(audit_text(report, {100, false, true})), audit_text(report, {100, false, false}));
    report.input.bonds[0].name = report.input.bonds[0].slaves[0].name = "\x1b[31m\n\xff";
    report.result.findings[0].bond = report.result.findings[0].seen = "\x1b[31m\xff";
    const std::string text = audit_text(report, {100, false, false});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(valid_utf8(text), text);
}

TEST(AuditJson, SaysTheSame) {
    const AuditReport report = test::sample_audit("live");
    const json document = json::parse(audit_json(report));
    EXPECT_EQ(document.at("schema"), "bondtrace.audit/1");
    EXPECT_EQ(document.at("status"), "CRITICAL");
    EXPECT_EQ(document.at("exit_status"), 2);
    EXPECT_EQ(document.at("line"), report.result.line);
    EXPECT_EQ(document.at("findings").size(), report.result.findings.size());
    EXPECT_EQ(document.at("findings").at(0).at("id"), "bond.missing");
    EXPECT_FALSE(document.at("findings").at(0).contains("slave"));
    const json& bond = document.at("bonds").at(0);
    EXPECT_EQ(bond.at("balance").at("tx").at("verdict"), "too few flows");
    EXPECT_EQ(bond.at("balance").at("tx").at("throws"), 1);
    EXPECT_EQ(bond.at("uppers"), json::parse(R"([{"name":"bond0.100","kind":"vlan"}])"));
    const json& churned = bond.at("slaves").at(2);
    EXPECT_THAT(churned.at("lacp").at("actor_state").at("bits"),
                ElementsAre("activity", "short_timeout", "aggregation"));
    EXPECT_EQ(churned.at("lacp").at("partner_state").at("value"), 0x45);
    EXPECT_THAT(churned.at("lacp").at("partner_state").at("bits"),
                ElementsAre("activity", "aggregation", "defaulted"));
    EXPECT_EQ(churned.at("lacp").at("partner").at("system_mac"), "00:00:00:00:00:00");
    EXPECT_EQ(churned.at("index"), nullptr);
    EXPECT_EQ(churned.at("tx").at("expected_share"), nullptr);
    const json& gone = bond.at("slaves").at(3);
    EXPECT_EQ(gone.at("state"), "gone");
    EXPECT_EQ(gone.at("mii_status"), nullptr);
}

TEST(AuditJson, HealthyHasBands) {
    const json document = json::parse(audit_json(test::sample_audit("healthy")));
    EXPECT_EQ(document.at("status"), "OK");
    for (const char* direction : {"tx", "rx"}) {
        const json& slave = document.at("bonds").at(0).at("slaves").at(0).at(direction);
        EXPECT_EQ(slave.at("share"), 0.5);
        EXPECT_NEAR(slave.at("expected_share").at("low").get<double>(), 0.3775, 1e-3);
        EXPECT_NEAR(slave.at("expected_share").at("high").get<double>(), 0.6225, 1e-3);
    }
}

TEST(AuditJson, WhatNobodyToldIsNull) {
    const json unwatched = json::parse(audit_json(test::sample_audit("unwatched")));
    EXPECT_EQ(unwatched.at("bonds").at(0).at("balance"), nullptr);
    EXPECT_EQ(unwatched.at("bonds").at(0).at("slaves").at(0).at("tx"), nullptr);
    EXPECT_EQ(unwatched.at("losses"), nullptr);
    EXPECT_EQ(unwatched.at("status"), "UNKNOWN");

    const json saved = json::parse(audit_json(
        test::saved_audit(BONDTRACE_SOURCE_DIR "/tests/fixtures/cases/17-one-slave-partner-zero.txt")));
    EXPECT_EQ(saved.at("kernel"), nullptr);
    EXPECT_EQ(saved.at("window_seconds"), nullptr);
    EXPECT_EQ(saved.at("bonds").at(0).at("ifindex"), nullptr);
    EXPECT_EQ(saved.at("bonds").at(0).at("slaves").at(0).at("tx"), nullptr);
}

TEST(AuditHtml, HasEverythingAndFetchesNothing) {
    const AuditReport report = test::sample_audit("live");
    const std::string page = audit_html(report);
    EXPECT_THAT(page, StartsWith("<!DOCTYPE html>\n"));
    for (const Finding& finding : report.result.findings) {
        EXPECT_THAT(page, HasSubstr(html_text(finding.summary)));
        for (const Fix& fix : finding.fixes)
            EXPECT_THAT(page, HasSubstr(html_text(fix.command.substr(0, fix.command.find('\n')))));
    }
    for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "<script", "@import"})
        EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    EXPECT_THAT(page, HasSubstr("a2: actor state 7"));
    EXPECT_THAT(page, HasSubstr(">layer2 (now)</text>"));
}

TEST(AuditHtml, PlotsHaveTheNumbersOfTheJson) {
    const AuditReport report = test::sample_audit("live");
    const std::string page = audit_html(report);
    const json document = json::parse(audit_json(report));
    for (const char* direction : {"tx", "rx"})
        for (const json& slave : document.at("bonds").at(0).at("balance").at(direction).at("slaves"))
            EXPECT_THAT(page, HasSubstr(fmt::format("<title>{}: {:.1f} %</title>",
                                                    slave.at("name").get<std::string>(),
                                                    slave.at("share").get<double>() * 100)));
}

// layer3+4 over 64 consecutive source ports, each pair of which shares its hash, halves them between two.
TEST(AuditHtml, SaysWhatOtherPoliciesWouldDo) {
    const AuditReport report = test::sample_audit("healthy");
    const auto views = bond_views(report.input);
    const auto policies = shares_by_policy(views.at(0));
    ASSERT_EQ(policies.size(), 6U);
    for (const PolicyShares& policy : policies) {
        EXPECT_EQ(policy.current, policy.policy == HashPolicy::layer34);
        if (policy.policy == HashPolicy::layer34) {
            EXPECT_THAT(policy.shares, ElementsAre(0.5, 0.5));
        }
        if (policy.policy == HashPolicy::layer2) { // one pair of addresses
            EXPECT_EQ(std::max(policy.shares[0], policy.shares[1]), 1.0);
        }
    }
    EXPECT_THAT(shares_by_policy(BondView{}), testing::IsEmpty());
}

TEST(AuditHtml, MakesNamesHarmless) {
    AuditReport report = test::sample_audit("live");
    const std::string bad = "<b onclick='x'>&\"\x1b\xff";
    report.input.bonds[0].name = report.input.bonds[0].slaves[0].name = bad;
    report.input.traffic->bonds[0].slaves[1].name = report.netns = report.header.kernel = bad;
    report.result.findings[0].summary = report.result.findings[0].fixes[0].command = bad;
    report.result.bonds[0].tx.slaves[0].name = report.notes.emplace_back(bad);
    const std::string page = audit_html(report);
    EXPECT_EQ(page.find("<b onclick"), std::string::npos);
    EXPECT_EQ(page.find('\x1b'), std::string::npos);
    EXPECT_EQ(valid_utf8(page), page);
    EXPECT_THAT(page, HasSubstr("&lt;b onclick=&#39;x&#39;&gt;&amp;&quot;?"));
}

} // namespace
} // namespace bondtrace
