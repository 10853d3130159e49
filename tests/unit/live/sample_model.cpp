// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/live/sample_model.h"

#include "tests/unit/live/reading_builder.h"

namespace bondtrace::test {
namespace {

constexpr MacAddress own = {2, 0, 0, 0, 0x0a, 1}, other = {2, 0, 0, 0, 0x0b, 1};

FlowEntry with(FlowEntry flow, std::uint16_t vlan, std::uint16_t inner_vlan = 0) {
    flow.key.vlan = BT_VLAN_PRESENT | vlan;
    if (inner_vlan != 0) flow.key.inner_vlan = BT_VLAN_PRESENT | inner_vlan;
    return flow;
}

ReadingBuilder at(double time, std::uint64_t packets) {
    const std::uint64_t bytes = packets * 1000, last = start + static_cast<std::uint64_t>(time * 1e9);
    ReadingBuilder builder(time);
    builder.sent(40001, s0, packets, bytes, 0, time).received(40001, s1, packets, packets * 66, 0, time);
    builder.add(entry(ip_key(17, "fd77::1", 5000, "fd77::2", 53), s1, packets, bytes, start, last));
    builder.add(
        with(entry(icmp_key(1, "10.77.0.1", "10.77.0.2", 8, 0, 4711), s1, packets, bytes, start, last), 100));
    builder.add(with(
        entry(icmp_key(1, "10.77.0.2", "10.77.0.1", 0, 0, 4711, BT_KEY_RX), s0, packets, bytes, start, last),
        100));
    builder.add(entry(icmp_key(58, "fe80::1", "ff02::1", 135, 0, 0), s0, packets, bytes, start, last));
    builder.add(with(
        entry(ip_key(50, "10.77.0.1", 0xc0ff, "10.77.0.2", 0xee01), s0, packets, bytes, start, last), 7, 8));
    builder.add(
        entry(ip_key(17, "10.77.0.1", 0, "10.77.0.2", 0, BT_KEY_FRAGMENT), s0, packets, bytes, start, last));
    builder.add(entry(mac_key(0x0806, other, own, BT_KEY_RX), s1, packets, bytes, start, last));
    builder.add(
        entry(mac_key(0x0800, other, own, BT_KEY_RX | BT_KEY_UNPARSED), s1, packets, bytes, start, last));
    builder.add(entry(ip_key(89, "10.77.0.2", 0, "224.0.0.5", 0, BT_KEY_RX | BT_KEY_INACTIVE), s1, packets,
                      bytes, start, last));
    for (FlowEntry& flow : builder.reading().entries) {
        const bool received = flow.key.flags & BT_KEY_RX;
        std::copy(own.begin(), own.end(), received ? flow.value.dst_mac : flow.value.src_mac);
        std::copy(other.begin(), other.end(), received ? flow.value.src_mac : flow.value.dst_mac);
    }
    builder.reading().cost = RunCost{packets * 3, packets * 600};
    builder.reading().report.seconds = time;
    builder.reading().report.era = EraFinding{};
    return builder;
}

} // namespace

LiveModel sample_model() {
    LiveModel model;
    model.update(at(0, 10).sent(40002, s0, 10, 1000));
    model.update(at(1, 100).sent(40002, s0, 20, 2000, 0, 1));
    ReadingBuilder down = at(2, 150).down(s0);
    down.sent(40002, s0, 20, 2000, 0, 1).sent(40002, s1, 40, 40000, 1.5, 2);
    down.slave(s0).tx.untracked = {3, 300, 3, 300};
    down.reading().report.losses.untracked_packets = 3;
    down.reading().bonds[0].counters[0].rx_errors = 4;
    down.reading().report.bonds[0].netns = "bt-a";
    model.update(down);
    return model;
}

} // namespace bondtrace::test
