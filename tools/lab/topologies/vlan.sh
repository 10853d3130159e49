# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options and defaults are shared with the lab
# Summary: as switch, with a VLAN on the bonds (--vlan 100); --drop-vlan 100 leaves it out on one member

vlan=100 takes_switch_hash=yes

topology_check() { need_lacp; }
topology_build() { build_switch 802.3ad; }
topology_await() { await_lacp $((SECONDS + await_limit)); }
