// SPDX-License-Identifier: GPL-2.0-or-later
// The ladder of attachments: every rung sees the same, none leaves anything behind, none disturbs others.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/program.h"
#include "tests/kernel/support/window.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string program = BONDTRACE_PROGRAM;

// What the kernel itself has at the link's place for filters, as tc shows it.
std::string filters(const std::string& link) {
    std::string text;
    for (const char* direction : {"ingress", "egress"})
        text += capture({"tc", "-n", "bt-a", "filter", "show", "dev", link, direction}).out + "\n";
    return text;
}

std::string qdiscs(const std::string& link) {
    return capture({"tc", "-n", "bt-a", "qdisc", "show", "dev", link}).out;
}

// Programs and links of ours that are in the kernel.
std::string our_programs() {
    std::string ours;
    for (const json& one : json::parse(capture({"bpftool", "-j", "prog", "show"}).out))
        if (one.value("name", "").starts_with("bt_")) ours += one.at("name").get<std::string>() + " ";
    return ours;
}

std::vector<std::string> usable_attachments() {
    std::vector<std::string> usable;
    const Output check = capture({program, "check", "--json", "--attach", "auto"});
    const json document = json::parse(check.out);
    for (const json& rung : document.at("ladder"))
        if (rung.at("works").get<bool>()) usable.push_back(rung.at("attach").get<std::string>());
    return usable;
}

// One direction of one flow on one slave, without the slot, which each program numbers for itself.
using FlowName = std::pair<int, std::string>;
using FlowSums = std::map<FlowName, std::array<std::uint64_t, 4>>;

FlowSums sums_of(const Observed& observed) {
    FlowSums sums;
    for (const FlowEntry& entry : observed.flows) {
        if (entry.key.protocol != 17 && entry.key.protocol != 6)
            continue; // neighbours are looked for at any time
        bt_flow_key key = entry.key;
        key.slot = 0;
        std::string bytes(sizeof(key), '\0');
        std::memcpy(bytes.data(), &key, sizeof(key));
        const bt_count& count = entry.value.count;
        sums[{entry.slave_ifindex, bytes}] = {count.packets, count.bytes, count.added_packets,
                                              count.added_bytes};
    }
    return sums;
}

TEST(Ladder, EveryRungSeesTheSameFlowsAndBytes) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --vlan 100");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const std::vector<std::string> names = usable_attachments();
    ASSERT_GE(names.size(), 2U);
    std::vector<UdpFlow> flows;
    for (std::uint16_t i = 0; i < 64; ++i)
        flows.push_back({static_cast<std::uint16_t>(30000 + i), 5001, 3, i % 8U == 0 ? 4000U : 100U});
    static std::uint16_t tcp_port = 21000;
    std::vector<FlowSums> seen;
    // What a connection still has to say after its end may fall between the ends of two windows: then again.
    for (int window = 0; window < 3; ++window) {
        std::vector<Observation> running;
        for (const std::string& name : names) {
            TraceConfig config;
            config.attach = parse_attachment(name);
            auto started = Observation::start(ends.a, {"bond0"}, config);
            ASSERT_TRUE(started) << name << ": " << started.error().what;
            running.push_back(std::move(*started));
        }
        for (const auto& [from, to] : {std::pair{ends.v4_a(), ends.v4_b()},
                                       {ends.v6_a(), ends.v6_b()},
                                       {ends.vlan_a(), ends.vlan_b()}}) {
            const auto sent = send_udp(from, to, flows);
            ASSERT_TRUE(sent) << sent.error().what;
        }
        const auto sent = transfer_tcp(ends.v4_a(), ends.v4_b(), ++tcp_port, 5002, 500'000);
        ASSERT_TRUE(sent) << sent.error().what;
        seen.clear();
        for (Observation& observation : running) {
            const auto observed = observation.finish();
            ASSERT_TRUE(observed) << observed.error().what;
            seen.push_back(sums_of(*observed));
        }
        if (std::all_of(seen.begin(), seen.end(), [&](const FlowSums& sums) { return sums == seen.front(); }))
            break;
    }
    EXPECT_GE(seen.front().size(), 3U * 56); // the fragments of the others have no ports
    for (std::size_t i = 1; i < seen.size(); ++i) {
        SCOPED_TRACE(names[i]);
        EXPECT_EQ(seen[i].size(), seen[0].size());
        EXPECT_TRUE(seen[i] == seen[0]) << "not what " << names[0] << " has seen";
    }
    std::cout << fmt::format("{} the same: {} entries\n", fmt::join(names, ", "), seen.front().size());
}

TEST(Ladder, AutoTakesTheFirstThatWorksAndSaysWhy) {
    const std::vector<std::string> usable = usable_attachments();
    const Output check = capture({program, "check", "--json", "--attach", "auto"});
    ASSERT_EQ(check.status, 0) << check.out;
    EXPECT_EQ(json::parse(check.out).at("attach"), usable.front());
    if (usable.front() == "fentry") return;
    const Lab lab("direct --mode balance-xor");
    ASSERT_FALSE(HasFatalFailure());
    // Without BTF of the module (Debian 11's 5.10): named, not libbpf's words alone.
    const Output fentry =
        capture({program, "flows", "--netns", "bt-a", "--for", "100ms", "--attach", "fentry"});
    EXPECT_EQ(fentry.status, 3);
    EXPECT_THAT(fentry.err, HasSubstr("no BTF of the bonding module"));
    const Output by_itself =
        capture({program, "flows", "--netns", "bt-a", "--for", "100ms", "--attach", "auto", "-v"});
    EXPECT_THAT(by_itself.err, HasSubstr("not by fentry: "));
    EXPECT_THAT(by_itself.err, HasSubstr("by " + usable.front()));
}

// Case 59.
TEST(Tc, ForeignFiltersAndQdiscsStayAsTheyAre) {
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    ASSERT_TRUE(run({"tc", "-n", "bt-a", "qdisc", "add", "dev", "s0", "clsact"}));
    for (const char* direction : {"ingress", "egress"})
        for (const char* priority : {"1", "49152"}) // and it ends nothing: what follows sees the packet, too
            ASSERT_TRUE(run({"tc", "-n", "bt-a", "filter", "add", "dev", "s0", direction, "prio", priority,
                             "matchall", "action", "continue"}));
    const std::string filters_before = filters("s0"), qdiscs_before = qdiscs("s0"),
                      other_before = qdiscs("s1");
    ASSERT_THAT(filters_before, HasSubstr("matchall"));
    {
        TraceConfig config;
        config.attach = Attachment::tc;
        const auto observed = observe(
            ends.a,
            [&]() -> Result<void> {
                // Ours stand among them, and take none away.
                const std::string during = filters("s0");
                std::size_t ours = 0;
                for (std::size_t at = during.find("0xb07d"); at != std::string::npos;
                     at = during.find("0xb07d", at + 1))
                    ++ours;
                EXPECT_THAT(ours, testing::AnyOf(0U, 2U)) << during; // none: by TCX
                return send_udp(ends.v4_a(), ends.v4_b(), {{40000, 5001, 9, 100}, {40002, 5001, 5, 200}});
            },
            config);
        ASSERT_TRUE(observed) << observed.error().what;
        expect_conservation(*observed, Unit::skb, Unit::skb);
        EXPECT_GT(slave_named(*observed, "s0").totals.tx.packets, 0U);
    }
    // The actions' own statistics are not part of this listing.
    EXPECT_EQ(filters("s0"), filters_before);
    EXPECT_EQ(qdiscs("s0"), qdiscs_before);
    EXPECT_EQ(qdiscs("s1"), other_before);
}

TEST(Tc, SeveralRunsShareALinkAndTheLastTakesTheQdiscAway) {
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const std::string before = qdiscs("s0") + filters("s0");
    TraceConfig config;
    config.attach = Attachment::tc;
    auto first = Observation::start(ends.a, {"bond0"}, config);
    ASSERT_TRUE(first) << first.error().what;
    std::optional<Observation> longest(std::move(*first));
    {
        auto second = Observation::start(ends.a, {"bond0"}, config);
        ASSERT_TRUE(second) << second.error().what;
        longest.reset(); // the one that made the qdisc
        const auto sent = send_udp(ends.v4_a(), ends.v4_b(), {{40000, 5001, 9, 100}, {40002, 5001, 5, 200}});
        ASSERT_TRUE(sent) << sent.error().what;
        const auto observed = second->finish();
        ASSERT_TRUE(observed) << observed.error().what;
        EXPECT_GT(slave_named(*observed, "s0").totals.tx.packets, 0U);
    }
    EXPECT_EQ(qdiscs("s0") + filters("s0"), before);
}

TEST(Ladder, KilledAtRandomMomentsNothingStays) {
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(run({"tc", "-n", "bt-a", "qdisc", "add", "dev", "s0", "clsact"}));
    ASSERT_TRUE(run({"tc", "-n", "bt-a", "filter", "add", "dev", "s0", "egress", "prio", "7", "matchall",
                     "action", "continue"}));
    const std::string before = filters("s0") + qdiscs("s0") + filters("s1") + qdiscs("s1");
    const std::string events_before = read_file("/sys/kernel/tracing/kprobe_events");
    std::mt19937 random(std::random_device{}());
    std::uniform_int_distribution<int> moment(0, 600);
    constexpr int times = 20;
    for (int i = 0; i < times; ++i) {
        Background running({program, "flows", "--netns", "bt-a", "--for", "1h", "--attach",
                            std::string(to_text(test_attachment()))},
                           "/dev/null", "/dev/null");
        // The moment is what is being tested, so it is not awaited.
        std::this_thread::sleep_for(std::chrono::milliseconds(moment(random)));
        running.stop(SIGKILL);
    }
    EXPECT_EQ(read_file("/sys/kernel/tracing/kprobe_events"), events_before);
    // What a filter holds may stay until the next start, of any kind, has cleared it away; all else goes by
    // itself.
    const Output next = capture({program, "flows", "--netns", "bt-a", "--for", "10ms"});
    EXPECT_EQ(next.status, 3) << next.err; // no traffic
    EXPECT_EQ(filters("s0") + qdiscs("s0") + filters("s1") + qdiscs("s1"), before);
    EXPECT_TRUE(await([] { return our_programs().empty(); })) << our_programs();
}

Output with_links(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, {"--netns", "bt-a", "--attach", "auto"});
    arguments.insert(arguments.begin(), program);
    return capture(arguments);
}

testing::AssertionResult is_valid(const std::string& document, const std::string& schema) {
    const std::string path = fmt::format("/tmp/links-{}.json", getpid());
    std::ofstream(path) << document;
    const auto result = run(
        {BONDTRACE_SOURCE_DIR "/tools/validate-json", BONDTRACE_SOURCE_DIR "/docs/schema/" + schema, path});
    std::remove(path.c_str());
    return result;
}

// The slaves of a lab leave their bonds, and get addresses of their own: 10.9.0.0/24 on s0, 10.9.1.0/24 on
// s1.
void free_the_links() {
    for (const char* link : {"s0", "s1"})
        ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", link, "nomaster"}));
    for (const char* link : {"p0", "p1"})
        ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", link, "nomaster"}));
    for (const char* name : {"0", "1"}) {
        ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", std::string("s") + name, "up"}));
        ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", std::string("p") + name, "up"}));
        ASSERT_TRUE(run({"ip", "-n", "bt-a", "address", "add", fmt::format("10.9.{}.1/24", name), "dev",
                         std::string("s") + name}));
        ASSERT_TRUE(run({"ip", "-n", "bt-b", "address", "add", fmt::format("10.9.{}.2/24", name), "dev",
                         std::string("p") + name}));
    }
}

// Two links without a bond: the next hops of an ECMP route, say. Here the slaves' own links, taken apart.
TEST(Links, AreTracedAsIfTheyWereSlaves) {
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    free_the_links();
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const std::string out = fmt::format("/tmp/links-{}.out", getpid()),
                      err = fmt::format("/tmp/links-{}.err", getpid());
    for (const char* command : {"flows", "live"}) {
        SCOPED_TRACE(command);
        std::vector<std::string> arguments{program, command,   "--netns", "bt-a",   "--attach",
                                           "auto",  "--links", "s0,s1",   "--json", "-v"};
        if (std::string(command) == "flows") arguments.insert(arguments.end(), {"--for", "1h"});
        if (std::string(command) == "live") arguments.insert(arguments.end(), {"--interval", "200ms"});
        Background running(arguments, out, err);
        ASSERT_TRUE(await([&] {
            return read_file(err).find("counting on s0,s1 by tc") != std::string::npos ||
                   !read_file(out).empty();
        })) << read_file(err);
        for (const auto& [link, port] : {std::pair{"0", 40000}, {"1", 41000}}) {
            const auto sent =
                send_udp({ends.a, fmt::format("10.9.{}.1", link)}, {ends.b, fmt::format("10.9.{}.2", link)},
                         {{static_cast<std::uint16_t>(port), 5001, 5, 100}});
            ASSERT_TRUE(sent) << sent.error().what;
        }
        if (std::string(command) == "live") {
            EXPECT_TRUE(await([&] { return read_file(out).find("41000") != std::string::npos; }))
                << read_file(err);
        }
        EXPECT_EQ(running.stop(SIGINT), 0) << read_file(err);
        const std::string all = read_file(out);
        const std::string trimmed = all.substr(0, all.find_last_not_of('\n') + 1);
        const auto last = trimmed.rfind('\n');
        const std::string document = last == std::string::npos ? trimmed : trimmed.substr(last + 1);
        EXPECT_TRUE(is_valid(std::string(command) == "flows" ? all : document,
                             fmt::format("{}.schema.json", command)));
        const json parsed = json::parse(std::string(command) == "flows" ? all : document, nullptr, false);
        ASSERT_TRUE(parsed.is_object()) << all;
        EXPECT_EQ(parsed.at("attach"), "tc");
        EXPECT_FALSE(parsed.at("attach_limits").empty());
        const json& group = parsed.at("bonds").at(0);
        EXPECT_EQ(group.at("name"), "s0,s1");
        EXPECT_TRUE(group.at("mode").is_null());
        EXPECT_TRUE(group.at("xmit_hash_policy").is_null());
        unsigned found = 0;
        for (const json& flow : group.at("flows")) {
            if (flow.at("protocol") != "udp" || flow.at("remote_port") != 5001) continue;
            ++found;
            const std::string slave = flow.at("local_port") == 40000 ? "s0" : "s1";
            EXPECT_EQ(flow.at("tx").at(0).at("slave"), slave);
            EXPECT_EQ(flow.at("tx").at(0).at("packets"), 5);
        }
        EXPECT_EQ(found, 2U) << document;
        if (std::string(command) != "flows") continue;
        for (const json& slave : group.at("slaves"))
            EXPECT_EQ(slave.at("coverage").at("tx"), 1) << slave;
    }
    std::remove(out.c_str());
    std::remove(err.c_str());
}

// All on one of two, as two next hops of which one is never chosen.
TEST(Links, AreAudited) {
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    free_the_links();
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const std::string out = fmt::format("/tmp/links-{}.out", getpid()),
                      err = fmt::format("/tmp/links-{}.err", getpid());
    Background running({program, "audit", "--netns", "bt-a", "--attach", "auto", "--links", "s0,s1", "--json",
                        "-v", "--for", "1h"},
                       out, err);
    ASSERT_TRUE(await([&] { return read_file(err).find("counting on s0,s1") != std::string::npos; }))
        << read_file(err);
    std::vector<UdpFlow> flows;
    for (std::uint16_t i = 0; i < 64; ++i)
        flows.push_back({static_cast<std::uint16_t>(40000 + i), 5001, 10, 100});
    const auto sent = send_udp({ends.a, "10.9.0.1"}, {ends.b, "10.9.0.2"}, flows);
    ASSERT_TRUE(sent) << sent.error().what;
    EXPECT_EQ(running.stop(SIGINT), 1) << read_file(err);
    const std::string text = read_file(out);
    EXPECT_TRUE(is_valid(text, "audit.schema.json"));
    const json document = json::parse(text, nullptr, false);
    ASSERT_TRUE(document.is_object()) << text;
    EXPECT_EQ(document.at("attach"), "tc");
    const json& group = document.at("bonds").at(0);
    EXPECT_EQ(group.at("name"), "s0,s1");
    EXPECT_TRUE(group.at("mode").is_null());
    EXPECT_TRUE(group.at("lacp").is_null());
    EXPECT_EQ(group.at("balance").at("tx").at("verdict"), "uneven");
    std::vector<std::string> faults;
    for (const json& finding : document.at("findings"))
        if (finding.at("severity") != "info") faults.push_back(finding.at("id"));
    EXPECT_THAT(faults, testing::ElementsAre("hash.imbalanced")) << text;
    const Output check =
        capture({program, "check", "--json", "--netns", "bt-a", "--attach", "auto", "--links", "s0,s1"});
    EXPECT_EQ(check.status, 0) << check.out << check.err;
    EXPECT_TRUE(is_valid(check.out, "check.schema.json"));
    EXPECT_EQ(json::parse(check.out).at("attach"), "tc");
    std::remove(out.c_str());
    std::remove(err.c_str());
}

TEST(Links, WhatTheyCannotBeIsSaid) {
    const Lab lab("direct --mode balance-xor");
    ASSERT_FALSE(HasFatalFailure());
    for (const auto& [arguments, words] :
         {std::pair{std::vector<std::string>{"flows", "--links", "s0,nothere"}, "there is no link nothere"},
          {{"flows", "--links", "bond0,s0"}, "bond0 is a bond"},
          {{"flows", "--links", "s0,s0"}, "names s0 twice"},
          {{"flows", "--links", "s0,lo"}, "lo does not carry Ethernet frames"},
          {{"flows", "bond0", "--links", "s0"}, "not both"}}) {
        const Output answer = with_links(arguments);
        EXPECT_EQ(answer.status, 64) << answer.err;
        EXPECT_THAT(answer.err, HasSubstr(words));
    }
    const Output fentry =
        capture({program, "flows", "--netns", "bt-a", "--links", "s0", "--attach", "fentry"});
    EXPECT_EQ(fentry.status, 64) << fentry.err;
    EXPECT_THAT(fentry.err, HasSubstr("cannot be traced by fentry"));
}

// Case 57. Sets lockdown, which lasts until the machine is switched off: only run by itself (tools/test
// does).
TEST(Lockdown, DISABLED_ConfidentialityLeavesTc) {
    ::unsetenv("BONDTRACE_ATTACH"); // what auto makes of it is the question
    static_cast<void>(capture({"mount", "-t", "securityfs", "securityfs", "/sys/kernel/security"}));
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    std::ofstream("/sys/kernel/security/lockdown") << "confidentiality";
    ASSERT_THAT(read_file("/sys/kernel/security/lockdown"), HasSubstr("[confidentiality]"));
    const LabEnds ends = LabEnds::open();
    const auto observed = observe(ends.a, [&] {
        return send_udp(ends.v4_a(), ends.v4_b(), {{40000, 5001, 9, 100}, {40002, 5001, 5, 200}});
    });
    ASSERT_TRUE(observed) << observed.error().what;
    EXPECT_EQ(observed->attachment, "tc");
    EXPECT_THAT(fmt::format("{}", fmt::join(observed->passed_over, "\n")), HasSubstr("confidentiality"));
    expect_conservation(*observed, Unit::skb, Unit::skb);
    const Output check = capture({program, "check"});
    EXPECT_THAT(check.out, HasSubstr("lockdown is in confidentiality mode"));
    // What needs no BPF goes on.
    EXPECT_THAT(capture({program, "audit", "--netns", "bt-a", "--for", "100ms"}).out, HasSubstr("BONDTRACE"));
}

} // namespace
} // namespace bondtrace::test
