// SPDX-License-Identifier: GPL-2.0-or-later
// What is on the screen, without one.
#include "tests/unit/live/reading_builder.h"
#include "user/base/text.h"
#include "user/live/columns.h"
#include "user/live/controller.h"
#include "user/live/screen.h"

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Screen {
  public:
    explicit Screen(LiveModel model, UiState ui = {})
        : model_(std::move(model)), controller_(std::move(ui), false) {
        controller_.refresh(model_, 24);
    }

    void use_names(const HostNames& names) {
        names_ = &names;
        controller_.use_names(&names);
    }

    Canvas draw(std::size_t width, std::size_t height) {
        controller_.refresh(model_, height);
        Canvas canvas(width, height);
        cursor_ = draw_screen(canvas, {.model = model_,
                                       .view = controller_.view(),
                                       .ui = controller_.ui(),
                                       .symbols = symbols_,
                                       .replay = {},
                                       .names = names_});
        return canvas;
    }
    void press(Key key) { controller_.press(key, model_, 80, 24); }
    void type(const std::string& text) {
        for (const char letter : text)
            press({.code = Key::Code::character, .symbol = static_cast<char32_t>(letter)});
    }
    Symbols& symbols() { return symbols_; }
    LiveModel& model() { return model_; }
    [[nodiscard]] std::optional<Cursor> cursor() const { return cursor_; }

  private:
    LiveModel model_;
    Controller controller_;
    Symbols symbols_;
    const HostNames* names_ = nullptr;
    std::optional<Cursor> cursor_;
};

// TCP from port 40001 on s0 and s1, 8 Mbit/s and 1.6 kbit/s; from port 40002 on s1, 800 kbit/s.
LiveModel two_flows() {
    LiveModel model;
    model.update(
        ReadingBuilder(0).sent(40001, s0, 1, 100).received(40001, s1, 1, 100).sent(40002, s1, 1, 100));
    model.update(ReadingBuilder(1)
                     .sent(40001, s0, 1001, 1000100, 0, 1)
                     .received(40001, s1, 11, 300, 0, 1)
                     .sent(40002, s1, 101, 100100, 0, 1));
    return model;
}

std::size_t line_with(const Canvas& canvas, const std::string& text) {
    for (std::size_t y = 0; y < canvas.height(); ++y)
        if (canvas.line(y).find(text) != std::string::npos) return y;
    ADD_FAILURE() << text << " is not on the screen:\n" << canvas.text();
    return 0;
}

TEST(Screen, ShowsWhatIsKnown) {
    const Canvas canvas = Screen(two_flows()).draw(120, 40);
    EXPECT_THAT(canvas.line(0), AllOf(HasSubstr("bondtrace"), HasSubstr("host"), HasSubstr("fentry"),
                                      HasSubstr("coverage 100 %"), HasSubstr("12:00:00Z")));
    EXPECT_THAT(canvas.line(1), AllOf(HasSubstr("bond0"), HasSubstr("802.3ad"), HasSubstr("layer3+4"),
                                      HasSubstr("LACP up"), HasSubstr("TX too few flows 91% on s0")));
    EXPECT_THAT(canvas.line(line_with(canvas, "s0     active")), AllOf(HasSubstr("8 M"), HasSubstr("91%")));
    const std::string flow = canvas.line(line_with(canvas, "10.77.0.1:40001"));
    EXPECT_THAT(flow, AllOf(HasSubstr("tcp"), HasSubstr("10.77.0.2:5201"), HasSubstr("s0"), HasSubstr("s1"),
                            HasSubstr("8 M"), HasSubstr("1.6 k"), HasSubstr("1 MB")));
    EXPECT_LT(line_with(canvas, ":40001"), line_with(canvas, ":40002")) << "the faster first";
    EXPECT_THAT(canvas.text(), HasSubstr("2 conversations"));
}

// A name server is not to be trusted.
class PeerNamed : public HostNames {
  public:
    explicit PeerNamed(std::string name) : name_(std::move(name)) {}
    [[nodiscard]] std::optional<std::string> name_of(const IpAddress& host) const override {
        if (to_text(host) != "10.77.0.2") return std::nullopt;
        return name_;
    }

  private:
    std::string name_;
};

TEST(Screen, ShowsNamesWhenTheyAreWanted) {
    const PeerNamed names("storage2.example.org");
    Screen screen(two_flows());
    screen.use_names(names);
    EXPECT_THAT(screen.draw(120, 40).text(), Not(HasSubstr("storage2")));
    screen.type("n");
    const Canvas canvas = screen.draw(120, 40);
    const std::string flow = canvas.line(line_with(canvas, "10.77.0.1:40001"));
    EXPECT_THAT(flow, HasSubstr("storage2.example.org:5201"));
    EXPECT_THAT(flow, Not(HasSubstr("10.77.0.2")));
    EXPECT_THAT(screen.draw(60, 16).text(), HasSubstr(":5201")) << "the port stays when the name is cut";
    screen.type("n");
    EXPECT_THAT(screen.draw(120, 40).text(), HasSubstr("10.77.0.2:5201"));
}

TEST(Screen, ANameCannotHarmTheTerminal) {
    const PeerNamed names("evil\x1b[2Jname");
    Screen screen(two_flows());
    screen.use_names(names);
    screen.type("n");
    const std::string text = screen.draw(120, 40).text();
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_THAT(text, HasSubstr("evil"));
}

// The colours tell the slaves apart: name, bar and flow of one have the same.
TEST(Screen, ASlaveHasOneColourEverywhere) {
    const Canvas canvas = Screen(two_flows()).draw(120, 40);
    const auto hue_at = [&](std::size_t y, const std::string& text) {
        const std::string line = canvas.line(y);
        const std::size_t byte = line.rfind(text);
        return canvas.at(display_width(line.substr(0, byte)), y).style.hue;
    };
    EXPECT_EQ(hue_at(line_with(canvas, "s0     active"), "s0"), Hue::slave0);
    EXPECT_EQ(hue_at(line_with(canvas, "s1     active"), "s1"), Hue::slave1);
    EXPECT_EQ(hue_at(line_with(canvas, ":40002"), "s1"), Hue::slave1);
    EXPECT_EQ(hue_at(line_with(canvas, ":40001"), "s0"), Hue::slave0);
}

TEST(Screen, FitsEverySize) {
    Screen screen(two_flows());
    for (std::size_t width = 1; width <= 210; width += 7)
        for (std::size_t height = 1; height <= 60; height += 3) {
            const Canvas canvas = screen.draw(width, height);
            if (width < least_width || height < least_height) continue;
            // What matters most is always there.
            EXPECT_THAT(canvas.text(),
                        AllOf(HasSubstr("bondtrace"), HasSubstr("bond0"), HasSubstr("s0"), HasSubstr("TX")))
                << width << "x" << height;
            if (width < 60) continue;
            EXPECT_THAT(canvas.text(), AllOf(HasSubstr("tcp"), HasSubstr("10.77.0.1:40001")))
                << width << "x" << height;
        }
    const Canvas small = screen.draw(60, 16);
    EXPECT_THAT(small.text(), AllOf(HasSubstr("10.77.0.1:40001 ↔ 10.77.0.2:5201"), HasSubstr("8 M"),
                                    HasSubstr("1.6 k"), HasSubstr("LACP up")));
}

TEST(Screen, ShowsAMoveForAWhile) {
    LiveModel model = two_flows();
    model.update(ReadingBuilder(2)
                     .sent(40001, s0, 1001, 1000100, 0, 1)
                     .sent(40001, s1, 100, 100000, 1.5, 2)
                     .received(40001, s1, 11, 300, 0, 1)
                     .sent(40002, s1, 101, 100100, 0, 1));
    Screen screen(std::move(model));
    const Canvas canvas = screen.draw(120, 40);
    const std::size_t y = line_with(canvas, ":40001");
    EXPECT_THAT(canvas.line(y), HasSubstr("s0→s1"));
    const std::string line = canvas.line(y);
    const std::size_t x = display_width(line.substr(0, line.find("s0→s1")));
    EXPECT_TRUE(canvas.at(x, y).style.reverse);
    screen.model().update(ReadingBuilder(8)
                              .sent(40001, s0, 1001, 1000100, 0, 1)
                              .sent(40001, s1, 200, 200000, 1.5, 8)
                              .received(40001, s1, 11, 300, 0, 1)
                              .sent(40002, s1, 101, 100100, 0, 1));
    const Canvas later = screen.draw(120, 40);
    EXPECT_THAT(later.line(line_with(later, ":40001")), AllOf(Not(HasSubstr("→")), HasSubstr("s1")));
}

TEST(Screen, OpensDetailEventsHelpAndMenu) {
    Screen screen(two_flows());
    screen.press({.code = Key::Code::enter});
    const Canvas detail = screen.draw(120, 40);
    EXPECT_THAT(detail.text(),
                AllOf(HasSubstr("tcp 10.77.0.1:40001 - 10.77.0.2:5201"), HasSubstr("policy layer3+4:"),
                      HasSubstr("other policies:"), HasSubstr("other local ports:")));
    screen.type("e");
    EXPECT_THAT(screen.draw(80, 24).text(), HasSubstr("nothing has happened since the start"));
    screen.type("h");
    EXPECT_THAT(screen.draw(80, 30).text(), AllOf(HasSubstr("Ctrl-C"), HasSubstr("filter")));
    screen.type("hs");
    EXPECT_THAT(screen.draw(80, 24).text(), HasSubstr("packets a second, highest first"));
}

TEST(Screen, ShowsTheFilterAsItIsTyped) {
    Screen screen(two_flows());
    screen.type("/host x");
    screen.press({.code = Key::Code::enter});
    const Canvas canvas = screen.draw(80, 24);
    EXPECT_THAT(canvas.line(23), HasSubstr("filter: host x"));
    ASSERT_TRUE(screen.cursor());
    EXPECT_EQ(screen.cursor()->x, 1 + std::string("filter: host x").size());
    EXPECT_EQ(screen.cursor()->y, 23U);
    EXPECT_THAT(canvas.text(), HasSubstr("expected an IP address"));
    // A long one scrolls.
    screen.type(std::string(200, 'y'));
    EXPECT_LT(screen.draw(80, 24).line(23).size(), 81U);
    EXPECT_LT(screen.cursor()->x, 80U);
}

TEST(Screen, NothingFromOutsideReachesTheTerminalRaw) {
    LiveModel model;
    ReadingBuilder builder(0);
    builder.sent(40001, s0, 1, 100);
    builder.reading().host = "evil\x1b[2J";
    builder.reading().report.bonds[0].name = "bo\x1b[31mnd\n";
    builder.slave(s0).name = "s\x07\x1b]0;x\x07";
    builder.bond().slaves[0].name = builder.slave(s0).name;
    builder.reading().report.header.time = "\x1b\x1b";
    model.update(builder);
    Screen screen(std::move(model));
    screen.press({.code = Key::Code::enter});
    for (const Canvas& canvas : {screen.draw(200, 50), screen.draw(60, 16)})
        for (std::size_t y = 0; y < canvas.height(); ++y)
            for (std::size_t x = 0; x < canvas.width(); ++x)
                EXPECT_TRUE(canvas.at(x, y).symbol == 0 || canvas.at(x, y).symbol >= 0x20);
}

TEST(Screen, IsAsciiWhereItMustBe) {
    Screen screen(two_flows());
    screen.symbols() = ascii_symbols();
    screen.press({.code = Key::Code::enter});
    const std::string text = screen.draw(120, 40).text();
    for (const char byte : text)
        EXPECT_TRUE(static_cast<unsigned char>(byte) < 0x80);
}

TEST(Screen, SaysWhatIsMissingWithoutTraffic) {
    LiveModel model;
    model.update(ReadingBuilder(0));
    EXPECT_THAT(Screen(std::move(model)).draw(80, 24).text(), HasSubstr("no traffic in the last 30 s"));
}

TEST(Screen, ShowsLossesAndGaps) {
    LiveModel model;
    ReadingBuilder builder(0);
    builder.sent(1, s0, 100, 1000);
    builder.slave(s0).tx.counter_packets = 200;
    builder.reading().report.losses.untracked_packets = 42;
    model.update(builder);
    EXPECT_THAT(Screen(std::move(model)).draw(80, 24).line(0),
                AllOf(HasSubstr("coverage 50 %"), HasSubstr("42 lost")));
}

std::string text_of(const Pieces& pieces) {
    std::string text;
    for (const Piece& piece : pieces)
        text += piece.text;
    return text;
}

TEST(ShareBar, IsFilledByEighths) {
    const Symbols symbols;
    EXPECT_EQ(text_of(share_bar(0.5, 0, 1, Hue::slave0, 4, symbols)), "██  ");
    EXPECT_EQ(text_of(share_bar(0.53125, 0, 1, Hue::slave0, 4, symbols)), "██▏ ");
    EXPECT_EQ(text_of(share_bar(1, 0, 1, Hue::slave0, 4, symbols)), "████");
    EXPECT_EQ(text_of(share_bar(0, 0, 1, Hue::slave0, 4, symbols)), "    ");
    EXPECT_EQ(text_of(share_bar(7, 0, 1, Hue::slave0, 4, symbols)), "████");
    EXPECT_EQ(text_of(share_bar(0.5, 0.3, 0.8, Hue::slave0, 10, symbols)), "███│█   │ ");
}

TEST(Sparkline, HasALevelForEachValue) {
    const std::array values = {0.0, 0.01, 4.0, 8.0};
    EXPECT_EQ(sparkline(values, 8, unicode_symbols()), " ▁▄█");
    EXPECT_EQ(sparkline(values, 0, unicode_symbols()), "    ");
}

TEST(Columns, GoByPriorityAndComeBack) {
    const std::array needs = {ColumnNeed{4, 8, 0, 1}, ColumnNeed{5, 5, 10, 3}, ColumnNeed{3, 3, 0, 2},
                              ColumnNeed{0, 9, 9, 9}};
    EXPECT_THAT(fit_columns(needs, 5, 1), ElementsAre(0, 5, 0, 0));
    EXPECT_THAT(fit_columns(needs, 9, 1), ElementsAre(0, 5, 3, 0));
    EXPECT_THAT(fit_columns(needs, 14, 1), ElementsAre(4, 5, 3, 0));
    EXPECT_THAT(fit_columns(needs, 18, 1), ElementsAre(8, 5, 3, 0));
    EXPECT_THAT(fit_columns(needs, 21, 1), ElementsAre(8, 8, 3, 0));
    EXPECT_THAT(fit_columns(needs, 100, 1), ElementsAre(8, 10, 3, 0));
    EXPECT_THAT(fit_columns(needs, 2, 1), ElementsAre(0, 0, 0, 0));
}

TEST(Canvas, KeepsWithinItsBounds) {
    Canvas canvas(4, 2);
    EXPECT_EQ(canvas.put(2, 0, "abc"), 4U);
    EXPECT_EQ(canvas.line(0), "  ab");
    canvas.put(0, 5, "x");
    canvas.put(9, 0, "x");
    EXPECT_EQ(canvas.put(0, 1, "日本語"), 4U);
    EXPECT_EQ(canvas.line(1), "日本");
    canvas.fill(0, 1, 99, 99);
    canvas.put(3, 1, "日"); // half of it would not fit
    EXPECT_EQ(canvas.line(1), "");
    canvas.put(0, 1, "e\xcc\x81x"); // a mark of no width
    EXPECT_EQ(canvas.line(1), "ex");
    canvas.restyle(0, 1, 99, {.reverse = true});
    EXPECT_TRUE(canvas.at(3, 1).style.reverse);
}

} // namespace
} // namespace bondtrace::test
