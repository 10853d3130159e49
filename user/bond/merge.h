// SPDX-License-Identifier: GPL-2.0-or-later
// Two descriptions of one bond made into one. Pure.
#pragma once

#include "user/bond/model.h"

namespace bondtrace {

// Adds to `bond` (from netlink or `ip -d -j link`) what only `dump` (/proc/net/bonding) tells: the enslave
// order, speeds and duplex, the LACP sides, churn. Where both know a value the bond's own stays, so that it
// is of one moment. Slaves that only the dump names go into missing_slaves; those that it does not name
// follow the others.
void add_dump(const Bond& dump, Bond& bond);

} // namespace bondtrace
