# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options and defaults are shared with the lab
# Summary: bt-a and bt-b on a switch, bt-sw, which has a LAG by LACP to each and spreads by --switch-hash

takes_switch_hash=yes

topology_check() { need_lacp; }
topology_build() { build_switch 802.3ad; }
topology_await() { await_lacp $((SECONDS + await_limit)); }
