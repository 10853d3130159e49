// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/group_findings.h"

#include "user/audit/hash_findings.h"
#include "user/base/units.h"

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Who may be placing the flows, and where that is set.
std::vector<Fix> who_decides() {
    return {{"ECMP",
             "sysctl -w net.ipv4.fib_multipath_hash_policy=1 net.ipv6.fib_multipath_hash_policy=1   # "
             "ports, too: kernel documentation, ip-sysctl"},
            {"Open vSwitch", "ovs-appctl bond/show; ovs-vsctl set port PORT bond_mode=balance-tcp"},
            {"team", "teamdctl TEAM config dump   # runner.tx_hash: [\"eth\", \"ipv4\", \"ipv6\", \"l4\"]"}};
}

Finding& add(std::vector<Finding>& findings, const BondView& view, const char* id, Severity severity,
             std::string summary) {
    return findings.emplace_back(
        Finding{id, severity, view.state->name, std::nullopt, std::move(summary), {}, {}, {}});
}

std::string split_text(const Balance& balance) {
    std::string text;
    for (const SlaveShare& slave : balance.slaves)
        text += fmt::format("{}{} {} flows, {} of the bytes", text.empty() ? "" : "; ", slave.name,
                            slave.flows, format_share(slave.share));
    return text;
}

} // namespace

std::vector<Finding> group_findings(const BondView& view, const Balance& tx) {
    std::vector<Finding> findings;
    if (tx.word == BalanceWord::uneven) {
        Finding& finding = add(findings, view, "hash.imbalanced", Severity::warning,
                               fmt::format("{} sends {} of all bytes, and luck does not explain it",
                                           tx.slaves[tx.largest_slave].name, format_share(tx.largest)));
        finding.slave = tx.slaves[tx.largest_slave].name;
        finding.seen = fmt::format("{}; {}", split_text(tx), format_probability(tx.decisive()));
        finding.why = "What places flows on these links hashes on too little, or they are no equals.";
        finding.fixes = who_decides();
    } else if (tx.word == BalanceWord::too_few) {
        Finding& finding = add(findings, view, "hash.too-few-flows", Severity::info,
                               fmt::format("{} flows are too few to tell luck from a fault", tx.throws));
        finding.seen = too_few_text(tx);
        finding.why = "Few flows are hardly ever spread evenly, whatever places them.";
    }
    return findings;
}

} // namespace bondtrace
