// SPDX-License-Identifier: GPL-2.0-or-later
// The program as users run it: its documents, its endings, and what it says to wrong input.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/window.h"

#include <csignal>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace bondtrace::test {
namespace {

using testing::HasSubstr;

const std::string program = BONDTRACE_PROGRAM;

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// `bondtrace flows` in the background, counting when the constructor returns.
class RunningFlows {
  public:
    explicit RunningFlows(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {program, "flows", "-v"});
        process_.emplace(arguments, out_, err_);
        EXPECT_TRUE(await([&] { return read_file(err_).find("bondtrace: counting") != std::string::npos; }))
            << read_file(err_);
    }
    ~RunningFlows() {
        std::remove(out_.c_str());
        std::remove(err_.c_str());
    }
    RunningFlows(const RunningFlows&) = delete;
    RunningFlows& operator=(const RunningFlows&) = delete;
    int stop(int signal) { return process_->stop(signal); }
    [[nodiscard]] std::string out() const { return read_file(out_); }

  private:
    std::string out_ = fmt::format("/tmp/flows-{}.out", getpid());
    std::string err_ = fmt::format("/tmp/flows-{}.err", getpid());
    std::optional<Background> process_;
};

testing::AssertionResult is_valid(const std::string& document, const std::string& schema) {
    const std::string path = fmt::format("/tmp/document-{}.json", getpid());
    std::ofstream(path) << document;
    const auto result = run(
        {BONDTRACE_SOURCE_DIR "/tools/validate-json", BONDTRACE_SOURCE_DIR "/docs/schema/" + schema, path});
    std::remove(path.c_str());
    return result;
}

Output flows(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {program, "flows"});
    return capture(arguments);
}

TEST(Endings, SigintGivesTheResultSoFar) {
    const Lab lab("direct --mode 802.3ad --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    RunningFlows running({"bond0", "--netns", "bt-a", "--for", "1h", "--json"});
    // 40000 and 40002 take different slaves, 40000 and 40001 would not (the hash drops the lowest bit).
    const auto sent = send_udp(ends.v4_a(), ends.v4_b(), {{40000, 5001, 9, 100}, {40002, 5001, 5, 200}});
    ASSERT_TRUE(sent) << sent.error().what;
    EXPECT_EQ(running.stop(SIGINT), 0);

    EXPECT_TRUE(is_valid(running.out(), "flows.schema.json"));
    const auto document = nlohmann::json::parse(running.out());
    EXPECT_EQ(document.at("schema"), "bondtrace.flows/1");
    EXPECT_EQ(document.at("attach"), to_text(test_attachment()));
    unsigned found = 0;
    for (const auto& flow : document.at("bonds").at(0).at("flows")) {
        if (flow.at("protocol") != "udp" || flow.at("remote_port") != 5001) continue;
        const bool first = flow.at("local_port") == 40000;
        std::uint64_t packets = 0;
        for (const auto& use : flow.at("tx"))
            packets += use.at("packets").get<std::uint64_t>();
        EXPECT_EQ(packets, first ? 9U : 5U);
        EXPECT_EQ(flow.at("local"), "10.77.0.1");
        ++found;
    }
    EXPECT_EQ(found, 2U);
    for (const auto& slave : document.at("bonds").at(0).at("slaves"))
        EXPECT_EQ(slave.at("coverage").at("tx"), 1.0) << slave;
}

TEST(Endings, SigkillLeavesNothingBehind) {
    {
        const Lab lab("direct --mode 802.3ad");
        ASSERT_FALSE(HasFatalFailure());
        RunningFlows running({"--netns", "bt-a", "--for", "1h"});
        // It is there, so that its absence later means something.
        EXPECT_THAT(capture({"bpftool", "prog", "show"}).out,
                    HasSubstr(test_attachment() == Attachment::tc ? "bt_tc_tx" : "bt_tx"));
        EXPECT_EQ(running.stop(SIGKILL), 128 + SIGKILL);
        if (test_attachment() == Attachment::tc) { // kernels before 6.6 keep filters until the next start
            EXPECT_EQ(flows({"--netns", "bt-a", "--for", "10ms"}).status, 3);
        }
        EXPECT_TRUE(await([] {
            return capture({"bpftool", "prog", "show"}).out.find("bt_") == std::string::npos &&
                   capture({"bpftool", "link", "show"}).out.find("tracing") == std::string::npos;
        })) << capture({"bpftool", "link", "show"}).out;
    }
    // An attached program would pin the module.
    EXPECT_TRUE(run({"modprobe", "-r", "bonding"}));
}

TEST(WrongInput, NamesWhatIsWrong) {
    const Lab lab("direct --mode active-backup");
    ASSERT_FALSE(HasFatalFailure());
    const Output no_bond = flows({"bond7", "--netns", "bt-a", "--for", "0"});
    EXPECT_EQ(no_bond.status, 64);
    EXPECT_THAT(no_bond.err, HasSubstr("bond7"));
    EXPECT_EQ(no_bond.out, "");
    const Output no_kind = flows({"s0", "--netns", "bt-a", "--for", "0"});
    EXPECT_EQ(no_kind.status, 64);
    EXPECT_THAT(no_kind.err, HasSubstr("s0"));
    EXPECT_THAT(no_kind.err, HasSubstr("bond0"));
    const Output no_namespace = flows({"--netns", "bt-z", "--for", "0"});
    EXPECT_EQ(no_namespace.status, 64);
    EXPECT_THAT(no_namespace.err, HasSubstr("bt-z"));
    const Output no_filter = flows({"--netns", "bt-a", "--filter", "host tcp", "--for", "0"});
    EXPECT_EQ(no_filter.status, 64);
    EXPECT_THAT(no_filter.err, HasSubstr("^"));
    const Output no_slave = flows({"--netns", "bt-a", "--filter", "slave s9", "--for", "0"});
    EXPECT_EQ(no_slave.status, 64);
    EXPECT_THAT(no_slave.err, HasSubstr("s9"));
    const Output no_duration = flows({"--netns", "bt-a", "--for", "soon"});
    EXPECT_EQ(no_duration.status, 64);
    EXPECT_THAT(no_duration.err, HasSubstr("soon"));
}

TEST(WrongInput, NoTrafficIsCannotTell) {
    const Lab lab("direct --mode active-backup");
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(flows({"--netns", "bt-a", "--for", "0"}).status, 3);
}

TEST(WrongInput, WithoutRootSaysWhichRightIsMissing) {
    const Lab lab("direct --mode active-backup");
    ASSERT_FALSE(HasFatalFailure());
    const Output output =
        capture({"ip", "netns", "exec", "bt-a", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                 "--bounding-set=-all", "--inh-caps=-all", program, "flows", "--for", "0"});
    EXPECT_EQ(output.status, 3);
    EXPECT_THAT(output.err, HasSubstr("cap_bpf"));
}

TEST(WrongInput, WithoutTheDriver) {
    ASSERT_TRUE(run({"modprobe", "-r", "bonding"}));
    const Output output = flows({"--for", "0"});
    EXPECT_EQ(output.status, 3);
    EXPECT_THAT(output.err, HasSubstr("no bond"));
    EXPECT_THAT(output.err, HasSubstr("bonding driver is not loaded"));
    const Output check = capture({program, "check"});
    EXPECT_EQ(check.status, 3);
    EXPECT_THAT(check.out, HasSubstr("not loaded"));
}

// Cases 54 and 55: a kernel without BTF, as far as anybody can see from here: nothing is mounted where it
// would be found.
TEST(WrongInput, WithoutBtf) {
    const Lab lab("direct --mode active-backup");
    ASSERT_FALSE(HasFatalFailure());
    const auto without_btf = [&](std::vector<std::string> arguments) {
        std::vector<std::string> argv{
            "unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys/kernel/btf && exec \"$@\"",
            "sh",      program};
        argv.insert(argv.end(), arguments.begin(), arguments.end());
        return capture(argv);
    };
    const Output output = without_btf({"flows", "--netns", "bt-a", "--for", "0", "--attach", "fentry"});
    EXPECT_EQ(output.status, 3);
    EXPECT_THAT(output.err, HasSubstr("BTF"));
    // What needs none is taken instead, and said to be.
    const Output check = without_btf({"check", "--json", "--attach", "auto"});
    EXPECT_EQ(check.status, 0) << check.out << check.err;
    EXPECT_TRUE(is_valid(check.out, "check.schema.json"));
    const auto document = nlohmann::json::parse(check.out);
    EXPECT_EQ(document.at("attach"), "tc");
    for (const auto& rung : document.at("ladder")) {
        EXPECT_EQ(rung.at("works"), rung.at("attach") == "tc") << rung;
        if (rung.at("attach") != "tc") {
            EXPECT_THAT(rung.at("obstacle").get<std::string>(), HasSubstr("BTF"));
        }
    }
}

TEST(Check, SaysThatItWorks) {
    ASSERT_TRUE(run({"modprobe", "bonding", "max_bonds=0"}));
    const Output text = capture({program, "check"});
    EXPECT_EQ(text.status, 0) << text.out << text.err;
    EXPECT_THAT(text.out, HasSubstr(std::string(to_text(test_attachment()))));
    const Output json = capture({program, "check", "--json"});
    EXPECT_EQ(json.status, 0);
    EXPECT_TRUE(is_valid(json.out, "check.schema.json"));
    const auto document = nlohmann::json::parse(json.out);
    EXPECT_EQ(document.at("works"), true);
    for (const auto& hook : document.at("hooks"))
        EXPECT_TRUE(hook.at("in_symbols").get<bool>() &&
                    (hook.at("in_btf").get<bool>() || test_attachment() != Attachment::fentry))
            << hook;
}

} // namespace
} // namespace bondtrace::test
