// SPDX-License-Identifier: GPL-2.0-or-later
// From the makers' command references: Cisco IOS XE and NX-OS, Junos, Huawei VRP (S series), Arista EOS,
// NVIDIA Onyx and Cumulus Linux (NVUE).
#include "user/audit/advice.h"

namespace bondtrace {
namespace {

std::vector<Fix> lacp() {
    return {
        {"switch (any)",
         "put all the bond's ports into one aggregation group that runs LACP (IEEE 802.1AX, once "
         "802.3ad) in active mode, all with the same speed, duplex and VLANs"},
        {"Cisco", "feature lacp   ! NX-OS only\ninterface range Ethernet1/1-2\n channel-group 1 mode active"},
        {"Juniper", "set chassis aggregated-devices ethernet device-count 1\n"
                    "delete interfaces xe-0/0/1 unit 0\ndelete interfaces xe-0/0/2 unit 0\n"
                    "set interfaces xe-0/0/1 ether-options 802.3ad ae0\n"
                    "set interfaces xe-0/0/2 ether-options 802.3ad ae0\n"
                    "set interfaces ae0 aggregated-ether-options lacp active\ncommit"},
        {"Huawei", "interface Eth-Trunk 1\n mode lacp\n trunkport 10GE 1/0/1 to 1/0/2"},
        {"Arista", "interface Ethernet1-2\n channel-group 1 mode active"},
        {"NVIDIA Onyx",
         "lacp\ninterface port-channel 1\nexit\ninterface ethernet 1/1-1/2 channel-group 1 mode active"},
        {"NVIDIA Cumulus",
         "nv set interface bond1 bond member swp1-2\nnv set interface bond1 bond mode lacp\n"
         "nv config apply"}};
}

std::vector<Fix> same_lag() {
    return {{"switch (any)",
             "put all the bond's ports into the same aggregation group; when they end on two switches, "
             "make these a multi-chassis pair (MLAG, vPC, MC-LAG, stacking), which shows one LACP system"},
            {"Cisco",
             "interface range Ethernet1/1-2\n channel-group 1 mode active\n! two Nexus switches: on both\n"
             "interface port-channel1\n vpc 1"},
            {"Juniper", "set interfaces xe-0/0/1 ether-options 802.3ad ae0\n"
                        "set interfaces xe-0/0/2 ether-options 802.3ad ae0\n"
                        "# two switches (MC-LAG): on both, the same system-id and admin-key\n"
                        "set interfaces ae0 aggregated-ether-options lacp system-id 00:01:02:03:04:05\n"
                        "set interfaces ae0 aggregated-ether-options lacp admin-key 1\n"
                        "set interfaces ae0 aggregated-ether-options mc-ae mc-ae-id 1\ncommit"},
            {"Huawei",
             "interface Eth-Trunk 1\n mode lacp\n trunkport 10GE 1/0/1 to 1/0/2\n# two switches: on both\n"
             " dfs-group 1 m-lag 1"},
            {"Arista", "interface Ethernet1-2\n channel-group 1 mode active\n! two switches: on both\n"
                       "interface Port-Channel1\n mlag 1"},
            {"NVIDIA Onyx",
             "interface ethernet 1/1-1/2 channel-group 1 mode active\n# two switches: on both\n"
             "interface mlag-port-channel 1\nexit\n"
             "interface ethernet 1/1 mlag-channel-group 1 mode active"},
            {"NVIDIA Cumulus", "nv set interface bond1 bond member swp1-2\n# two switches: on both\n"
                               "nv set interface bond1 bond mlag id 1\nnv config apply"}};
}

std::vector<Fix> static_lag() {
    return {
        {"switch (any)", "put all the bond's ports into one static aggregation group, without LACP"},
        {"Cisco", "interface range Ethernet1/1-2\n channel-group 1 mode on"},
        {"Juniper", "set interfaces xe-0/0/1 ether-options 802.3ad ae0\n"
                    "set interfaces xe-0/0/2 ether-options 802.3ad ae0\n"
                    "delete interfaces ae0 aggregated-ether-options lacp\ncommit"},
        {"Huawei", "interface Eth-Trunk 1\n mode manual load-balance\n trunkport 10GE 1/0/1 to 1/0/2"},
        {"Arista", "interface Ethernet1-2\n channel-group 1 mode on"},
        {"NVIDIA Onyx", "interface port-channel 1\nexit\ninterface ethernet 1/1-1/2 channel-group 1 mode on"},
        {"NVIDIA Cumulus",
         "nv set interface bond1 bond member swp1-2\nnv set interface bond1 bond mode static\n"
         "nv config apply"}};
}

std::vector<Fix> no_lag() {
    return {
        {"switch (any)",
         "take the bond's ports out of their aggregation group: ordinary ports with the same VLANs"},
        {"Cisco", "interface range Ethernet1/1-2\n no channel-group"},
        {"Juniper", "delete interfaces xe-0/0/1 ether-options 802.3ad\n"
                    "delete interfaces xe-0/0/2 ether-options 802.3ad\n"
                    "set interfaces xe-0/0/1 unit 0 family ethernet-switching\n"
                    "set interfaces xe-0/0/2 unit 0 family ethernet-switching\ncommit"},
        {"Huawei", "interface 10GE 1/0/1\n undo eth-trunk\ninterface 10GE 1/0/2\n undo eth-trunk"},
        {"Arista", "interface Ethernet1-2\n no channel-group"},
        {"NVIDIA Onyx", "interface ethernet 1/1 no channel-group\ninterface ethernet 1/2 no channel-group"},
        {"NVIDIA Cumulus", "nv unset interface bond1 bond member swp1-2\nnv config apply"}};
}

std::vector<Fix> hash_layer4() {
    return {
        {"switch (any)", "let the switch choose a LAG's port by source and destination address and port"},
        {"Cisco", "port-channel load-balance src-dst-mixed-ip-port   ! IOS XE\n"
                  "port-channel load-balance src-dst ip-l4port       ! NX-OS"},
        {"Juniper", "set forwarding-options enhanced-hash-key hash-mode layer2-payload   # EX, QFX\n"
                    "set forwarding-options hash-key family inet layer-3                 # MX\n"
                    "set forwarding-options hash-key family inet layer-4\ncommit"},
        {"Huawei", "load-balance-profile bond\n ipv4 field sip dip l4-sport l4-dport\n"
                   " ipv6 field sip dip l4-sport l4-dport\nquit\n"
                   "interface Eth-Trunk 1\n load-balance enhanced profile bond"},
        {"Arista",
         "port-channel load-balance trident fields ip ip-tcp-udp-header   ! Jericho: arad for trident"},
        {"NVIDIA Onyx", "port-channel load-balance ethernet source-destination-ip source-destination-port"},
        {"NVIDIA Cumulus", "nv set system forwarding lag-hash source-port on\n"
                           "nv set system forwarding lag-hash destination-port on\nnv config apply"}};
}

std::vector<Fix> lacp_rate(bool fast) {
    const std::string word = fast ? "fast" : "slow", normal = fast ? "fast" : "normal";
    return {{"switch (any)", fast ? "set the group's LACP timeout to short (fast): a LACPDU each second"
                                  : "set the group's LACP timeout to long (slow): a LACPDU each 30 seconds"},
            {"Cisco", "interface range Ethernet1/1-2\n lacp rate " + normal},
            {"Juniper", "set interfaces ae0 aggregated-ether-options lacp periodic " + word + "\ncommit"},
            {"Huawei", "interface Eth-Trunk 1\n lacp timeout " + word},
            {"Arista", "interface Ethernet1-2\n lacp timer " + normal},
            {"NVIDIA Onyx", "interface ethernet 1/1-1/2 lacp rate " + normal},
            {"NVIDIA Cumulus", "nv set interface bond1 bond lacp-rate " + word + "\nnv config apply"}};
}

} // namespace

std::vector<Fix> switch_fixes(SwitchChange change) {
    switch (change) {
    case SwitchChange::lacp:
        return lacp();
    case SwitchChange::same_lag:
        return same_lag();
    case SwitchChange::static_lag:
        return static_lag();
    case SwitchChange::no_lag:
        return no_lag();
    case SwitchChange::hash_layer4:
        return hash_layer4();
    case SwitchChange::lacp_fast:
        return lacp_rate(true);
    case SwitchChange::lacp_slow:
        return lacp_rate(false);
    }
    return {};
}

} // namespace bondtrace
