# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options and defaults are shared with the lab
# Summary: as switch, with one of its ports to bt-a shut (that of --lossy-member, the last)

takes_switch_hash=yes takes_member=yes

topology_check() {
    need_lacp
    ((slaves >= 2)) || wrong_usage "topology half needs at least two slaves"
}
topology_build() { build_switch 802.3ad; }
topology_await() { await_lacp $((SECONDS + await_limit)); }

topology_spoil() {
    local deadline=$((SECONDS + await_limit))
    ip -n bt-sw link set dev "a$member" down || die "cannot shut a$member in bt-sw (ip answered above)"
    await_bond bt-a bond0 $((slaves - 1)) '' "$lacp_carries" "$deadline"
    await_bond bt-sw lag-a $((slaves - 1)) '' "$lacp_carries" "$deadline"
}
