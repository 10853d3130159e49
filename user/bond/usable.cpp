// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/usable.h"

namespace bondtrace {
namespace {

bool is_usable(const Bond& bond, const Slave& slave) {
    if (!slave.admin_up || !slave.carrier || slave.mii_status != MiiStatus::up || slave.backup) return false;
    if (bond.mode != BondMode::lacp) return true;
    return bond.aggregator && slave.aggregator_id == bond.aggregator->aggregator_id;
}

} // namespace

std::vector<const Slave*> usable_slaves(const Bond& bond) {
    std::vector<const Slave*> usable;
    for (const Slave& slave : bond.slaves)
        if (is_usable(bond, slave)) usable.push_back(&slave);
    return usable;
}

std::optional<unsigned> usable_index(const Bond& bond, int slave_ifindex) {
    unsigned index = 0;
    for (const Slave* slave : usable_slaves(bond)) {
        if (slave->ifindex == slave_ifindex) return index;
        ++index;
    }
    return std::nullopt;
}

bool uses_hash_policy(const Bond& bond) {
    if (bond.group) return false;
    switch (bond.mode) {
    case BondMode::balance_xor:
    case BondMode::lacp:
        return true;
    case BondMode::balance_tlb:
    case BondMode::balance_alb:
        return bond.tlb_dynamic_lb == false;
    default:
        return false;
    }
}

} // namespace bondtrace
