# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options and defaults are shared with the lab
# Summary: as switch, but the LAGs are static: bt-b's fits (balance-xor), bt-a's depends on --mode (active-backup)

mode=active-backup takes_switch_hash=yes

topology_build() { build_switch balance-xor balance-xor; }

topology_await() {
    local deadline=$((SECONDS + await_limit))
    await_host bt-a s "$deadline" "$lacp_alone"
    mode=balance-xor await_host bt-b p "$deadline"
    await_switch balance-xor "$deadline"
    case $mode in
        balance-rr | balance-xor | broadcast) await_hosts "$deadline" ;;
        # The other modes take no frames, or not all, on the members that the switch may choose: no answer is sure to come.
        *) introduce_hosts ;;
    esac
}
