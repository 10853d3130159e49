# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154  # options such as $mode are set by the lab
# What the lab's topologies share: namespaces made and removed, the kernel kept quiet, and waiting for states.

# Where the lab remembers what it has made: a line for each namespace, written before the namespace is made.
state=/run/bondtrace-lab
await_limit=60 # seconds that anything may take to come up

die() {
    printf 'tools/lab/lab: %s\n' "$*" >&2
    exit 1
}

# Runs the ip commands on standard input in a namespace, or in this one when the name is empty, in one process.
batch() {
    local namespace=$1 commands answer
    commands=$(cat)
    answer=$(ip ${namespace:+-n "$namespace"} -batch - <<<"$commands" 2>&1) && return
    die "ip answered: $answer; the commands${namespace:+ in $namespace} were:
$commands"
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

# The ip commands that let a device's neighbours stay valid for about an hour, so that they are asked for only once.
lasting_neighbours() {
    printf 'ntable change name %s dev %s base_reachable 3600000\n' arp_cache "$1" ndisc_cache "$1"
}

# Removes everything the lab has made, whole or half, and nothing else.
tear_down() {
    local namespace
    [ -d "$state" ] || return 0
    if [ -f "$state/namespaces" ]; then
        while IFS= read -r namespace; do
            [ -e "/run/netns/$namespace" ] || continue
            # Devices first: a process still inside would keep the namespace, and them, alive. Bonds before their slaves.
            ip -n "$namespace" link delete dev bond0 2>/dev/null || true
            ip -n "$namespace" link delete group "$device_group" 2>/dev/null || true
            ip netns delete "$namespace" || die "cannot remove namespace $namespace (ip netns delete; its answer is above)"
        done <"$state/namespaces"
    fi
    rm -rf "$state"
}
device_group=7707 # marks the lab's virtual Ethernet devices

# Runs a command at one end, with the /sys of its namespace and what is mounted below /sys (BPF, tracing) still there.
enter() {
    local namespace=$1
    shift
    [ -e "/run/netns/$namespace" ] || die "no $namespace: the lab is not up (tools/lab/lab up TOPOLOGY)"
    # shellcheck disable=SC2016  # for the inner shell
    exec nsenter --net="/run/netns/$namespace" unshare --mount sh -ec '
        mount --rbind /sys "$1"
        mount -t sysfs sysfs /sys
        for below in fs/bpf fs/cgroup kernel/tracing kernel/debug; do
            if [ -n "$(ls "$1/$below")" ] || [ "$below" = fs/bpf ]; then mount --rbind "$1/$below" "/sys/$below"; fi
        done
        umount -l "$1"
        shift
        exec "$@"' sh "$state" "$@"
}

# One line for each bond or slave of "ip -d -o link": the fields that tell how it does.
bond_summary() { sed -nE 's/^[0-9]+: ([^:@]+).*<([^>]*)>.* bond mode ([^ ]+).*/  \1: mode \3, \2/p'; }
slave_summary() {
    sed -nE 's/^[0-9]+: ([^:@]+).* bond_slave state ([A-Z]+) mii_status ([A-Z]+).*/  \1: \2, link \3 \0/p' |
        sed -E 's/^(  [^:]+: [A-Z]+, link [A-Z]+) .*ad_actor_oper_port_state ([0-9]+).*ad_partner_oper_port_state ([0-9]+).*/\1, LACP state \2, partner \3/; t; s/^(  [^:]+: [A-Z]+, link [A-Z]+) .*/\1/'
}

# Whether $1, lines of "ip -d -o link show master …", has $2 slaves that all can carry traffic. With LACP: state active, and
# the port synchronised, collecting and distributing (bits 0x3c of the port state, IEEE 802.1AX), which comes seconds
# after the carrier; the other side's view is the business of the other side's check.
slaves_carry() {
    local text=$1 wanted=$2 line ready=0
    while IFS= read -r line; do
        [[ $line =~ \ bond_slave\ state\ ([A-Z]+)\ mii_status\ ([A-Z]+)\  ]] || continue
        [ "${BASH_REMATCH[2]}" = UP ] || continue
        if [ "$mode" = 802.3ad ]; then
            [ "${BASH_REMATCH[1]}" = ACTIVE ] || continue
            [[ $line =~ ad_actor_oper_port_state\ ([0-9]+) ]] || continue
            (((BASH_REMATCH[1] & 0x3c) == 0x3c)) || continue
        fi
        ready=$((ready + 1))
    done <<<"$text"
    [ "$ready" -eq "$wanted" ]
}

# Whether $1, the line of "ip -d -o link show bond0", has a carrier and, when $2 is not empty, that active slave.
bond_carries() {
    [[ $1 =~ \<[^\>]*LOWER_UP[^\>]*\> ]] && [[ $1 == *" state UP "* ]] && [[ -z $2 || $1 == *" active_slave $2 "* ]]
}

# await_bond NAMESPACE SLAVES ACTIVE DEADLINE: waits until a bond0 can carry traffic on all slaves; ends the program with the
# states otherwise. DEADLINE in the shell's SECONDS.
await_bond() {
    local namespace=$1 wanted=$2 active=$3 deadline=$4 links
    while :; do
        links=$(ip -n "$namespace" -d -o link show) || die "cannot read the links of $namespace (ip answered above)"
        if bond_carries "$(grep -E '^[0-9]+: bond0:' <<<"$links")" "$active" && slaves_carry "$links" "$wanted"; then return; fi
        if [ "$SECONDS" -ge "$deadline" ]; then
            die "bond0 in $namespace did not come up in $await_limit s (wanted: carrier, $wanted slaves up${active:+, $active active}$(
                [ "$mode" = 802.3ad ] && echo ', each with the bits 0x3c in its LACP state')):
$(bond_summary <<<"$links")
$(slave_summary <<<"$links")"
        fi
        sleep 0.05
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
