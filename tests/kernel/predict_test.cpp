// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace predict` as users run it, on bonds that are there: what it says is what the kernel does.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/namespace.h"
#include "tests/kernel/support/window.h"
#include "user/probe/era_probe.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

using testing::HasSubstr;

const std::string program = BONDTRACE_PROGRAM;

Output predict(const std::string& words_after, bool in_a = true) {
    std::vector<std::string> argv{program, "predict"};
    if (in_a) argv.insert(argv.end(), {"--netns", "bt-a"});
    const std::vector<std::string> more = words(words_after);
    argv.insert(argv.end(), more.begin(), more.end());
    return capture(argv);
}

std::string last_word(const std::string& text) {
    const std::vector<std::string> all = words(text.substr(0, text.find('\n')));
    return all.empty() ? "" : all.back();
}

std::vector<std::uint16_t> ports_in(const std::string& text) {
    std::vector<std::uint16_t> ports;
    std::istringstream lines(text);
    for (unsigned port = 0; lines >> port;)
        ports.push_back(static_cast<std::uint16_t>(port));
    return ports;
}

// The slave of bond0 in bt-a whose link carried this source port, by what arrived at the other end.
std::string slave_of_port(std::map<std::string, std::map<std::uint16_t, Tap::Seen>>& seen,
                          std::uint16_t port) {
    for (const auto& [slave, ports] : seen)
        if (ports.contains(port)) return slave;
    return "none";
}

class Predict : public testing::TestWithParam<const char*> {};

// Ports that --reach gives are sent from, and arrive over the slave that was asked for; and what predict says
// of any other port is so too. For layer2 policies the MAC addresses come from the route and the neighbour
// table.
TEST_P(Predict, IsWhatTheKernelDoes) {
    const std::string policy = GetParam();
    const auto era = find_era();
    ASSERT_TRUE(era) << era.error().what;
    if (policy == "vlan+srcmac" && era->era.dissector == Dissector::classic) return; // not before 5.12
    const Lab lab(fmt::format("direct --mode balance-xor --slaves 3 --policy {}", policy));
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    std::map<std::string, Tap> taps;
    for (const char* link : {"0", "1", "2"}) {
        auto tap = Tap::open(ends.b, fmt::format("p{}", link));
        ASSERT_TRUE(tap) << tap.error().what;
        taps.emplace(fmt::format("s{}", link), std::move(*tap));
    }
    std::vector<UdpFlow> flows;
    std::map<std::uint16_t, std::string> promised;
    const bool by_port = policy == "layer3+4";
    for (const char* slave : {"s0", "s1", "s2"}) {
        const Output reach = predict(fmt::format(
            "bond0 udp 10.77.0.1 10.77.0.2:5001 --reach {} --count 10 --ports 20000-29999", slave));
        EXPECT_EQ(reach.status, by_port ? 0 : 64) << reach.out << reach.err;
        if (!by_port) {
            EXPECT_THAT(reach.err, HasSubstr("does not hash ports"));
            continue;
        }
        const auto ports = ports_in(reach.out);
        EXPECT_EQ(ports.size(), 10U) << reach.out;
        for (const std::uint16_t port : ports)
            promised[port] = slave;
    }
    std::string list;
    for (std::uint16_t port = 30000; port < 30024; ++port)
        list += fmt::format("udp 10.77.0.1:{} 10.77.0.2:5001\n", port);
    const std::string path = fmt::format("/tmp/predict-{}.txt", getpid());
    std::ofstream(path) << list;
    const Output answers =
        capture({"sh", "-c", "exec \"$0\" predict --netns bt-a bond0 - <\"$1\"", program, path});
    std::remove(path.c_str());
    ASSERT_EQ(answers.status, 0) << answers.out << answers.err;
    std::istringstream lines(answers.out);
    std::uint16_t port = 30000;
    for (std::string line; std::getline(lines, line); ++port)
        promised[port] = last_word(line);
    ASSERT_EQ(port, 30024);

    for (const auto& [source_port, slave] : promised)
        flows.push_back({source_port, 5001, 1, 100});
    const auto sent = send_udp(ends.v4_a(), ends.v4_b(), flows);
    ASSERT_TRUE(sent) << sent.error().what;
    std::map<std::string, std::map<std::uint16_t, Tap::Seen>> seen;
    for (auto& [slave, tap] : taps) {
        const auto frames = tap.udp_by_source_port();
        ASSERT_TRUE(frames) << frames.error().what;
        seen[slave] = *frames;
    }
    for (const auto& [source_port, slave] : promised)
        EXPECT_EQ(slave, slave_of_port(seen, source_port)) << source_port;
}

INSTANTIATE_TEST_SUITE_P(Policies, Predict,
                         testing::Values("layer2", "layer2+3", "layer3+4", "encap2+3", "vlan+srcmac"),
                         [](const auto& instance) {
                             std::string name = instance.param;
                             std::replace(name.begin(), name.end(), '+', '_');
                             return name;
                         });

TEST(PredictProgram, SaysWhyAndInJson) {
    const Lab lab("direct --mode 802.3ad --slaves 2 --policy layer2+3 --vlan 100");
    ASSERT_FALSE(HasFatalFailure());
    const Output verbose = predict("bond0 tcp 10.77.0.1:40000 10.77.0.2:443 -v");
    EXPECT_EQ(verbose.status, 0) << verbose.err;
    EXPECT_THAT(verbose.out, HasSubstr("probed"));
    EXPECT_THAT(verbose.out, HasSubstr("MAC 02:77:00:00:00:01 and 02:77:00:00:00:02"));
    EXPECT_THAT(verbose.out, HasSubstr("0 s0, 1 s1"));
    // The way to the VLAN's addresses leads through its device, and IPv6 has its own table.
    for (const char* flow : {"bond0 tcp 10.78.0.1:1 10.78.0.2:2", "bond0 tcp [fd77::1]:1 [fd77::2]:2"}) {
        const Output output = predict(std::string(flow) + " --json");
        EXPECT_EQ(output.status, 0) << output.err;
        const std::string path = fmt::format("/tmp/predict-{}.json", getpid());
        std::ofstream(path) << output.out;
        EXPECT_TRUE(run({BONDTRACE_SOURCE_DIR "/tools/validate-json",
                         BONDTRACE_SOURCE_DIR "/docs/schema/predict.schema.json", path}));
        std::remove(path.c_str());
        const auto document = nlohmann::json::parse(output.out);
        const auto& prediction = document.at("predictions").at(0);
        EXPECT_EQ(prediction.at("dst_mac"), "02:77:00:00:00:02");
        EXPECT_EQ(document.at("era").at("source"), "probed");
        if (std::string(flow).find("10.78") != std::string::npos) {
            EXPECT_EQ(prediction.at("tci"), 100);
        }
    }

    const Output unknown = predict("bond0 tcp 10.77.0.1:1 10.77.0.99:2");
    EXPECT_EQ(unknown.status, 3);
    EXPECT_THAT(unknown.out, HasSubstr("not predictable: next hop's MAC unknown: 10.77.0.99 on bond0"));
    EXPECT_THAT(unknown.err, HasSubstr("ping 10.77.0.99"));
    EXPECT_EQ(predict("bond0 tcp 10.77.0.1:1 10.77.0.99:2 --dst-mac 02:00:00:00:00:09").status, 0);
    EXPECT_THAT(predict("bond0 tcp 10.77.0.1:1 8.8.8.8:2").out, HasSubstr("no route to 8.8.8.8"));
    EXPECT_THAT(predict("bond0 tcp 10.77.0.2:1 10.77.0.1:2").out, HasSubstr("address of this host"));
    EXPECT_EQ(predict("bond0 udp 10.77.0.1:1 224.0.0.251:5353").status, 0);
    const Output elsewhere = predict("bond9 tcp 10.77.0.1:1 10.77.0.2:2");
    EXPECT_EQ(elsewhere.status, 64);
    EXPECT_THAT(elsewhere.err, HasSubstr("bond9"));
}

TEST(PredictProgram, NeverGuessesASocketsHash) {
    const Lab lab("direct --mode balance-xor --slaves 2 --policy encap3+4");
    ASSERT_FALSE(HasFatalFailure());
    const Output tcp = predict("bond0 tcp 10.77.0.1:40000 10.77.0.2:443");
    EXPECT_EQ(tcp.status, 3);
    EXPECT_THAT(tcp.out, HasSubstr("not predictable"));
    EXPECT_THAT(tcp.out, HasSubstr("socket"));
    EXPECT_EQ(predict("bond0 tcp 10.77.0.1:40000 10.77.0.2:443 --skb-hash none").status, 0);
    const Output reach = predict("bond0 tcp 10.77.0.1 10.77.0.2:443 --reach s0");
    EXPECT_EQ(reach.status, 3);
    EXPECT_THAT(reach.err, HasSubstr("socket"));
}

TEST(PredictProgram, AvoidsPortsInUse) {
    const Lab lab("direct --mode balance-xor --slaves 2 --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const std::string question = "bond0 tcp 10.77.0.1 10.77.0.2:443 --reach s0 --ports 20000-20099 --count ";
    const auto all = ports_in(predict(question + "20").out);
    ASSERT_EQ(all.size(), 20U);
    const LabEnds ends = LabEnds::open();
    const auto holder = run_in(ends.a, [&]() -> Result<Fd> {
        Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_port = htons(all[0]);
        if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 ||
            listen(socket.get(), 1) != 0)
            return fail_errno(errno, "listening");
        return socket;
    });
    ASSERT_TRUE(holder) << holder.error().what;
    const auto free = ports_in(predict(question + "1").out);
    ASSERT_EQ(free.size(), 1U);
    EXPECT_EQ(free[0], all[1]);
    const Output too_many = predict(question + "1000");
    EXPECT_EQ(too_many.status, 3);
    EXPECT_THAT(too_many.err, HasSubstr("of 1000 source ports"));
}

TEST(PredictProgram, WithoutRightsAssumesTheEraAndSaysSo) {
    const Lab lab("direct --mode balance-xor --slaves 2 --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const Output output = capture({"ip", "netns", "exec", "bt-a", "setpriv", "--reuid=65534", "--regid=65534",
                                   "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", program,
                                   "predict", "bond0", "tcp", "10.77.0.1:40000", "10.77.0.2:443", "-v"});
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("assumed (from release "));
    EXPECT_THAT(output.out, HasSubstr("EPERM"));
}

} // namespace
} // namespace bondtrace::test
