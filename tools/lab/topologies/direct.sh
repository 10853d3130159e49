# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154  # the options are set by the lab
# Summary: two hosts, bt-a and bt-b, with a bond0 each, joined link by link (s0-p0, s1-p1, ...)
#
# bt-a: slaves s0..., 10.77.0.1/24, fd77::1/64; bt-b: slaves p0..., 10.77.0.2/24, fd77::2/64. With --vlan ID, bond0.ID at both
# ends with 10.78.0.1 and .2, fd78::1 and ::2. A topology provides topology_build and topology_await.

# The options of a bond, the same at both ends.
bond_options() {
    printf 'mode %s miimon %s xmit_hash_policy %s' "$mode" "$miimon" "$policy"
    case $mode in
        802.3ad) printf ' lacp_rate %s' "$lacp_rate" ;;
        # These modes take for granted a switch that leads every frame to the active slave, or to the one whose address
        # it bears. Here a frame comes out where it was sent, so every slave must take what arrives. Learning
        # packets, meant for that switch, are put off for years.
        balance-tlb | balance-alb) printf ' all_slaves_active 1 lp_interval 100000000' ;;
    esac
}

# The ip commands that make one end: $1 letter of its slaves, $2 last part of its addresses, $3 address of bond0.
end_commands() {
    local letter=$1 host=$2 mac=$3 link
    echo "link set lo up"
    echo "link add bond0 address $mac mtu $mtu type bond $(bond_options)"
    lasting_neighbours bond0
    for link in "${slave_order[@]}"; do echo "link set $letter$link master bond0"; done
    # Both ends must use the same link.
    if [ "$mode" = active-backup ]; then echo "link set bond0 type bond primary ${letter}0"; fi
    echo "link set bond0 up"
    echo "address add 10.77.0.$host/24 dev bond0"
    echo "address add fd77::$host/64 dev bond0 nodad"
    if [ -n "$vlan" ]; then
        echo "link add bond0.$vlan link bond0 type vlan id $vlan"
        lasting_neighbours "bond0.$vlan"
        echo "link set bond0.$vlan up"
        echo "address add 10.78.0.$host/24 dev bond0.$vlan"
        echo "address add fd78::$host/64 dev bond0.$vlan nodad"
    fi
    case $mode in
        # For the same reason as all_slaves_active: a frame to the bond's address must be for every slave.
        balance-tlb | balance-alb) for link in "${slave_order[@]}"; do echo "link set $letter$link address $mac"; done ;;
    esac
}

topology_build() {
    local link
    make_namespaces bt-a bt-b
    for ((link = 0; link < slaves; link++)); do
        echo "link add s$link group $device_group mtu $mtu type veth peer name p$link mtu $mtu group $device_group netns bt-b"
    done | batch bt-a
    # Both at once: with LACP, ends that start together find each other sooner.
    end_commands s 1 02:77:00:00:00:01 >"$state/a"
    end_commands p 2 02:77:00:00:00:02 >"$state/b"
    batch bt-a <"$state/a"
    batch bt-b <"$state/b"
}

topology_await() {
    local deadline=$((SECONDS + await_limit)) active_a='' active_b='' address
    if [ "$mode" = active-backup ]; then active_a=s0 active_b=p0; fi
    await_bond bt-a "$slaves" "$active_a" "$deadline"
    await_bond bt-b "$slaves" "$active_b" "$deadline"
    for address in 10.77.0.2 fd77::2 ${vlan:+10.78.0.2 fd78::2}; do await_ping bt-a "$address" "$deadline"; done
}
