// SPDX-License-Identifier: GPL-2.0-or-later
// Rights: what is enough, what is given up, and what is said when some are missing.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/program.h"
#include "tests/kernel/support/window.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string program = BONDTRACE_PROGRAM;

// The program inside bt-a as nobody with these capabilities ("+bpf,+perfmon") and no others.
std::vector<std::string> as_nobody(const std::string& capabilities,
                                   const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{"ip",      "netns",         "exec",          "bt-a",
                                  "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    if (capabilities.empty()) {
        argv.insert(argv.end(), {"--bounding-set=-all", "--inh-caps=-all"});
    } else {
        argv.push_back("--bounding-set=-all," + capabilities);
        argv.push_back("--inh-caps=-all," + capabilities);
        argv.push_back("--ambient-caps=-all," + capabilities);
    }
    argv.push_back(program);
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return argv;
}

// Before 5.8 the programs of kprobes and tc are CAP_SYS_ADMIN's; every kernel tested here is newer.
TEST(Privileges, ThreeCapabilitiesAreEnough) {
    ::unsetenv("BONDTRACE_ATTACH"); // auto must find what these allow
    const Lab lab("direct --mode balance-xor --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const std::string out = "/tmp/bondtrace-privileges-out", err = "/tmp/bondtrace-privileges-err";
    Background flows(as_nobody("+bpf,+perfmon,+net_admin", {"flows", "bond0", "--for", "1h", "--json", "-v"}),
                     out, err);
    ASSERT_TRUE(await([&] { return read_file(err).find("counting on bond0") != std::string::npos; }))
        << read_file(err);
    const auto sent = send_udp(ends.v4_a(), ends.v4_b(), {{40000, 5001, 9, 100}, {40002, 5001, 5, 200}});
    ASSERT_TRUE(sent) << sent.error().what;
    EXPECT_EQ(flows.stop(SIGINT), 0) << read_file(err);
    const json document = json::parse(read_file(out));
    EXPECT_THAT(document.at("attach").get<std::string>(), testing::AnyOf("kprobe", "tc"));
    std::uint64_t packets = 0;
    for (const json& flow : document.at("bonds").at(0).at("flows"))
        if (flow.at("protocol") == "udp")
            for (const json& use : flow.at("tx"))
                packets += use.at("packets").get<std::uint64_t>();
    EXPECT_EQ(packets, 14U) << document.dump(1);
    EXPECT_THAT(read_file(err), HasSubstr("cap_sys_admin")) << "why it is not fentry";
    ::unlink(out.c_str());
    ::unlink(err.c_str());
}

// Case 58: in a container without rights the missing ones are named, and the kernel is not blamed.
TEST(Privileges, Case58WithoutRightsTheMissingOnesAreNamed) {
    const Lab lab("direct --mode balance-xor");
    ASSERT_FALSE(HasFatalFailure());
    for (const auto& [held, missing] : {std::pair<std::string, std::string>{"", "cap_bpf"},
                                        {"+bpf,+net_admin", "cap_perfmon"},
                                        {"+bpf,+perfmon", "cap_net_admin"}}) {
        const Output output = capture(as_nobody(held, {"flows", "--for", "0"}));
        EXPECT_EQ(output.status, 3) << held << output.err;
        EXPECT_THAT(output.err, HasSubstr(missing)) << held;
        EXPECT_THAT(output.err, Not(HasSubstr("CONFIG_BPF")));
    }
    const Output audit = capture(as_nobody("", {"audit", "--for", "0"}));
    EXPECT_THAT(audit.out, HasSubstr("BONDTRACE"));
}

struct Capabilities {
    std::uint64_t effective = 0, permitted = 0;
    std::string no_new_privileges;
    bool operator==(const Capabilities&) const = default;
};

// Those of each thread of a process.
std::vector<Capabilities> capabilities_of(pid_t pid) {
    std::vector<Capabilities> threads;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
        std::ifstream status(task.path() / "status");
        Capabilities& of = threads.emplace_back();
        for (std::string line; std::getline(status, line);) {
            std::istringstream words(line);
            std::string name;
            words >> name;
            if (name == "CapEff:") words >> std::hex >> of.effective;
            if (name == "CapPrm:") words >> std::hex >> of.permitted;
            if (name == "NoNewPrivs:") words >> of.no_new_privileges;
        }
    }
    return threads;
}

constexpr std::uint64_t bit(int capability) {
    return std::uint64_t{1} << static_cast<unsigned>(capability);
}

TEST(Privileges, WhatIsNotNeededAnyMoreIsGivenUp) {
    const Lab lab("direct --mode balance-xor");
    ASSERT_FALSE(HasFatalFailure());
    const std::string err = "/tmp/bondtrace-privileges-err";
    const Background flows({"ip", "netns", "exec", "bt-a", program, "flows", "bond0", "--for", "1h", "-v"},
                           "/dev/null", err);
    ASSERT_TRUE(await([&] { return read_file(err).find("counting on bond0") != std::string::npos; }));
    const std::uint64_t kept = bit(CAP_BPF) | bit(CAP_NET_ADMIN);
    EXPECT_THAT(capabilities_of(flows.pid()), AllOf(Not(IsEmpty()), Each(Capabilities{kept, kept, "1"})));
    ::unlink(err.c_str());
}

// Every thread of both ends, while they trace and a stranger's messages are read.
TEST(Privileges, OfThoseWhoProveAreFew) {
    const Lab lab("direct --mode balance-xor");
    ASSERT_FALSE(HasFatalFailure());
    const std::string server_err = "/tmp/bondtrace-server-err", err = "/tmp/bondtrace-prove-err";
    const Background server({"ip", "netns", "exec", "bt-b", program, "traffic", "server", "--trace", "bond0"},
                            "/dev/null", server_err);
    ASSERT_TRUE(await([&] { return read_file(server_err).find("listening") != std::string::npos; }));
    const Background proof({"ip", "netns", "exec", "bt-a", program, "prove", "bond0", "--peer", "10.77.0.2",
                            "--flows", "4", "--total-rate", "1M", "--for", "1h"},
                           "/dev/null", err);
    ASSERT_TRUE(await([&] { return read_file(err).find("4 flows") != std::string::npos; })) << read_file(err);
    const std::uint64_t kept = bit(CAP_BPF) | bit(CAP_NET_ADMIN);
    EXPECT_THAT(capabilities_of(proof.pid()), AllOf(Not(IsEmpty()), Each(Capabilities{kept, kept, "1"})));
    const std::uint64_t tracing = kept | bit(CAP_PERFMON);
    EXPECT_THAT(capabilities_of(server.pid()),
                AllOf(Not(IsEmpty()), Each(Capabilities{tracing, tracing, "1"})));
    ::unlink(server_err.c_str());
    ::unlink(err.c_str());
}

// Case 56: a kernel without the maps that are needed, for which bpf(BPF_MAP_CREATE) that answers EINVAL
// stands here.
TEST(OldKernels, Case56RefusedMapsAreNamedWithTheLeastKernel) {
    const Lab lab("direct --mode balance-xor");
    ASSERT_FALSE(HasFatalFailure());
    // BPF_LD+W+ABS, BPF_JMP+JEQ and BPF_RET of linux/filter.h; 321 is bpf() on x86-64, 0 BPF_MAP_CREATE.
    const std::string refuse = R"(import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
program = [(0x20, 0, 0, 0), (0x15, 0, 3, 321), (0x20, 0, 0, 16), (0x15, 0, 1, 0), (6, 0, 0, 0x00050000 | 22),
           (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in program))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(
    22, 2, ctypes.byref(Filter(len(program), ctypes.addressof(code))), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
)";
    const Output output =
        capture({"python3", "-c", refuse, program, "flows", "--netns", "bt-a", "--for", "0"});
    EXPECT_EQ(output.status, 3) << output.err;
    EXPECT_THAT(output.err, HasSubstr("BPF_F_MMAPABLE, since Linux 5.5"));
    EXPECT_THAT(output.err, HasSubstr("tested from Linux 5.10"));
    const Output audit =
        capture({"python3", "-c", refuse, program, "audit", "--netns", "bt-a", "--for", "0"});
    EXPECT_THAT(audit.out, HasSubstr("BONDTRACE")) << audit.err;
}

} // namespace
} // namespace bondtrace::test
