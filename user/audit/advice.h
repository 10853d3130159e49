// SPDX-License-Identifier: GPL-2.0-or-later
// How to change what a finding is about: commands and configuration, for the host by its network manager and
// for the switch by its maker. Pure.
#pragma once

#include "user/audit/finding.h"
#include "user/bond/model.h"

#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

enum class BondOption { mode, hash_policy, miimon, lacp_rate, min_links };

// How to give `option` of `bond` the value, in the kernel's spelling ("802.3ad", "layer3+4", "100", "fast",
// "2"): iproute2 for now, nmcli, netplan, ifupdown and systemd-networkd for good. What interrupts traffic
// says so. When the bond's manager is known, its way comes second, and the others are marked.
std::vector<Fix> host_fixes(const Bond& bond, BondOption option, std::string_view value);

// The bond's name for a command; "BOND" where it is not known.
std::string command_name(const Bond& bond);

enum class SwitchChange {
    lacp,        // the bond's ports in one LAG that runs LACP
    same_lag,    // all of them in one LAG; on two switches, one multi-chassis LAG
    static_lag,  // one LAG without LACP, for balance-rr, balance-xor and broadcast
    no_lag,      // ordinary ports, for active-backup, balance-tlb and balance-alb
    hash_layer4, // spread over a LAG's ports by addresses and ports
    lacp_fast,   // a LACPDU each second
    lacp_slow,   // one each 30 seconds
};

// The same for the switch: in words for any, then for Cisco, Juniper, Huawei, Arista and NVIDIA (Onyx,
// Cumulus). Port and group numbers are examples.
std::vector<Fix> switch_fixes(SwitchChange change);

} // namespace bondtrace
