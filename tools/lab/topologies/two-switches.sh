# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options and defaults are shared with the lab
# Summary: bt-a's slaves are divided among two switches, bt-sw and bt-sw2, that are not one to LACP: MLAG is missing
#
# Each switch is a bridge of its LAG to bt-a (the first half of the ports a0..., or the second), of the link between the
# switches (isl) and, bt-sw only, of a LAG with bt-b.

mac_second=02:77:00:00:00:04

topology_check() {
    need_lacp
    ((slaves >= 2)) || wrong_usage "topology two-switches needs at least two slaves"
}

# The bridge of a switch, with these ports, into the variable $1.
bridge_commands() {
    local -n bridge_=$1
    local port
    bridge_="link add br0 group $bond_group type bridge"$'\n'
    for port in "${@:2}"; do bridge_+="link set $port master br0"$'\n'"link set $port up"$'\n'; done
    bridge_+='link set br0 up'
}

topology_build() {
    local end_a end_b first=$(((slaves + 1) / 2)) isl='' lags='' second_lag='' bridge second_bridge
    make_namespaces bt-a bt-b bt-sw bt-sw2
    lay_cables bt-a s bt-sw a 0 "$first"
    lay_cables bt-a s bt-sw2 a "$first" $((slaves - first))
    lay_cables bt-b p bt-sw b 0 "$slaves"
    cable_command isl isl bt-sw2 isl
    batch bt-sw "$isl"
    end_commands end_a s 1 "$mac_a"
    end_commands end_b p 2 "$mac_b"
    lag_commands lags lag-a 802.3ad layer3+4 "$mac_switch" a 0 "$first"
    lag_commands lags lag-b 802.3ad layer3+4 "$mac_switch" b 0 "$slaves"
    lag_commands second_lag lag-a 802.3ad layer3+4 "$mac_second" a "$first" $((slaves - first))
    batch bt-a "$end_a"
    batch bt-sw "$lags"
    batch bt-sw2 "$second_lag"
    batch bt-b "$end_b"
    bridge_commands bridge lag-a lag-b isl
    bridge_commands second_bridge lag-a isl
    batch bt-sw "$bridge"
    batch bt-sw2 "$second_bridge"
}

topology_await() {
    local deadline=$((SECONDS + await_limit))
    # Which of the partners the host takes is its own choice; the ports to the other never carry.
    await_host bt-a s "$deadline" "$lacp_met"
    await_host bt-b p "$deadline"
    await_bond bt-sw lag-b "$slaves" '' "$lacp_carries" "$deadline"
    await_hosts "$deadline"
}
