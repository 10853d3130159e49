// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/live/reading_builder.h"
#include "user/live/flow_view.h"

#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Local ports in the order of the view.
std::vector<int> ports_of(const LiveModel& model, const FlowView& view) {
    std::vector<int> ports;
    for (const std::uint32_t row : view.rows())
        ports.push_back(std::get<Ports>(model.flows().rows()[row].flow.key.detail).local);
    return ports;
}

// Ports 1, 2, 3 send 100, 300, 200 bytes a second and receive 500, 0, 0, in packets of 10, 10, 100 bytes.
LiveModel three_flows() {
    LiveModel model;
    model.update(ReadingBuilder(0)
                     .sent(1, s0, 1, 9000, -3)
                     .sent(2, s1, 1, 10, -1)
                     .sent(3, s0, 1, 100, -2)
                     .received(1, s1, 1, 10));
    model.update(ReadingBuilder(1)
                     .sent(1, s0, 11, 9100, -3)
                     .sent(2, s1, 31, 310, -1)
                     .sent(3, s0, 3, 300, -2)
                     .received(1, s1, 51, 510));
    return model;
}

std::vector<int> sorted(const LiveModel& model, LiveSort sort, LiveDirection direction = LiveDirection::both,
                        bool reverse = false) {
    FlowView view;
    ViewSettings settings;
    settings.sort = sort;
    settings.direction = direction;
    settings.reverse = reverse;
    view.rebuild(model, settings);
    return ports_of(model, view);
}

TEST(FlowView, SortsByEveryKey) {
    const LiveModel model = three_flows();
    EXPECT_THAT(sorted(model, LiveSort::rate), ElementsAre(1, 2, 3));
    EXPECT_THAT(sorted(model, LiveSort::rate, LiveDirection::tx), ElementsAre(2, 3, 1));
    EXPECT_THAT(sorted(model, LiveSort::rate, LiveDirection::rx), ElementsAre(1, 2, 3));
    EXPECT_THAT(sorted(model, LiveSort::rate, LiveDirection::tx, true), ElementsAre(1, 3, 2));
    EXPECT_THAT(sorted(model, LiveSort::packets), ElementsAre(1, 2, 3));
    EXPECT_THAT(sorted(model, LiveSort::packets, LiveDirection::tx), ElementsAre(2, 1, 3));
    EXPECT_THAT(sorted(model, LiveSort::total), ElementsAre(1, 2, 3));
    EXPECT_THAT(sorted(model, LiveSort::age), ElementsAre(1, 3, 2));
    EXPECT_THAT(sorted(model, LiveSort::local), ElementsAre(1, 2, 3));
    EXPECT_THAT(sorted(model, LiveSort::local, LiveDirection::both, true), ElementsAre(3, 2, 1));
    EXPECT_THAT(sorted(model, LiveSort::tx_slave), ElementsAre(1, 3, 2));
    EXPECT_THAT(sorted(model, LiveSort::rx_slave), ElementsAre(1, 2, 3)) << "without one last";
}

TEST(FlowView, SortsProtocolsByName) {
    LiveModel model;
    model.update(ReadingBuilder(0)
                     .add(entry(ip_key(17, "10.77.0.1", 1, "10.77.0.2", 53), s0, 1, 100, start, start))
                     .add(entry(ip_key(6, "10.77.0.1", 2, "10.77.0.2", 53), s0, 1, 100, start, start))
                     .add(entry(ip_key(132, "10.77.0.1", 3, "10.77.0.2", 53), s0, 1, 100, start, start))
                     .add(entry(ip_key(6, "10.77.0.1", 4, "10.77.0.2", 53), s0, 1, 100, start, start)));
    EXPECT_THAT(sorted(model, LiveSort::proto), ElementsAre(3, 2, 4, 1)); // sctp, tcp, tcp, udp
}

// Rates that are about equal must not make lines jump from reading to reading.
TEST(FlowView, EqualRatesStayInPlace) {
    LiveModel model;
    std::array<std::uint64_t, 5> bytes{};
    unsigned noise = 12345;
    for (int at = 0; at < 30; ++at) {
        ReadingBuilder builder(at);
        for (std::uint16_t i = 0; i < 5; ++i) {
            noise = noise * 1103515245 + 12345;
            bytes[i] += 100000 + noise % 4000 - 2000;
            builder.sent(static_cast<std::uint16_t>(100 + i), s0, bytes[i] / 1000, bytes[i]);
        }
        model.update(builder);
        if (at == 0) continue;
        EXPECT_THAT(sorted(model, LiveSort::rate), ElementsAre(100, 101, 102, 103, 104)) << at;
    }
}

TEST(FlowView, FiltersAndCounts) {
    const LiveModel model = three_flows();
    FlowView view;
    ViewSettings settings;
    settings.filter = *parse_filter("tx slave s0");
    view.rebuild(model, settings);
    EXPECT_THAT(ports_of(model, view), ElementsAre(1, 3));
    EXPECT_EQ(view.total(), 3U);
    EXPECT_EQ(view.idle(), 0U);
    EXPECT_DOUBLE_EQ(view.sum(model, 0, 2).tx.bytes, 300);
    EXPECT_DOUBLE_EQ(view.sum(model, 1, 9).tx.bytes, 200);
    const std::uint64_t id = model.flows().rows()[view.rows()[1]].id;
    EXPECT_EQ(view.place_of(model, id), 1U);
    EXPECT_EQ(view.place_of(model, 12345), std::nullopt);
    settings.bond = 7;
    view.rebuild(model, settings);
    EXPECT_THAT(view.rows(), IsEmpty());
}

TEST(FlowView, LeavesOutWhatIsIdle) {
    LiveModel model = three_flows();
    model.update(ReadingBuilder(40).sent(2, s1, 40, 400, -1));
    FlowView view;
    view.rebuild(model, {});
    EXPECT_THAT(ports_of(model, view), ElementsAre(2));
    EXPECT_EQ(view.idle(), 2U);
    EXPECT_EQ(view.total(), 1U);
}

TEST(LiveSortNames, AreWhatTheOptionTakes) {
    for (const NamedSort& named : live_sorts) {
        EXPECT_EQ(parse_live_sort(named.name).value(), named.sort);
        EXPECT_EQ(to_text(named.sort), named.name);
    }
    const auto wrong = parse_live_sort("size\x1b[2J");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
    EXPECT_THAT(wrong.error().what, testing::Not(HasSubstr("\x1b")));
    EXPECT_THAT(wrong.error().advice, HasSubstr("tx-slave"));
}

} // namespace
} // namespace bondtrace::test
