// SPDX-License-Identifier: GPL-2.0-or-later
// The slaves that a bond's hash chooses from, in the kernel's order, as far as the state shown to user space
// tells. Pure.
#pragma once

#include "user/bond/model.h"

#include <optional>
#include <vector>

namespace bondtrace {

// Those that are up, with carrier and active, and in 802.3ad members of the active aggregator, in enslave
// order (bond_update_slave_arr() in drivers/net/bonding/bond_main.c); of a group of links, those that are up
// with carrier. Meaningful only with Bond::order_known; around a change of links the kernel's own list may
// lag behind the state by some milliseconds.
std::vector<const Slave*> usable_slaves(const Bond& bond);

// The position of a slave among them; nullopt: it is none of them.
std::optional<unsigned> usable_index(const Bond& bond, int slave_ifindex);

// True when the mode chooses slaves by the hash policy at all.
bool uses_hash_policy(const Bond& bond);

} // namespace bondtrace
