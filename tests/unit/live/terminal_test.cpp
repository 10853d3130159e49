// SPDX-License-Identifier: GPL-2.0-or-later
// The program on a terminal, fed from a recording: it needs neither privileges nor a bond.
#include "tests/support/pseudo_terminal.h"
#include "tests/unit/live/reading_builder.h"
#include "user/live/live_json.h"

#include <csignal>
#include <fstream>

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::HasSubstr;

const std::string program = BONDTRACE_PROGRAM;

// Five readings of 30 flows, a second apart; s0 goes down in the fourth.
class RecordingFile {
  public:
    RecordingFile() : path_(testing::TempDir() + "recording-XXXXXX") {
        const int fd = mkstemp(path_.data());
        EXPECT_GE(fd, 0);
        close(fd);
        std::ofstream file(path_);
        LiveModel model;
        for (unsigned at = 0; at < 5; ++at) {
            ReadingBuilder builder(at);
            for (std::uint16_t i = 0; i < 30; ++i) {
                const auto port = static_cast<std::uint16_t>(40000 + i);
                const int slave = i % 2 == 0 ? s0 : s1;
                const std::uint64_t packets = 1000U * (at < 3 || slave == s1 ? at + 1 : 3) * (40U - i);
                builder.sent(port, slave, packets, packets * 1000, 0, at < 3 || slave == s1 ? at : 2);
                if (at >= 3 && slave == s0)
                    builder.sent(port, s1, 1000U * (at - 2), 1000000U * (at - 2), 2.5, at);
            }
            if (at >= 3) builder.down(s0);
            model.update(builder);
            FlowView view;
            view.rebuild(model, {});
            file << live_json(model, view, at, 1000, 0);
        }
    }
    ~RecordingFile() { std::remove(path_.c_str()); }
    RecordingFile(const RecordingFile&) = delete;
    RecordingFile& operator=(const RecordingFile&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

class TerminalTest : public testing::Test {
  protected:
    std::vector<std::string> replay() const { return {program, "--replay", file_.path()}; }
    RecordingFile file_;
};

TEST_F(TerminalTest, PlaysPausedAndByStep) {
    PseudoTerminal terminal(replay(), {120, 40});
    ASSERT_TRUE(terminal.await_text("10.77.0.1:40000")) << terminal.text();
    terminal.send(" ");
    ASSERT_TRUE(terminal.await_text("PAUSED")) << terminal.text();
    while (terminal.row_with("replay 1/5") < 0) {
        const std::string before = terminal.line(0);
        terminal.send(",");
        ASSERT_TRUE(terminal.await([&] { return terminal.line(0) != before; })) << terminal.text();
    }
    EXPECT_TRUE(terminal.await_text("LACP up")) << terminal.text();
    for (const char* place : {"replay 2/5", "replay 3/5", "replay 4/5"}) {
        terminal.send(".");
        ASSERT_TRUE(terminal.await_text(place)) << terminal.text();
    }
    EXPECT_TRUE(terminal.await_text("LACP 1 of 2 up")) << terminal.text();
    EXPECT_TRUE(terminal.await_text("s0→s1")) << terminal.text();
    terminal.send("e");
    ASSERT_TRUE(terminal.await_text("15 flows moved from s0 to s1")) << terminal.text();
    ASSERT_TRUE(terminal.await_text("slave s0 down")) << terminal.text();
    terminal.send(",");
    ASSERT_TRUE(terminal.await_text("replay 3/5"));
    EXPECT_TRUE(terminal.await_text("nothing has happened")) << "stepped back before it\n" << terminal.text();
    terminal.send("q");
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_EQ(terminal.not_restored(), "");
}

TEST_F(TerminalTest, FollowsItsSizeAtOnce) {
    PseudoTerminal terminal(replay(), {80, 24});
    ASSERT_TRUE(terminal.await_text("10.77.0.1:40000"));
    terminal.send(" ");
    ASSERT_TRUE(terminal.await_text("PAUSED")); // nothing but the size changes the screen from now on
    terminal.resize({60, 16});
    ASSERT_TRUE(terminal.await([&] { return terminal.line(15).find("q quit") != std::string::npos; }))
        << terminal.text();
    EXPECT_TRUE(terminal.await_text("10.77.0.1:40000 ↔ 10.77.0.2:5201")) << terminal.text();
    terminal.resize({200, 50});
    ASSERT_TRUE(terminal.await([&] { return terminal.line(49).find("interval") != std::string::npos; }))
        << terminal.text();
    EXPECT_TRUE(terminal.await_text("packets/s")) << terminal.text();
    EXPECT_TRUE(terminal.await_text("30 conversations")) << terminal.text();
    terminal.resize({20, 5});
    ASSERT_TRUE(terminal.await_text("needs 40x12")) << terminal.text();
    terminal.resize({80, 24});
    ASSERT_TRUE(terminal.await_text("10.77.0.1:40000")) << terminal.text();
    terminal.send("q");
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_EQ(terminal.not_restored(), "");
}

TEST_F(TerminalTest, KeysReachIt) {
    PseudoTerminal terminal(replay(), {120, 40});
    ASSERT_TRUE(terminal.await_text("10.77.0.1:40000"));
    terminal.send(" ");
    ASSERT_TRUE(terminal.await_text("PAUSED"));
    terminal.send("\x1bOB\x1bOB"); // down, twice, as a terminal sends it that was asked for keys
    ASSERT_TRUE(terminal.await([&] {
        const int row = terminal.row_with("10.77.0.1:40001");
        return row >= 0 && terminal.look(row, 1).reverse;
    })) << terminal.text();
    terminal.send("\r");
    ASSERT_TRUE(terminal.await_text("policy layer3+4:")) << terminal.text();
    terminal.send("\x1b");
    ASSERT_TRUE(terminal.await_no_text("policy layer3+4:")) << terminal.text();
    terminal.send("/port 40007\r");
    ASSERT_TRUE(terminal.await_text("1 conversation of 30 match port 40007")) << terminal.text();
    terminal.send("/\x15port\r");
    ASSERT_TRUE(terminal.await_text("expected")) << terminal.text();
    terminal.send("\x1b");
    ASSERT_TRUE(terminal.await_no_text("expected")) << terminal.text();
    terminal.send("/\x15\r");
    ASSERT_TRUE(terminal.await_text("30 conversations")) << terminal.text();
    terminal.send("\x1b[<0;20;20M\x1b[<0;20;20m"); // a click in line 20
    ASSERT_TRUE(terminal.await([&] { return terminal.look(19, 1).reverse; })) << terminal.text();
    terminal.send("h");
    ASSERT_TRUE(terminal.await_text("bondtrace: keys"));
    terminal.send("h\x0c");
    ASSERT_TRUE(terminal.await_no_text("bondtrace: keys"));
    terminal.send("q");
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_EQ(terminal.not_restored(), "");
}

TEST_F(TerminalTest, ColoursAsTheTerminalHasThem) {
    struct Case {
        const char* type;
        std::vector<std::string> environment;
        bool coloured;
    };
    for (const Case& one :
         {Case{"xterm-256color", {"LANG=C.UTF-8"}, true}, Case{"xterm", {"LANG=C.UTF-8"}, true},
          Case{"xterm-direct", {"LANG=C.UTF-8"}, true}, Case{"vt100", {"LANG=C.UTF-8"}, false},
          Case{"xterm-256color", {"LANG=C.UTF-8", "NO_COLOR=1"}, false}}) {
        SCOPED_TRACE(std::string(one.type) + " " + one.environment.back());
        PseudoTerminal terminal(replay(), {100, 30}, one.type, one.environment);
        ASSERT_TRUE(terminal.await_text("10.77.0.1:40000")) << terminal.text();
        const int row = terminal.row_with("s0 ");
        ASSERT_GE(row, 0);
        EXPECT_EQ(terminal.look(row, 1).coloured, one.coloured) << terminal.text();
        EXPECT_TRUE(terminal.look(row, 1).bold);
        terminal.send("q");
        EXPECT_EQ(terminal.wait(), 0);
    }
}

TEST_F(TerminalTest, WithoutUtf8ItIsAscii) {
    PseudoTerminal terminal(replay(), {100, 30}, "xterm", {"LC_ALL=C"});
    ASSERT_TRUE(terminal.await_text("10.77.0.1:40000 - 10.77.0.2:5201")) << terminal.text();
    for (const char byte : terminal.text())
        ASSERT_LT(static_cast<unsigned char>(byte), 0x80) << terminal.text();
    terminal.send("q");
    EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(TerminalTest, AnUnknownTerminalIsSaidSo) {
    PseudoTerminal terminal(replay(), {100, 30}, "no-such-terminal");
    EXPECT_EQ(terminal.wait(), 3);
    EXPECT_TRUE(terminal.await_text("no-such-terminal")) << terminal.text();
    EXPECT_TRUE(terminal.await_text("--plain")) << terminal.text();
    EXPECT_EQ(terminal.not_restored(), "");
}

struct Ending {
    const char* name;
    std::function<void(PseudoTerminal&)> end;
    int status;
};

class Endings : public TerminalTest, public testing::WithParamInterface<Ending> {};

TEST_P(Endings, GiveTheTerminalBack) {
    PseudoTerminal terminal(replay(), {120, 40});
    ASSERT_TRUE(terminal.await_text("10.77.0.1:40000"));
    EXPECT_NE(terminal.not_restored(), "") << "it has taken nothing over: the test shows nothing";
    GetParam().end(terminal);
    EXPECT_EQ(terminal.wait(), GetParam().status);
    EXPECT_EQ(terminal.not_restored(), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, Endings,
    testing::Values(Ending{"q", [](PseudoTerminal& on) { on.send("q"); }, 0},
                    Ending{"CtrlC", [](PseudoTerminal& on) { on.send("\x03"); }, 0},
                    Ending{"SIGTERM", [](PseudoTerminal& on) { on.signal(SIGTERM); }, 0},
                    Ending{"SIGHUP", [](PseudoTerminal& on) { on.signal(SIGHUP); }, 0},
                    Ending{"abort", [](PseudoTerminal& on) { on.signal(SIGABRT); }, 128 + SIGABRT},
                    Ending{"crash", [](PseudoTerminal& on) { on.signal(SIGSEGV); }, 128 + SIGSEGV}),
    [](const auto& instance) { return std::string(instance.param.name); });

} // namespace
} // namespace bondtrace::test
