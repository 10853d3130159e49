// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/live/reading_builder.h"
#include "user/live/controller.h"

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t width = 80, height = 24;

class Session {
  public:
    explicit Session(bool replay = false) : controller_({}, replay) {}

    void read(const ReadingBuilder& reading) {
        model_.update(reading);
        controller_.refresh(model_, height);
    }
    Action press(Key::Code code) { return controller_.press({.code = code}, model_, width, height); }
    Action press(char letter) {
        return controller_.press({.code = Key::Code::character, .symbol = static_cast<char32_t>(letter)},
                                 model_, width, height);
    }
    void type(const std::string& text) {
        for (const char letter : text)
            press(letter);
    }
    Action click(std::size_t x, std::size_t y) {
        return controller_.press({.code = Key::Code::click, .x = x, .y = y}, model_, width, height);
    }
    [[nodiscard]] const UiState& ui() const { return controller_.ui(); }
    [[nodiscard]] int selected_port() const {
        for (const FlowRow& row : model_.flows().rows())
            if (row.id == ui().selected) return std::get<Ports>(row.flow.key.detail).local;
        return -1;
    }
    [[nodiscard]] std::size_t shown() const { return controller_.view().rows().size(); }
    [[nodiscard]] Layout layout() const { return lay_out(model_, ui(), height); }

  private:
    LiveModel model_;
    Controller controller_;
};

// Flows from ports 1 ... `count`; `rate_of(port)` bytes in the second second.
template<typename RateOf> void feed(Session& session, std::uint16_t count, double at, RateOf rate_of) {
    ReadingBuilder builder(at);
    for (std::uint16_t port = 1; port <= count; ++port)
        builder.sent(port, port % 2 == 0 ? s0 : s1, rate_of(port) / 100, rate_of(port));
    session.read(builder);
}

// The highest rate first: port 1.
Session forty_flows() {
    Session session;
    feed(session, 40, 0, [](unsigned) { return 0; });
    feed(session, 40, 1, [](unsigned port) { return 4'000'000 - 100'000 * port + 100'000; });
    return session;
}

TEST(Controller, SelectionFollowsTheFlow) {
    Session session;
    feed(session, 5, 0, [](unsigned) { return 1000U; });
    feed(session, 5, 1, [](unsigned port) { return 1000 + 100000U / port; });
    EXPECT_FALSE(session.ui().selected);
    session.press(Key::Code::down);
    EXPECT_EQ(session.selected_port(), 1);
    session.press('j');
    EXPECT_EQ(session.selected_port(), 2);
    EXPECT_EQ(session.ui().selected_place, 1U);
    // It becomes the slowest.
    feed(session, 5, 2,
         [](unsigned port) { return 1000 + 100000U / port + (port == 2 ? 0 : 100000U * port); });
    EXPECT_EQ(session.selected_port(), 2);
    EXPECT_EQ(session.ui().selected_place, 4U);
    session.press(Key::Code::escape);
    EXPECT_FALSE(session.ui().selected);
}

TEST(Controller, PagesAndEndsStayOnTheScreen) {
    Session session = forty_flows();
    const std::size_t lines = session.layout().flows.height;
    ASSERT_LT(lines, 40U);
    session.press(Key::Code::end);
    EXPECT_EQ(session.ui().selected_place, 39U);
    EXPECT_EQ(session.ui().top, 40 - lines);
    session.press(Key::Code::page_up);
    EXPECT_EQ(session.ui().selected_place, 39 - lines);
    session.press(Key::Code::home);
    EXPECT_EQ(session.ui().selected_place, 0U);
    EXPECT_EQ(session.ui().top, 0U);
    session.press('k');
    EXPECT_EQ(session.ui().selected_place, 0U);
}

TEST(Controller, TheWheelScrollsAndStopsAtTheEnd) {
    Session session = forty_flows();
    session.press(Key::Code::wheel_down);
    EXPECT_EQ(session.ui().top, 3U);
    EXPECT_FALSE(session.ui().selected);
    for (int i = 0; i < 50; ++i)
        session.press(Key::Code::wheel_down);
    EXPECT_EQ(session.ui().top, 40 - session.layout().flows.height);
    session.press(Key::Code::wheel_up);
    EXPECT_EQ(session.ui().top, 40 - session.layout().flows.height - 3);
}

TEST(Controller, FilterIsTypedCheckedAndKept) {
    Session session = forty_flows();
    session.press('/');
    EXPECT_EQ(session.ui().overlay, Overlay::filter);
    session.type("port");
    session.press(Key::Code::enter);
    EXPECT_EQ(session.ui().overlay, Overlay::filter) << "not accepted";
    EXPECT_THAT(session.ui().input_error, HasSubstr("^"));
    EXPECT_EQ(session.shown(), 40U);
    session.type(" 7");
    EXPECT_EQ(session.ui().input_error, "");
    session.press(Key::Code::enter);
    EXPECT_EQ(session.ui().overlay, Overlay::none);
    EXPECT_EQ(session.ui().filter_text, "port 7");
    EXPECT_EQ(session.shown(), 1U);
    // It survives a pause, and is there to be changed.
    session.press('p');
    EXPECT_TRUE(session.ui().paused);
    session.press(' ');
    EXPECT_FALSE(session.ui().paused);
    EXPECT_EQ(session.shown(), 1U);
    session.press('/');
    EXPECT_EQ(session.ui().input, "port 7");
    session.press('\x15'); // Ctrl-U
    session.press(Key::Code::enter);
    EXPECT_EQ(session.shown(), 40U);
}

TEST(Controller, FilterNamesMustExist) {
    Session session = forty_flows();
    session.press('/');
    session.type("slave eth9");
    session.press(Key::Code::enter);
    EXPECT_THAT(session.ui().input_error, HasSubstr("no slave eth9"));
    EXPECT_THAT(session.ui().input_error, HasSubstr("s0, s1"));
    session.press(Key::Code::escape);
    EXPECT_EQ(session.ui().overlay, Overlay::none);
    EXPECT_EQ(session.shown(), 40U);
}

TEST(Controller, FilterLineIsEdited) {
    Session session = forty_flows();
    session.press('/');
    session.type("prot 7");
    session.press(Key::Code::left);
    session.press(Key::Code::left);
    session.press(Key::Code::left);
    session.press(Key::Code::left);
    session.press(Key::Code::erase);
    session.press(Key::Code::left);
    session.press('o');
    EXPECT_EQ(session.ui().input, "port 7");
    session.press(Key::Code::end);
    session.press(Key::Code::backspace);
    session.type("9");
    EXPECT_EQ(session.ui().input, "port 9");
    session.press('\x17'); // Ctrl-W: a word
    EXPECT_EQ(session.ui().input, "port ");
    session.press('\x01');
    session.press('\x0b'); // Ctrl-A, Ctrl-K
    EXPECT_EQ(session.ui().input, "");
    session.press(Key::Code::backspace);
    EXPECT_EQ(session.ui().input, "");
}

TEST(Controller, SortMenuAndDirectKeys) {
    Session session = forty_flows();
    session.press('s');
    EXPECT_EQ(session.ui().overlay, Overlay::sort_menu);
    session.press(Key::Code::down);
    session.press(Key::Code::down);
    session.press(Key::Code::enter);
    EXPECT_EQ(session.ui().view.sort, LiveSort::total);
    session.press('>');
    EXPECT_EQ(session.ui().view.sort, LiveSort::age);
    session.press('<');
    session.press('<');
    session.press('<');
    session.press('<');
    EXPECT_EQ(session.ui().view.sort, LiveSort::rx_slave) << "around the end";
    session.press('r');
    EXPECT_TRUE(session.ui().view.reverse);
    session.press('s');
    session.press(Key::Code::escape);
    EXPECT_EQ(session.ui().view.sort, LiveSort::rx_slave);
}

TEST(Controller, ClicksSelectOpenAndSort) {
    Session session = forty_flows();
    const Layout layout = session.layout();
    session.click(5, layout.flows.y + 2);
    EXPECT_EQ(session.ui().selected_place, 2U);
    EXPECT_EQ(session.ui().pane, Pane::none);
    session.click(5, layout.flows.y + 2);
    EXPECT_EQ(session.ui().pane, Pane::detail);
    session.press(Key::Code::escape);
    session.click(6, layout.heading); // the local address
    EXPECT_EQ(session.ui().view.sort, LiveSort::local);
    session.click(6, layout.heading);
    EXPECT_TRUE(session.ui().view.reverse);
    session.click(79, 23);
    session.click(0, 0);
}

TEST(Controller, KeysThatAreLeftToTheCaller) {
    Session session = forty_flows();
    EXPECT_EQ(session.press('q'), Action::quit);
    EXPECT_EQ(session.press('w'), Action::write_snapshot);
    EXPECT_EQ(session.press('+'), Action::interval_changed);
    EXPECT_EQ(session.ui().interval, std::chrono::milliseconds(2000));
    session.press('-');
    session.press('-');
    EXPECT_EQ(session.ui().interval, std::chrono::milliseconds(500));
    for (int i = 0; i < 20; ++i)
        session.press('-');
    EXPECT_EQ(session.ui().interval, std::chrono::milliseconds(100));
    EXPECT_EQ(session.press('.'), Action::none) << "there is nothing to step through";
    Session replay(true);
    EXPECT_EQ(replay.press('.'), Action::step_forward);
    EXPECT_EQ(replay.press(Key::Code::left), Action::step_back);
}

TEST(Controller, EveryKeyIsHarmlessEverywhere) {
    // All keys after each other in all states, on the smallest and a large screen, with and without traffic.
    for (const bool traffic : {false, true}) {
        LiveModel model;
        if (traffic) {
            model.update(ReadingBuilder(0).sent(1, s0, 1, 100));
            model.update(ReadingBuilder(1).sent(1, s0, 2, 200).sent(2, s1, 2, 200));
        }
        Controller controller({}, false);
        controller.refresh(model, 12);
        for (char32_t symbol = 1; symbol < 127; ++symbol) {
            for (const Key::Code code :
                 {Key::Code::character, Key::Code::up, Key::Code::down, Key::Code::enter,
                  Key::Code::page_down, Key::Code::home, Key::Code::end, Key::Code::click,
                  Key::Code::wheel_up, Key::Code::wheel_down, Key::Code::erase, Key::Code::backspace,
                  Key::Code::other}) {
                controller.press({.code = code, .symbol = symbol, .x = symbol, .y = symbol % 30}, model,
                                 symbol % 2 == 0 ? 1 : 200, symbol % 3 == 0 ? 1 : 50);
                ASSERT_LE(controller.ui().cursor, controller.ui().input.size());
            }
        }
    }
}

} // namespace
} // namespace bondtrace::test
