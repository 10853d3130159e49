# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options and defaults are shared with the lab
# Summary: as direct, one cable longer than the others (--delay 5) and the bonds in balance-rr: packets overtake each other

. "$here/topologies/direct.sh"
mode=balance-rr delay=5
