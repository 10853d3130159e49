// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/flows_build.h"

#include "user/flow/agreement.h"
#include "user/flow/join.h"

#include <algorithm>
#include <utility>

namespace bondtrace {
namespace {

Counts to_counts(const bt_count& count) {
    return {.packets = count.packets,
            .bytes = count.bytes,
            .wire_packets = count.packets + count.added_packets,
            .wire_bytes = count.bytes + count.added_bytes};
}

std::string state_of(const ObservedSlave& slave) {
    if (slave.gone) return "gone";
    if (slave.slave.mii_status != MiiStatus::up || !slave.slave.admin_up) return "down";
    return slave.slave.backup ? "backup" : "active";
}

SlaveReport report_slave(const Bond& bond, const ObservedSlave& observed) {
    const bt_slave_totals& totals = observed.totals;
    SlaveReport report;
    report.name =
        observed.slave.name.empty() ? "if" + std::to_string(observed.slave.ifindex) : observed.slave.name;
    report.ifindex = observed.slave.ifindex;
    if (!observed.gone) report.index = usable_index(bond, observed.slave.ifindex);
    report.state = state_of(observed);
    report.speed_mbps = observed.slave.speed_mbps;
    report.tx = {.traced = to_counts(totals.tx),
                 .untracked = to_counts(totals.tx_untracked),
                 .control = to_counts(totals.tx_control),
                 .inactive = {},
                 .unparsed = totals.tx_unparsed,
                 .flows = 0,
                 .counter_packets = observed.counters.tx_packets,
                 .counter_bytes = observed.counters.tx_bytes};
    report.rx = {.traced = to_counts(totals.rx),
                 .untracked = to_counts(totals.rx_untracked),
                 .control = to_counts(totals.rx_control),
                 .inactive = to_counts(totals.rx_inactive),
                 .unparsed = totals.rx_unparsed,
                 .flows = 0,
                 .counter_packets = observed.counters.rx_packets,
                 .counter_bytes = observed.counters.rx_bytes};
    return report;
}

} // namespace

FlowsReport build_flows_report(const Observed& observed, ReportHeader header, const std::string& netns) {
    FlowsReport report;
    report.header = std::move(header);
    report.seconds = observed.seconds;
    report.max_flows = observed.max_flows;
    report.losses.uncounted_bonds = observed.no_room.size();
    for (const ObservedBond& seen : observed.bonds) {
        BondReport& bond = report.bonds.emplace_back();
        bond.group = seen.bond.group;
        bond.removed = seen.gone;
        bond.name = seen.bond.name;
        bond.netns = netns;
        bond.ifindex = seen.bond.ifindex;
        bond.mode = seen.bond.mode;
        bond.policy = seen.bond.policy;
        bond.policy_used = uses_hash_policy(seen.bond);
        for (const ObservedSlave& slave : seen.slaves)
            bond.slaves.push_back(report_slave(seen.bond, slave));
        for (const SlaveReport& slave : bond.slaves)
            for (const SlaveDirection* direction : {&slave.tx, &slave.rx}) {
                report.losses.untracked_packets += direction->untracked.packets;
                report.losses.unparsed_packets += direction->unparsed;
            }
    }
    report.losses.recursion_misses = observed.programs.recursion_misses + observed.stats.entry_missed;
    report.losses.slots_full = observed.stats.slots_full;
    report.losses.consumed_unknown = observed.stats.consumed_unknown;
    report.losses.reading_skew = observed.reading_skew;

    report.flows = join(observed.flows);
    report.flows_total = report.flows_matching = report.flows.size();
    count_slave_flows(report.bonds, report.flows);
    return report;
}

PredictionBond prediction_context(const Bond& bond, const BondReport& report, bool flow_dissector) {
    PredictionBond context;
    if (bond.order_known)
        for (const Slave* slave : usable_slaves(bond))
            context.usable.push_back(slave->ifindex);
    context.queue_override = std::any_of(bond.slaves.begin(), bond.slaves.end(),
                                         [](const Slave& slave) { return slave.queue_id != 0; });
    context.broadcast_neighbor = bond.broadcast_neighbor.value_or(false);
    context.flow_dissector = flow_dissector;
    context.slave_name = [&report](int ifindex) { return slave_name(report, ifindex); };
    return context;
}

namespace {

Prediction no_bond() {
    Prediction prediction;
    prediction.why = "these links are no bond of this kernel's: nothing tells how one of them is chosen";
    return prediction;
}

} // namespace

void add_predictions(FlowsReport& report, const Observed& observed, EraFinding era, bool flow_dissector) {
    std::vector<PredictionBond> bonds;
    for (std::size_t i = 0; i < observed.bonds.size() && i < report.bonds.size(); ++i)
        bonds.push_back(prediction_context(observed.bonds[i].bond, report.bonds[i], flow_dissector));
    predict(report.flows, bonds, era.era);
    const SharedPrediction no_bond_here = no_bond();
    for (Conversation& flow : report.flows)
        if (flow.bond < report.bonds.size() && report.bonds[flow.bond].group && !flow.tx.empty())
            flow.prediction = no_bond_here;
    report.era = std::move(era);
    count_agreement(report.bonds, report.flows);
}

} // namespace bondtrace
