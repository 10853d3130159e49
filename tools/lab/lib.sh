# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options such as $mode are set by the lab, states read elsewhere
# What the lab's topologies share: namespaces made and removed, the kernel kept quiet, and waiting for states.
# hosts.sh, cables.sh and switch.sh have what is in the namespaces.

# Where the lab remembers what it has made: a line for each namespace, written before the namespace is made. Its directory
# sys is where enter puts the outer /sys, bpf where the switch's program and its maps are.
state=/run/bondtrace-lab
await_limit=60 # seconds that anything may take to come up

die() {
    printf 'tools/lab/lab: %s\n' "$*" >&2
    exit 1
}

# batch NAMESPACE COMMANDS: runs lines of ip commands in a namespace, in one process.
batch() {
    local answer
    answer=$(ip -n "$1" -batch - <<<"$2" 2>&1) || die "ip answered: $answer; the commands in $1 were:
$2"
}

# The same with lines of tc commands. Not tc -n: that would hide what is mounted below /sys.
tc_batch() {
    local answer
    answer=$(nsenter --net="/run/netns/$1" tc -batch - <<<"$2" 2>&1) || die "tc answered: $answer; the commands in $1 were:
$2"
}

# Keeps a namespace free of IPv6 traffic that nobody sent. Must run before its devices are made: they copy the defaults.
# MLD reports cannot be switched off, but their repetition follows within a millisecond and not at some time in the first
# second.
quieten() {
    # shellcheck disable=SC2016  # for the inner shell
    nsenter --net="/run/netns/$1" sh -ec '
        for which in all default; do
            cd "/proc/sys/net/ipv6/conf/$which"
            for setting in accept_ra autoconf router_solicitations dad_transmits accept_dad; do echo 0 >"$setting"; done
            echo 1 >addr_gen_mode
            echo 1 >mldv1_unsolicited_report_interval
            echo 1 >mldv2_unsolicited_report_interval
        done' || die "could not set the kernel's network settings in namespace $1"
}

# Makes namespaces of these names with their loopback up.
make_namespaces() {
    local namespace
    for namespace in "$@"; do
        [ ! -e "/run/netns/$namespace" ] ||
            die "namespace $namespace exists and is not the lab's; remove it (ip netns del $namespace) or use it elsewhere"
        echo "$namespace" >>"$state/namespaces"
        ip netns add "$namespace" || die "cannot make namespace $namespace (ip netns add; its answer is above)"
        if [ "$ipv6_noise" = no ]; then quieten "$namespace"; fi
    done
}

# Appends to the variable $1 the ip commands that let a device's neighbours stay valid for about an hour, so that they are
# asked for only once.
lasting_neighbours() {
    local -n commands_=$1
    commands_+="ntable change name arp_cache dev $2 base_reachable 3600000"$'\n'
    commands_+="ntable change name ndisc_cache dev $2 base_reachable 3600000"$'\n'
}

# Removes everything the lab has made, whole or half, and nothing else.
tear_down() {
    local namespace
    [ -d "$state" ] || return 0
    if [ -f "$state/namespaces" ]; then
        while IFS= read -r namespace; do
            [ -e "/run/netns/$namespace" ] || continue
            # Devices first: a process still inside would keep the namespace, and them, alive. Bonds before their slaves.
            ip -n "$namespace" link delete group "$bond_group" 2>/dev/null || true
            ip -n "$namespace" link delete group "$device_group" 2>/dev/null || true
            ip netns delete "$namespace" || die "cannot remove namespace $namespace (ip netns delete; its answer is above)"
        done <"$state/namespaces"
    fi
    # Not rm -rf: inside lab exec all of /sys is mounted below.
    rm -f "$state/namespaces" "$state/topology" "$state/mounts"
    if mountpoint -q "$state/bpf"; then umount "$state/bpf" || die "cannot remove $state/bpf (umount answered above)"; fi
    [ ! -d "$state/bpf" ] || rmdir "$state/bpf" || die "cannot remove $state/bpf (rmdir answered above)"
    [ ! -d "$state/sys" ] || rmdir "$state/sys" || die "cannot remove $state/sys (rmdir answered above)"
    rmdir "$state" || die "cannot remove $state (rmdir answered above)"
}
device_group=7707 # marks the lab's virtual Ethernet devices
bond_group=7708   # and its bonds

# Starts the lab's record, with the table of mounts, in the format of fstab, that give a process at one end its own /sys and
# what is mounted below the outer one (BPF, tracing).
begin() {
    local target
    mkdir -p "$state/sys"
    printf '%s\n' "/sys $state/sys none rbind" "lab /sys sysfs rw" >"$state/mounts"
    while read -r _ target _; do
        if [[ $target == /sys/* ]]; then printf '%s\n' "$state/sys${target#/sys} $target none bind" >>"$state/mounts"; fi
    done </proc/self/mounts
}

# Runs a command at one end.
enter() {
    local namespace=$1
    shift
    [ -e "/run/netns/$namespace" ] || die "no $namespace: the lab is not up (tools/lab/lab up TOPOLOGY)"
    # shellcheck disable=SC2016  # for the inner shell
    exec nsenter --net="/run/netns/$namespace" unshare --mount sh -ec '
        mount --all --fstab "$1"
        shift
        exec "$@"' sh "$state/mounts" "$@"
}

# One line for each bond or slave of "ip -d -o link": the fields that tell how it does.
bond_summary() { sed -nE 's/^[0-9]+: ([^:@]+).*<([^>]*)>.* bond mode ([^ ]+).*/  \1: mode \3, \2/p'; }
slave_summary() {
    sed -nE 's/^[0-9]+: ([^:@]+).* bond_slave state ([A-Z]+) mii_status ([A-Z]+).*/  \1: \2, link \3 \0/p' |
        sed -E 's/^(  [^:]+: [A-Z]+, link [A-Z]+) .*ad_actor_oper_port_state ([0-9]+).*ad_partner_oper_port_state ([0-9]+).*/\1, LACP state \2, partner \3/; t; s/^(  [^:]+: [A-Z]+, link [A-Z]+) .*/\1/'
}

# The port state (IEEE 802.1AX) that each port of a bond must show, as "SIDE BITS VALUE", which comes seconds after the
# carrier. lacp_carries: aggregated, synchronised, collecting, distributing; whether the other side is as far is seen on the
# other side. lacp_met: has a partner that is synchronised with it, though perhaps not that of the active aggregator.
# lacp_alone: has given up waiting for a partner. A bond without LACP: port_state_any.
lacp_carries='actor 0x3c 0x3c' lacp_met='partner 0x0c 0x0c' lacp_alone='actor 0x40 0x40' port_state_any='actor 0 0'

# bond_ready LINKS BOND PORTS ACTIVE STATE: whether "ip -d -o link show" tells of a bond with a carrier, that many ports up in
# a STATE from above and, unless ACTIVE is empty, that active slave. Of ports that carry by LACP, all must be active.
bond_ready() {
    local line carrier=no ready=0 side bits value
    read -r side bits value <<<"$5"
    while IFS= read -r line; do
        case $line in
            *": $2: <"*LOWER_UP*'> '*' state UP '*)
                if [[ -z $4 || $line == *" active_slave $4 "* ]]; then carrier=yes; fi
                ;;
            *" master $2 "*' bond_slave state '*' mii_status UP '*)
                if ((bits)); then
                    [[ $line =~ \ ad_"$side"_oper_port_state\ ([0-9]+)\  ]] || continue
                    (((BASH_REMATCH[1] & bits) == value)) || continue
                fi
                if [[ $5 == "$lacp_carries" && $line != *' bond_slave state ACTIVE '* ]]; then continue; fi
                ready=$((ready + 1))
                ;;
        esac
    done <<<"$1"
    [ $carrier = yes ] && [ $ready -eq "$3" ]
}

# await_bond NAMESPACE BOND PORTS ACTIVE STATE DEADLINE: waits until the bond is ready; ends the program with the states
# otherwise. DEADLINE in the shell's SECONDS.
await_bond() {
    local links wanted
    while :; do
        links=$(ip -n "$1" -d -o link show) || die "cannot read the links of $1 (ip answered above)"
        if bond_ready "$links" "$2" "$3" "$4" "$5"; then return; fi
        if [ "$SECONDS" -ge "$6" ]; then
            wanted="carrier, $3 slaves up${4:+, $4 active}"
            if [ "$5" != "$port_state_any" ]; then wanted+=", each with the LACP state (side, bits, their value) $5"; fi
            die "$2 in $1 did not come up in $await_limit s (wanted: $wanted):
$(bond_summary <<<"$links")
$(slave_summary <<<"$links")"
        fi
        sleep 0.1
    done
}

# await_ping NAMESPACE ADDRESS DEADLINE: waits until the address answers.
await_ping() {
    local answer
    until answer=$(nsenter --net="/run/netns/$1" ping -n -c 1 -W 1 "$2" 2>&1); do
        if [ "$SECONDS" -ge "$3" ]; then die "no answer from $2 in $1; ping said: $answer"; fi
        sleep 0.05
    done
}
