# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options and defaults are shared with the lab
# Summary: all ports of both hosts are independent ones of a switch, a Linux bridge in bt-sw: what active-backup wants

mode=active-backup

topology_build() {
    local end_a end_b link bridge
    make_namespaces bt-a bt-b bt-sw
    lay_cables bt-a s bt-sw a 0 "$slaves"
    lay_cables bt-b p bt-sw b 0 "$slaves"
    bridge="link add br0 group $bond_group type bridge"$'\n'
    for ((link = 0; link < slaves; link++)); do bridge+="link set a$link master br0 up"$'\n'"link set b$link master br0 up"$'\n'; done
    batch bt-sw "$bridge"'link set br0 up'
    end_commands end_a s 1 "$mac_a"
    end_commands end_b p 2 "$mac_b"
    batch bt-a "$end_a"
    batch bt-b "$end_b"
}

topology_await() {
    local deadline=$((SECONDS + await_limit))
    await_host bt-a s "$deadline" "$lacp_alone"
    await_host bt-b p "$deadline" "$lacp_alone"
    await_hosts "$deadline"
}
