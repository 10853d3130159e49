// SPDX-License-Identifier: GPL-2.0-or-later
// Names of options: ip-link(8), nm-settings(5), netplan-yaml(5), interfaces-bond of Debian's ifenslave
// (README), systemd.netdev(5).
#include "user/audit/advice.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace bondtrace {
namespace {

struct OptionNames {
    std::string_view kernel, netplan, ifupdown, networkd;
};

constexpr std::array<OptionNames, 5> option_names = {
    {{"mode", "mode", "bond-mode", "Mode"},
     {"xmit_hash_policy", "transmit-hash-policy", "bond-xmit-hash-policy", "TransmitHashPolicy"},
     {"miimon", "mii-monitor-interval", "bond-miimon", "MIIMonitorSec"},
     {"lacp_rate", "lacp-rate", "bond-lacp-rate", "LACPTransmitRate"},
     {"min_links", "min-links", "bond-min-links", "MinLinks"}}};

std::string iproute2(const Bond& bond, BondOption option, std::string_view setting) {
    const std::string name = command_name(bond);
    const std::string set = fmt::format("ip link set dev {} type bond {}", name, setting);
    if (option == BondOption::mode) {
        // The driver takes a mode only from a bond that is down and has no slaves.
        std::string text = fmt::format("# interrupts the bond's traffic\nip link set dev {} down\n", name);
        for (const Slave& slave : bond.slaves)
            text += fmt::format("ip link set dev {} nomaster\n", slave.name);
        text += set + "\n";
        for (const Slave& slave : bond.slaves)
            text +=
                fmt::format("ip link set dev {0} down\nip link set dev {0} master {1}\n", slave.name, name);
        return text + fmt::format("ip link set dev {} up", name);
    }
    if (option == BondOption::lacp_rate)
        return fmt::format(
            "# interrupts the bond's traffic\nip link set dev {0} down\n{1}\nip link set dev {0} up", name,
            set);
    return set;
}

} // namespace

std::string command_name(const Bond& bond) {
    return bond.unknown.name ? "BOND" : bond.name;
}

std::vector<Fix> host_fixes(const Bond& bond, BondOption option, std::string_view value) {
    const OptionNames& names = option_names.at(static_cast<std::size_t>(option));
    const std::string name = command_name(bond);
    // networkd takes a number without a unit for seconds.
    const std::string_view unit = option == BondOption::miimon ? "ms" : "";
    std::vector<Fix> fixes{
        {"iproute2", iproute2(bond, option, fmt::format("{} {}", names.kernel, value))},
        {"nmcli", fmt::format("connection=$(nmcli -g GENERAL.CONNECTION device show {0})\n"
                              "nmcli connection modify \"$connection\" +bond.options {1}={2}\n"
                              "nmcli connection up \"$connection\"",
                              name, names.kernel, value)},
        {"netplan", fmt::format("# in /etc/netplan/*.yaml, then: netplan apply\nnetwork:\n  bonds:\n    {}:\n"
                                "      parameters:\n        {}: {}",
                                name, names.netplan, value)},
        {"ifupdown",
         fmt::format("# in /etc/network/interfaces, then: ifdown {0} && ifup {0} (ifupdown2: ifreload -a)\n"
                     "iface {0} ...\n    {1} {2}",
                     name, names.ifupdown, value)},
        {"systemd-networkd",
         fmt::format("# in the .netdev file of {0}, then: networkctl delete {0} && systemctl restart "
                     "systemd-networkd\n[Bond]\n{1}={2}{3}",
                     name, names.networkd, value, unit)},
    };
    if (!bond.manager) return fixes;
    // What changes it now comes first, then what makes it stay, in the words of who is in charge.
    const auto for_good = fixes.begin() + 1;
    std::stable_partition(for_good, fixes.end(),
                          [&](const Fix& fix) { return fix.where == to_text(*bond.manager); });
    for (auto fix = for_good; fix != fixes.end(); ++fix)
        fix->other_manager = fix->where != to_text(*bond.manager);
    return fixes;
}

} // namespace bondtrace
