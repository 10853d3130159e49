// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace audit` as users run it, on bonds that are well and bonds that are not.
#include "tests/kernel/support/audit.h"
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/pair.h"
#include "tests/kernel/support/window.h"
#include "user/hash/choice.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

const std::string program = BONDTRACE_PROGRAM;

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

Output audit(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {program, "audit"});
    return capture(arguments);
}

// Audits bond0 of bt-a while the flows are sent; the window ends when they have arrived.
Audited audit_while(const End& from, const End& to, const std::vector<UdpFlow>& flows) {
    Audited audited = test::audit_while("bt-a", [&] { return send_udp(from, to, flows); });
    EXPECT_TRUE(fits_schema(audited.document.dump())) << audited.text();
    return audited;
}

TEST(Audit, AHealthyBondWith64FlowsIsWell) {
    const Lab lab("direct --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const Audited audited = audit_while(ends.v4_a(), ends.v4_b(), udp_flows(40000, 64));
    EXPECT_TRUE(audited.worst() == "none" || audited.worst() == "info") << audited.document.dump(1);
    EXPECT_EQ(audited.status, 0);
    EXPECT_EQ(audited.document.at("status"), "OK");
    EXPECT_EQ(audited.balance("tx").at("verdict"), "balanced");
    const json& bond = audited.document.at("bonds").at(0);
    // What the other end is, from the other end.
    EXPECT_EQ(bond.at("lacp").at("aggregator").at("partner_mac"), "02:77:00:00:00:02");
    EXPECT_EQ(bond.at("lacp").at("aggregator").at("ports"), 2);
    for (const json& slave : bond.at("slaves")) {
        EXPECT_EQ(slave.at("lacp").at("actor_state").at("value"), 0x3f) << slave; // fast, all is well
        EXPECT_EQ(slave.at("lacp").at("partner").at("system_mac"), "02:77:00:00:00:02");
        EXPECT_EQ(slave.at("coverage").at("tx"), 1.0);
    }
}

TEST(Audit, Layer2WithOnePeerIsNamedAndMended) {
    const Lab lab("direct --mode 802.3ad --policy layer2");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const Audited before = audit_while(ends.v4_a(), ends.v4_b(), udp_flows(40000, 64));
    EXPECT_EQ(before.status, 1);
    const json* finding = before.find("hash.layer2-one-mac");
    ASSERT_TRUE(finding) << before.document.dump(1);
    EXPECT_EQ(finding->at("severity"), "warning");
    EXPECT_EQ(before.balance("tx").at("largest_share"), 1.0);

    // The first cure it names is typed in, and it is one.
    const std::string cure = finding->at("fix").at(0).at("command");
    ASSERT_TRUE(run({"ip", "netns", "exec", "bt-a", "sh", "-c", cure}));
    const Audited after = audit_while(ends.v4_a(), ends.v4_b(), udp_flows(40000, 64));
    EXPECT_EQ(after.status, 0) << after.document.dump(1);
    EXPECT_FALSE(after.find("hash.layer2-one-mac"));
}

// Eight source ports of which the kernel puts six on one slave; found by the model, checked by what is seen.
TEST(Audit, SixToTwoOfEightIsLuck) {
    const Lab lab("direct --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    std::vector<UdpFlow> flows;
    std::array<unsigned, 2> left{6, 2};
    for (std::uint16_t port = 41000; flows.size() < 8; ++port) {
        FlowTuple tuple = make_tuple(17, *parse_ip("10.77.0.1"), port, *parse_ip("10.77.0.2"), 5001);
        ChoiceContext context;
        context.mode = BondMode::lacp;
        context.policy = HashPolicy::layer34;
        context.usable = 2;
        const Choice choice = choose(context, tuple);
        ASSERT_EQ(choice.kind, ChoiceKind::index) << choice.reason;
        if (left[choice.index] == 0) continue;
        --left[choice.index];
        flows.push_back({port, 5001, 20, 1000});
    }
    const Audited audited = audit_while(ends.v4_a(), ends.v4_b(), flows);
    EXPECT_TRUE(audited.worst() == "none" || audited.worst() == "info") << audited.document.dump(1);
    std::vector<unsigned> split;
    for (const json& slave : audited.balance("tx").at("slaves"))
        split.push_back(slave.at("flows").get<unsigned>());
    ASSERT_EQ(split.size(), 2U);
    EXPECT_GE(split[0], 6U); // a neighbour's question may come in between
    EXPECT_GE(split[1], 2U);
    EXPECT_LE(split[0] + split[1], 10U);
}

TEST(Audit, NoTrafficIsUnknownAndStateStands) {
    const Lab lab("direct --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const Output output = audit({"--netns", "bt-a", "--for", "0"});
    EXPECT_EQ(output.status, 3);
    EXPECT_THAT(output.out, StartsWith("BONDTRACE UNKNOWN - bond0: "));
    EXPECT_THAT(output.out, HasSubstr("aggregator"));
    EXPECT_EQ(output.err, "");
}

TEST(Audit, ItsOwnTcProgramsAreNobodyElses) {
    const Lab lab("direct --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const Output output = audit({"--netns", "bt-a", "--for", "0", "--attach", "tc", "--json"});
    EXPECT_EQ(output.status, 3) << output.err;
    const json document = json::parse(output.out);
    EXPECT_EQ(document.at("attach"), "tc");
    EXPECT_THAT(output.out, testing::Not(HasSubstr("bt_tc_")));
    EXPECT_THAT(output.out, testing::Not(HasSubstr("trace.foreign-program")));
}

TEST(Audit, WithoutRightsTheStateStands) {
    const Lab lab("direct --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const auto as_nobody = [](std::vector<std::string> arguments) {
        std::vector<std::string> argv{"ip",
                                      "netns",
                                      "exec",
                                      "bt-a",
                                      "setpriv",
                                      "--reuid=65534",
                                      "--regid=65534",
                                      "--clear-groups",
                                      "--bounding-set=-all",
                                      "--inh-caps=-all",
                                      program,
                                      "audit",
                                      "--for",
                                      "0"};
        argv.insert(argv.end(), arguments.begin(), arguments.end());
        return capture(argv);
    };
    const Output output = as_nobody({"--json"});
    EXPECT_EQ(output.status, 3) << output.out << output.err;
    EXPECT_TRUE(fits_schema(output.out)) << output.out;
    const json document = json::parse(output.out);
    EXPECT_EQ(document.at("status"), "UNKNOWN");
    EXPECT_EQ(document.at("attach"), "none");
    EXPECT_EQ(document.at("bonds").at(0).at("balance"), nullptr);
    EXPECT_EQ(document.at("bonds").at(0).at("lacp").at("details_visible"), false);
    const Audited audited{output.status, document};
    const json* note = audited.find("trace.attach-fallback");
    ASSERT_TRUE(note) << document.dump(1);
    EXPECT_THAT(note->at("seen").get<std::string>(), HasSubstr("cap_bpf"));
    EXPECT_EQ(audited.worst(), "info"); // what cannot be seen is no fault

    // What is wrong with the state is found all the same.
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s1", "down"}));
    const Output down = as_nobody({});
    EXPECT_THAT(down.out, HasSubstr("slave.down"));
    EXPECT_NE(down.status, 0);
}

TEST(Audit, ABondThatIsMissingIsCritical) {
    const Lab lab("direct --mode active-backup");
    ASSERT_FALSE(HasFatalFailure());
    const Output output = audit({"bond7", "bond0", "--netns", "bt-a", "--for", "0", "--json"});
    EXPECT_EQ(output.status, 2);
    EXPECT_TRUE(fits_schema(output.out)) << output.out;
    const json document = json::parse(output.out);
    EXPECT_EQ(document.at("bonds").size(), 1U);
    EXPECT_EQ(document.at("findings").at(0).at("id"), "bond.missing");
    EXPECT_EQ(document.at("findings").at(0).at("bond"), "bond7");
    const Output alone = audit({"bond7", "--netns", "bt-a", "--for", "0"});
    EXPECT_EQ(alone.status, 2);
    EXPECT_THAT(alone.out, StartsWith("BONDTRACE CRITICAL - bond7: there is no bond bond7"));
}

TEST(Audit, WrongInputAndNothingToAudit) {
    EXPECT_EQ(audit({"--for", "soon"}).status, 64);
    EXPECT_EQ(audit({"--era", "tomorrow"}).status, 64);
    EXPECT_EQ(audit({"--from", "/no/such/file"}).status, 64);
    EXPECT_EQ(audit({"--from", "/etc/hostname", "--for", "1s"}).status, 64);
    const Output no_dump = audit({"--from", BONDTRACE_SOURCE_DIR "/LICENSE"});
    EXPECT_EQ(no_dump.status, 3);
    EXPECT_THAT(no_dump.out, StartsWith("BONDTRACE UNKNOWN - "));
    ASSERT_TRUE(run({"modprobe", "-r", "bonding"}));
    const Output no_driver = audit({"--for", "0"});
    EXPECT_EQ(no_driver.status, 3);
    EXPECT_THAT(no_driver.out, StartsWith("BONDTRACE UNKNOWN - "));
    EXPECT_THAT(no_driver.out, HasSubstr("bonding driver is not loaded"));
}

TEST(Audit, ASavedStateNeedsNoBond) {
    const Output output = audit(
        {"--from", BONDTRACE_SOURCE_DIR "/tests/fixtures/cases/17-one-slave-partner-zero.txt", "--json"});
    EXPECT_EQ(output.status, 2);
    EXPECT_TRUE(fits_schema(output.out)) << output.out;
    EXPECT_EQ(json::parse(output.out).at("findings").at(0).at("id"), "lacp.no-partner");
}

TEST(Audit, ThePageSaysWhatTheDocumentSays) {
    const std::string page = fmt::format("/tmp/audit-{}.html", getpid());
    const std::string saved = BONDTRACE_SOURCE_DIR "/tests/fixtures/cases/17-one-slave-partner-zero.txt";
    const Output output = audit({"--from", saved, "--json", "--html", page});
    EXPECT_EQ(output.status, 2) << output.err;
    const std::string html = read_file(page);
    EXPECT_THAT(html, StartsWith("<!DOCTYPE html>"));
    EXPECT_THAT(html,
                HasSubstr(json::parse(output.out).at("findings").at(0).at("summary").get<std::string>()));
    std::remove(page.c_str());
    const Output nowhere = audit({"--from", saved, "--html", "/no/such/directory/page.html"});
    EXPECT_EQ(nowhere.status, 3);
    EXPECT_THAT(nowhere.err, HasSubstr("/no/such/directory/page.html"));
    EXPECT_THAT(nowhere.out, StartsWith("BONDTRACE CRITICAL - ")); // the audit is not lost
}

} // namespace
} // namespace bondtrace::test
