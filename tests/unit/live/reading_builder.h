// SPDX-License-Identifier: GPL-2.0-or-later
// Readings as the kernel would give them, one after the other, for the tests of the live table.
#pragma once

#include "tests/unit/flow/flow_builder.h"
#include "user/live/live_model.h"

#include <string>
#include <vector>

namespace bondtrace::test {

inline constexpr int s0 = 11, s1 = 12;
inline constexpr std::uint64_t second = 1'000'000'000;
// A start that is not 0, as the clock of a running machine.
inline constexpr std::uint64_t start = 5000 * second;

// One bond of two slaves; counts are given as sums since the start.
class ReadingBuilder {
  public:
    explicit ReadingBuilder(double at_seconds, BondMode mode = BondMode::lacp) {
        reading_.host = "host";
        reading_.time_ns = start + static_cast<std::uint64_t>(at_seconds * 1e9);
        reading_.report.header = {"0.1.0", "2025-06-01T12:00:00Z", "6.1.0-57-amd64", "fentry"};
        reading_.report.max_flows = 65536;
        BondReport report;
        report.name = "bond0";
        report.ifindex = 10;
        report.mode = mode;
        report.policy = HashPolicy::layer34;
        report.policy_used = mode == BondMode::lacp || mode == BondMode::balance_xor;
        LiveBond bond;
        bond.state.name = "bond0";
        bond.state.ifindex = 10;
        bond.state.mode = mode;
        bond.state.policy = HashPolicy::layer34;
        bond.state.carrier = true;
        if (mode == BondMode::lacp)
            bond.state.aggregator =
                AggregatorInfo{.aggregator_id = 1, .ports = 2, .partner_mac = {2, 0, 0, 0, 0, 1}};
        for (const int ifindex : {s0, s1}) {
            SlaveReport slave;
            slave.name = ifindex == s0 ? "s0" : "s1";
            slave.ifindex = ifindex;
            slave.index = static_cast<unsigned>(ifindex - s0);
            slave.state = "active";
            slave.speed_mbps = 10000;
            report.slaves.push_back(slave);
            Slave state;
            state.name = slave.name;
            state.ifindex = ifindex;
            state.admin_up = state.carrier = true;
            state.mii_status = MiiStatus::up;
            state.speed_mbps = 10000;
            if (mode == BondMode::lacp) {
                state.aggregator_id = 1;
                state.actor_port_state = 0x3f;
                state.partner_port_state = 0x3f;
            }
            bond.state.slaves.push_back(state);
            bond.counters.push_back({});
        }
        reading_.report.bonds.push_back(report);
        reading_.bonds.push_back(bond);
    }

    // Adds an entry, and what it counts to the slave's sums.
    ReadingBuilder& add(FlowEntry entry) {
        entry.key.slot = static_cast<std::uint16_t>(entry.slave_ifindex - s0);
        SlaveReport& report = slave(entry.slave_ifindex);
        const bt_count& count = entry.value.count;
        SlaveDirection& direction = (entry.key.flags & BT_KEY_RX) ? report.rx : report.tx;
        direction.traced += {count.packets, count.bytes, count.packets + count.added_packets,
                             count.bytes + count.added_bytes};
        direction.counter_packets += count.packets;
        direction.counter_bytes += count.bytes;
        reading_.entries.push_back(entry);
        return *this;
    }

    // TCP from 10.77.0.1:`port` to 10.77.0.2:5201, sent through `slave_ifindex`.
    ReadingBuilder& sent(std::uint16_t port, int slave_ifindex, std::uint64_t packets, std::uint64_t bytes,
                         double first = 0, double last = 0) {
        FlowEntry flow = entry(ip_key(6, "10.77.0.1", port, "10.77.0.2", 5201), slave_ifindex, packets, bytes,
                               start + static_cast<std::uint64_t>(first * 1e9),
                               start + static_cast<std::uint64_t>(last * 1e9));
        flow.value.outer_ethertype = 0x0800;
        return add(flow);
    }
    ReadingBuilder& received(std::uint16_t port, int slave_ifindex, std::uint64_t packets,
                             std::uint64_t bytes, double first = 0, double last = 0) {
        return add(entry(ip_key(6, "10.77.0.2", 5201, "10.77.0.1", port, BT_KEY_RX), slave_ifindex, packets,
                         bytes, start + static_cast<std::uint64_t>(first * 1e9),
                         start + static_cast<std::uint64_t>(last * 1e9)));
    }

    ReadingBuilder& down(int slave_ifindex) {
        SlaveReport& report = slave(slave_ifindex);
        report.state = "down";
        report.index.reset();
        for (Slave& state : reading_.bonds[0].state.slaves)
            if (state.ifindex == slave_ifindex) state.mii_status = MiiStatus::down, state.carrier = false;
        return *this;
    }

    LiveReading& reading() { return reading_; }
    SlaveReport& slave(int ifindex) {
        for (SlaveReport& report : reading_.report.bonds[0].slaves)
            if (report.ifindex == ifindex) return report;
        return reading_.report.bonds[0].slaves.front();
    }
    Bond& bond() { return reading_.bonds[0].state; }
    operator LiveReading() const { return reading_; } // NOLINT: a builder's purpose

  private:
    LiveReading reading_;
};

inline const FlowRow* row_of(const LiveFlows& flows, std::uint16_t local_port) {
    for (const FlowRow& row : flows.rows())
        if (const auto* ports = std::get_if<Ports>(&row.flow.key.detail); ports && ports->local == local_port)
            return &row;
    return nullptr;
}

} // namespace bondtrace::test
