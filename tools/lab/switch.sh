# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # the options are set and read by the lab
# The switch between the hosts: namespace bt-sw with a LAG (a bond) to each, lag-a with ports a0... and lag-b with ports b0...,
# and switch.bpf.c as its data plane.

mac_switch=02:77:00:00:00:03 # of both LAGs: to LACP they are one system

# The fields that each --switch-hash is of, in the numbers of switch.bpf.c.
declare -A switch_fields=([src-mac]=1 [src-dst-mac]=3 [src-ip]=4 [dst-ip]=8 [src-dst-ip]=12 [src-port]=16 [dst-port]=32
    [src-dst-port]=48 [src-dst-ip-mac-port]=63 [round-robin]=64)

# lag_commands VARIABLE NAME MODE POLICY MAC LETTER FIRST COUNT: appends to the variable the ip commands that make a LAG of the
# switch.
lag_commands() {
    local -n text_=$1
    local link options="mode $3 miimon 100 xmit_hash_policy $4"
    if [ "$3" = 802.3ad ]; then options+=" lacp_rate $lacp_rate"; fi
    text_+="link add $2 group $bond_group address $5 mtu $mtu type bond $options"$'\n'
    for ((link = $7; link < $7 + $8; link++)); do text_+="link set $6$link master $2"$'\n'; done
    text_+="link set $2 up"$'\n'
}

# build_switch MODE [MODE_B]: everything; MODE is that of the LAGs, MODE_B that of bt-b if it is not that of bt-a.
build_switch() {
    local end_a end_b lags=''
    find_bpftool
    find_switch_program
    make_namespaces bt-a bt-b bt-sw
    lay_cables bt-a s bt-sw a 0 "$slaves"
    lay_cables bt-b p bt-sw b 0 "$slaves"
    end_commands end_a s 1 "$mac_a"
    mode=${2-$mode} end_commands end_b p 2 "$mac_b"
    # With this policy the program's hash is the one that counts.
    lag_commands lags lag-a "$1" encap3+4 "$mac_switch" a 0 "$slaves"
    lag_commands lags lag-b "$1" encap3+4 "$mac_switch" b 0 "$slaves"
    # One right after the other: with LACP, ends that start together find each other sooner.
    batch bt-a "$end_a"
    batch bt-sw "$lags"
    batch bt-b "$end_b"
    load_switch
    set_switch_hash "$switch_hash"
    attach_switch
}

# await_switch MODE DEADLINE: waits until all ports of the switch carry.
await_switch() {
    local lag state=$port_state_any
    if [ "$1" = 802.3ad ]; then state=$lacp_carries; fi
    for lag in lag-a lag-b; do await_bond bt-sw "$lag" "$slaves" '' "$state" "$2"; done
}

# For topologies whose switch speaks LACP to both hosts.
await_lacp() {
    await_host bt-a s "$1"
    await_host bt-b p "$1"
    await_switch 802.3ad "$1"
    await_hosts "$1"
}

# For topologies whose switch speaks LACP: ends the program when the hosts do not.
need_lacp() {
    if [ "$mode" != 802.3ad ]; then
        wrong_usage "topology $topology needs --mode 802.3ad, as its switch speaks LACP; for $mode see static-lag and bridge"
    fi
}

# Sets bpftool to it, wherever it is.
find_bpftool() {
    bpftool=$(PATH=$PATH:/usr/sbin:/sbin command -v bpftool) ||
        die "bpftool is not there (package bpftool); it loads the switch's program"
}

# Sets switch_program to the object built from switch.bpf.c.
find_switch_program() {
    switch_program=${BONDTRACE_BUILD-$here/../../build}/tools/lab/lab_switch.bpf.o
    [ -f "$switch_program" ] || die "the switch's program is not built: no $switch_program. Build it by
cmake --preset release && cmake --build --preset release --target lab_switch_bpf
or name another build directory in BONDTRACE_BUILD"
}

# Loads the program into a file system of the lab's own, where its maps are, too.
load_switch() {
    local answer
    mkdir -p "$state/bpf"
    mount -t bpf lab "$state/bpf" || die "cannot mount a BPF file system at $state/bpf (mount answered above)"
    answer=$("$bpftool" prog load "$switch_program" "$state/bpf/forward" type classifier pinmaps "$state/bpf/maps" 2>&1) ||
        die "the kernel did not take the switch's program; bpftool said: $answer"
}

attach_switch() {
    local lag commands=''
    for lag in lag-a lag-b; do
        commands+="qdisc add dev $lag clsact"$'\n'
        commands+="filter add dev $lag ingress bpf direct-action object-pinned $state/bpf/forward"$'\n'
    done
    tc_batch bt-sw "$commands"
}

# The four bytes of a number, as bpftool wants them, on the machines this is for.
little_endian() { printf '%d %d %d %d ' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)); }

# Gives the program its configuration (struct lab_switch).
set_switch_hash() {
    local answer lag index bytes
    bytes=$(little_endian "${switch_fields[$1]}")
    for lag in lag-a lag-b; do
        index=$(ip -n bt-sw -o link show dev "$lag") || die "no $lag in bt-sw (ip answered above)"
        bytes+=$(little_endian "${index%%:*}")' '
    done
    # A seed for each direction, so that a hash of addresses and ports is not the same in both.
    bytes+=$(little_endian 0x5eed0a0b)' '$(little_endian 0x5eed0b0a)
    # shellcheck disable=SC2086  # words
    answer=$("$bpftool" map update pinned "$state/bpf/maps/lab_switch" key 0 0 0 0 value $bytes 2>&1) ||
        die "cannot configure the switch's program; bpftool said: $answer"
}
