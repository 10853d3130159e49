// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace whatif` on a live bond, from the document of the same flows, and from a capture of the same
// traffic: what it says about the policy in use is what the slaves carried.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/window.h"
#include "user/bond/usable.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace bondtrace::test {
namespace {

const std::string program = BONDTRACE_PROGRAM;

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<UdpFlow> flows_of_several_sizes() {
    std::vector<UdpFlow> flows;
    for (std::uint16_t i = 0; i < 48; ++i)
        flows.push_back({static_cast<std::uint16_t>(30000 + i), 5001, 1U + i % 5U, 100U + i});
    return flows;
}

// Runs `bondtrace COMMAND...` in the background and sends the flows when it watches; its output is JSON.
nlohmann::json watched(const LabEnds& ends, std::vector<std::string> arguments) {
    const std::string out = fmt::format("/tmp/whatif-{}.out", getpid()),
                      err = fmt::format("/tmp/whatif-{}.err", getpid());
    arguments.insert(arguments.begin(), program);
    arguments.emplace_back("-v");
    {
        Background process(arguments, out, err);
        EXPECT_TRUE(await([&] { return read_file(err).find("bondtrace: counting") != std::string::npos; }));
        const auto sent = send_udp(ends.v4_a(), ends.v4_b(), flows_of_several_sizes());
        EXPECT_TRUE(sent) << sent.error().what;
        EXPECT_EQ(process.stop(SIGINT), 0) << read_file(err);
    }
    auto document = nlohmann::json::parse(read_file(out), nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << read_file(out) << read_file(err);
    std::remove(out.c_str());
    std::remove(err.c_str());
    return document;
}

nlohmann::json row_of(const nlohmann::json& document, const std::string& policy, unsigned slaves) {
    for (const auto& row : document.at("rows"))
        if (row.at("policy") == policy && row.at("slaves") == slaves) return row;
    ADD_FAILURE() << "no row for " << policy;
    return {};
}

TEST(Whatif, OfTheCurrentPolicyIsWhatTheSlavesCarry) {
    const Lab lab("direct --mode balance-xor --slaves 3 --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();

    // The capture of what leaves the bond, taken beside the traced window.
    const std::string pcap = fmt::format("/tmp/whatif-{}.pcap", getpid());
    nlohmann::json flows;
    {
        Background tcpdump({"ip", "netns", "exec", "bt-a", "tcpdump", "-U", "-w", pcap, "-i", "bond0",
                            "--immediate-mode", "-s", "256", "-B", "16384", "udp"},
                           "/dev/null", "/dev/null");
        ASSERT_TRUE(await([&] { return !read_file(pcap).empty(); }));
        flows =
            watched(ends, {"flows", "bond0", "--netns", "bt-a", "--for", "1h", "--json", "--filter", "udp"});
        // What is in the kernel's buffer when tcpdump ends is lost: it must have written all before.
        constexpr std::size_t file_header = 24, packet_header = 16, headers = 42;
        std::size_t expected = file_header;
        for (const UdpFlow& flow : flows_of_several_sizes())
            expected += flow.packets * (packet_header + headers + flow.payload);
        ASSERT_TRUE(await([&] { return read_file(pcap).size() >= expected; })) << read_file(pcap).size();
        tcpdump.stop(SIGTERM);
    }
    std::map<std::string, std::uint64_t> packets;
    std::uint64_t bytes = 0;
    for (const auto& flow : flows.at("bonds").at(0).at("flows"))
        for (const auto& use : flow.at("tx")) {
            packets[use.at("slave")] += 1;
            bytes += use.at("wire_bytes").get<std::uint64_t>();
        }
    const std::string document = fmt::format("/tmp/whatif-{}.json", getpid());
    std::ofstream(document) << flows.dump();

    for (const std::vector<std::string>& source :
         {std::vector<std::string>{"--from", document},
          {"bond0", "--netns", "bt-a", "--pcap", pcap, "--sender", "10.77.0.1"}}) {
        std::vector<std::string> argv{program, "whatif", "--json"};
        argv.insert(argv.end(), source.begin(), source.end());
        const Output output = capture(argv);
        ASSERT_EQ(output.status, 0) << output.err;
        const auto whatif = nlohmann::json::parse(output.out);
        EXPECT_EQ(whatif.at("flows"), 48);
        EXPECT_EQ(whatif.at("bytes"), bytes);
        const auto row = row_of(whatif, "layer3+4", 3);
        EXPECT_EQ(row.at("current"), true);
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_EQ(row.at("loads").at(i).at("flows"), packets[fmt::format("s{}", i)]) << i;
        // One pair of addresses: everything on one slave.
        EXPECT_EQ(row_of(whatif, "layer2+3", 3).at("largest_byte_share"), 1.0);
    }
    std::remove(pcap.c_str());
    std::remove(document.c_str());

    const auto live = watched(ends, {"whatif", "bond0", "--netns", "bt-a", "--for", "1h", "--json"});
    EXPECT_EQ(live.at("attach"), to_text(test_attachment()));
    EXPECT_EQ(live.at("era").at("source"), "probed");
    EXPECT_EQ(live.at("xmit_hash_policy"), "layer3+4");
    const auto row = row_of(live, "layer3+4", 3);
    std::uint64_t all = 0;
    for (const auto& load : row.at("loads"))
        all += load.at("flows").get<std::uint64_t>();
    EXPECT_GE(all, 48U);
    const std::string path = fmt::format("/tmp/whatif-{}.json", getpid());
    std::ofstream(path) << live.dump();
    EXPECT_TRUE(run({BONDTRACE_SOURCE_DIR "/tools/validate-json",
                     BONDTRACE_SOURCE_DIR "/docs/schema/whatif.schema.json", path}));
    std::remove(path.c_str());
}

} // namespace
} // namespace bondtrace::test
