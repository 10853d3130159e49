// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/window.h"

#include "tests/kernel/support/command.h"

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

NetNs must_open(const char* name) {
    auto netns = NetNs::open(name);
    if (!netns) throw std::runtime_error(netns.error().what);
    return *netns;
}

struct Sum {
    std::uint64_t packets = 0, bytes = 0;
    bool operator==(const Sum&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Sum& sum) {
        return out << sum.packets << " packets, " << sum.bytes << " bytes";
    }
};

Sum in_unit(const bt_count& count, Unit unit) {
    if (unit == Unit::skb) return {count.packets, count.bytes};
    return {count.packets + count.added_packets, count.bytes + count.added_bytes};
}

Sum operator+(const Sum& a, const Sum& b) {
    return {a.packets + b.packets, a.bytes + b.bytes};
}

Sum sum_of_flows(const Observed& observed, std::size_t bond, int slave_ifindex, bool received, Unit unit) {
    Sum sum;
    for (const FlowEntry& entry : observed.flows)
        if (entry.bond == bond && entry.slave_ifindex == slave_ifindex &&
            ((entry.key.flags & BT_KEY_RX) != 0) == received)
            sum = sum + in_unit(entry.value.count, unit);
    return sum;
}

} // namespace

Attachment test_attachment() {
    const char* const name = std::getenv("BONDTRACE_ATTACH");
    if (!name) return Attachment::fentry;
    const auto attachment = parse_attachment(name);
    if (!attachment)
        throw std::runtime_error(std::string("BONDTRACE_ATTACH: no attachment is called ") + name);
    return *attachment;
}

TraceConfig test_config() {
    TraceConfig config;
    if (std::getenv("BONDTRACE_ATTACH")) config.attach = test_attachment();
    return config;
}

bool programs_note_choices() {
    return test_attachment() == Attachment::fentry ||
           (test_attachment() == Attachment::kprobe && ::access("/sys/kernel/btf/bonding", F_OK) == 0);
}

bool set_policy(const std::string& policy) {
    return static_cast<bool>(
        run({"ip", "-n", "bt-a", "link", "set", "bond0", "type", "bond", "xmit_hash_policy", policy}));
}

LabEnds LabEnds::open() {
    return {must_open("bt-a"), must_open("bt-b")};
}

Result<Observed> observe(const NetNs& netns, const std::function<Result<void>()>& traffic,
                         TraceConfig config) {
    constexpr int max_windows = 5;
    if (!config.attach) config.attach = test_config().attach;
    for (int window = 1;; ++window) {
        auto observation = Observation::start(netns, {"bond0"}, config);
        if (!observation) return tl::make_unexpected(observation.error());
        if (const auto done = traffic(); !done) return tl::make_unexpected(done.error());
        auto observed = observation->finish();
        if (!observed || observed->reading_skew == 0 || window == max_windows) return observed;
    }
}

void expect_conservation(const Observed& observed, Unit tx, Unit rx) {
    EXPECT_EQ(observed.reading_skew, 0U);
    EXPECT_EQ(observed.programs.recursion_misses, 0U);
    EXPECT_EQ(observed.stats.slots_full, 0U);
    EXPECT_EQ(observed.stats.consumed_unknown, 0U);
    for (std::size_t bond = 0; bond < observed.bonds.size(); ++bond) {
        for (const ObservedSlave& slave : observed.bonds[bond].slaves) {
            SCOPED_TRACE(slave.slave.name);
            const bt_slave_totals& totals = slave.totals;
            for (const Unit unit : {Unit::skb, Unit::wire}) {
                EXPECT_EQ(sum_of_flows(observed, bond, slave.slave.ifindex, false, unit) +
                              in_unit(totals.tx_untracked, unit),
                          in_unit(totals.tx, unit));
                EXPECT_EQ(sum_of_flows(observed, bond, slave.slave.ifindex, true, unit) +
                              in_unit(totals.rx_untracked, unit),
                          in_unit(totals.rx, unit));
            }
            EXPECT_EQ(in_unit(totals.tx, tx) + in_unit(totals.tx_control, tx),
                      (Sum{slave.counters.tx_packets, slave.counters.tx_bytes}))
                << "TX; control: " << in_unit(totals.tx_control, tx);
            EXPECT_EQ(in_unit(totals.rx, rx) + in_unit(totals.rx_control, rx),
                      (Sum{slave.counters.rx_packets, slave.counters.rx_bytes}))
                << "RX; control: " << in_unit(totals.rx_control, rx);
        }
    }
}

const ObservedSlave& slave_named(const Observed& observed, const std::string& name) {
    for (const ObservedBond& bond : observed.bonds)
        for (const ObservedSlave& slave : bond.slaves)
            if (slave.slave.name == name) return slave;
    throw std::runtime_error("there is no slave " + name);
}

} // namespace bondtrace::test
