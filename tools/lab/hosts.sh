# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154  # the options are set by the lab
# The hosts of every topology, bt-a and bt-b: their bonds, their addresses, and what they know of each other.
#
# bt-a: slaves s0..., 10.77.0.1/24, fd77::1/64; bt-b: slaves p0..., 10.77.0.2/24, fd77::2/64. With --vlan ID, bond0.ID at both
# ends with 10.78.0.1 and .2, fd78::1 and ::2.

mac_a=02:77:00:00:00:01 mac_b=02:77:00:00:00:02

# The ip commands that make one end, into the variable $1: $2 letter of its slaves, $3 last part of its addresses, $4 address
# of bond0.
end_commands() {
    local -n text=$1
    local letter=$2 host=$3 mac=$4 bond link
    bond="mode $mode miimon $miimon xmit_hash_policy $policy"
    case $mode-$cabling in
        802.3ad-*) bond+=" lacp_rate $lacp_rate" ;;
        # These modes take for granted a switch that leads every frame to the active slave, or to the one whose address
        # it bears. Without one a frame comes out where it was sent, so every slave must take what arrives. Learning
        # packets, meant for that switch, are put off for years.
        balance-[ta]lb-straight) bond+=" all_slaves_active 1 lp_interval 100000000" ;;
    esac
    text="link set lo up"$'\n'
    text+="link add bond0 group $bond_group address $mac mtu $mtu type bond $bond"$'\n'
    lasting_neighbours text bond0
    for link in "${slave_order[@]}"; do text+="link set $letter$link master bond0"$'\n'; done
    # Both ends must use the same link.
    if [ "$mode" = active-backup ]; then text+="link set bond0 type bond primary ${letter}0"$'\n'; fi
    text+="link set bond0 up"$'\n'
    text+="address add 10.77.0.$host/24 dev bond0"$'\n'
    text+="address add fd77::$host/64 dev bond0 nodad"$'\n'
    if [ -n "$vlan" ]; then
        text+="link add bond0.$vlan link bond0 type vlan id $vlan"$'\n'
        lasting_neighbours text "bond0.$vlan"
        text+="link set bond0.$vlan up"$'\n'
        text+="address add 10.78.0.$host/24 dev bond0.$vlan"$'\n'
        text+="address add fd78::$host/64 dev bond0.$vlan nodad"$'\n'
    fi
    case $mode-$cabling in
        # For the same reason as all_slaves_active: a frame to the bond's address must be for every slave.
        balance-[ta]lb-straight) for link in "${slave_order[@]}"; do text+="link set $letter$link address $mac"$'\n'; done ;;
    esac
}

# Confirms what a namespace knows of the other end: $2 last part of its addresses, $3 its hardware address.
know_neighbours() {
    local known='' address
    for address in "10.77.0.$2" "fd77::$2"; do known+="neigh replace $address lladdr $3 dev bond0 nud reachable"$'\n'; done
    if [ -n "$vlan" ]; then
        for address in "10.78.0.$2" "fd78::$2"; do known+="neigh replace $address lladdr $3 dev bond0.$vlan nud reachable"$'\n'; done
    fi
    batch "$1" "$known"
}

# await_host NAMESPACE LETTER DEADLINE [STATE]: waits until a host's bond is up in its mode; STATE is that of its ports with
# LACP.
await_host() {
    local active='' state=$port_state_any
    case $mode in
        active-backup) active=${2}0 ;;
        802.3ad) state=${4-$lacp_carries} ;;
    esac
    await_bond "$1" bond0 "$slaves" "$active" "$state" "$3"
}

# Lets the hosts ask no more for each other.
introduce_hosts() {
    know_neighbours bt-a 2 "$mac_b"
    know_neighbours bt-b 1 "$mac_a"
}

# Waits until the hosts answer each other.
await_hosts() {
    local address
    for address in 10.77.0.2 fd77::2 ${vlan:+10.78.0.2 fd78::2}; do await_ping bt-a "$address" "$1"; done
    # The end that was asked has learnt the other's address without proof of it, and would ask back in five seconds.
    introduce_hosts
}
