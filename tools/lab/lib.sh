# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154  # options such as $mode are set by the lab
# What the lab's topologies share: namespaces made and removed, the kernel kept quiet, and waiting for states.

# Where the lab remembers what it has made: a line for each namespace, written before the namespace is made. Its directory
# sys is where enter puts the outer /sys.
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
            ip -n "$namespace" link delete dev bond0 2>/dev/null || true
            ip -n "$namespace" link delete group "$device_group" 2>/dev/null || true
            ip netns delete "$namespace" || die "cannot remove namespace $namespace (ip netns delete; its answer is above)"
        done <"$state/namespaces"
    fi
    # Not rm -rf: inside lab exec all of /sys is mounted below.
    rm -f "$state/namespaces" "$state/topology" "$state/mounts"
    [ ! -d "$state/sys" ] || rmdir "$state/sys" || die "cannot remove $state/sys (rmdir answered above)"
    rmdir "$state" || die "cannot remove $state (rmdir answered above)"
}
device_group=7707 # marks the lab's virtual Ethernet devices

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

# bond_ready LINKS SLAVES ACTIVE: whether "ip -d -o link show" tells of a bond0 that can carry traffic on that many slaves and,
# unless ACTIVE is empty, has that active slave. With LACP: state active, and the port synchronised, collecting and
# distributing (bits 0x3c of the port state, IEEE 802.1AX), which comes seconds after the carrier; whether the other side
# is as far is seen on the other side.
bond_ready() {
    local line carrier=no ready=0
    while IFS= read -r line; do
        case $line in
            *': bond0: <'*LOWER_UP*'> '*' state UP '*)
                if [[ -z $3 || $line == *" active_slave $3 "* ]]; then carrier=yes; fi
                ;;
            *' bond_slave state '*' mii_status UP '*)
                if [ "$mode" = 802.3ad ]; then
                    [[ $line == *' bond_slave state ACTIVE '* ]] || continue
                    [[ $line =~ \ ad_actor_oper_port_state\ ([0-9]+)\  ]] || continue
                    (((BASH_REMATCH[1] & 0x3c) == 0x3c)) || continue
                fi
                ready=$((ready + 1))
                ;;
        esac
    done <<<"$1"
    [ $carrier = yes ] && [ $ready -eq "$2" ]
}

# await_bond NAMESPACE SLAVES ACTIVE DEADLINE: waits until bond0 is ready; ends the program with the states otherwise.
# DEADLINE in the shell's SECONDS.
await_bond() {
    local links wanted
    while :; do
        links=$(ip -n "$1" -d -o link show) || die "cannot read the links of $1 (ip answered above)"
        if bond_ready "$links" "$2" "$3"; then return; fi
        if [ "$SECONDS" -ge "$4" ]; then
            wanted="carrier, $2 slaves up${3:+, $3 active}"
            if [ "$mode" = 802.3ad ]; then wanted+=', each with the bits 0x3c in its LACP state'; fi
            die "bond0 in $1 did not come up in $await_limit s (wanted: $wanted):
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
