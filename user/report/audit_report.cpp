// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/audit_report.h"

#include <algorithm>

namespace bondtrace {
namespace {

const BondReport* traffic_of(const AuditReport& report, const Bond& bond) {
    if (!report.input.traffic) return nullptr;
    for (const BondReport& traffic : report.input.traffic->bonds)
        if (traffic.ifindex == bond.ifindex) return &traffic;
    return nullptr;
}

std::vector<SlaveView> slaves_of(const Bond& bond, const BondReport* traffic) {
    std::vector<SlaveView> slaves;
    for (const Slave& slave : bond.slaves)
        slaves.push_back({&slave, traffic ? traffic->find_slave(slave.ifindex) : nullptr});
    if (!traffic) return slaves;
    for (const SlaveReport& slave : traffic->slaves)
        if (!bond.find_slave(slave.ifindex)) slaves.push_back({nullptr, &slave});
    return slaves;
}

} // namespace

std::vector<AuditedBond> audited_bonds(const AuditReport& report) {
    std::vector<AuditedBond> bonds;
    const std::size_t count = std::min(report.input.bonds.size(), report.result.bonds.size());
    for (std::size_t i = 0; i < count; ++i) { // audit() keeps the input's order
        AuditedBond& bond = bonds.emplace_back();
        bond.state = &report.input.bonds[i];
        bond.audit = &report.result.bonds[i];
        bond.traffic = traffic_of(report, *bond.state);
        bond.slaves = slaves_of(*bond.state, bond.traffic);
    }
    return bonds;
}

std::string slave_state(const SlaveView& slave) {
    if (!slave.state) return slave.traffic->state;
    const Slave& state = *slave.state;
    if (!state.unknown.mii_status && state.mii_status != MiiStatus::up)
        return std::string(to_text(state.mii_status));
    if (!state.unknown.flags && !state.admin_up) return "down";
    if (!state.unknown.state) return state.backup ? "backup" : "active";
    return state.unknown.mii_status ? "" : "up";
}

std::optional<Band> expected_share(const Balance& balance, const std::string& slave) {
    switch (balance.word) {
    case BalanceWord::balanced:
    case BalanceWord::chance:
    case BalanceWord::uneven:
    case BalanceWord::too_few:
        break;
    default:
        return std::nullopt;
    }
    const bool candidate = std::any_of(balance.slaves.begin(), balance.slaves.end(),
                                       [&](const SlaveShare& share) { return share.name == slave; });
    return candidate ? std::optional(balance.byte_band) : std::nullopt;
}

} // namespace bondtrace
