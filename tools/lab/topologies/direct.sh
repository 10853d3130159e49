# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options and defaults are shared with the lab
# Summary: two hosts, bt-a and bt-b, with a bond0 each, joined link by link (s0-p0, s1-p1, ...)
#
# A topology provides topology_build and topology_await, before the options are read: defaults of its own are set here, too.

cabling=straight

topology_build() {
    local end_a end_b
    make_namespaces bt-a bt-b
    lay_cables bt-a s bt-b p 0 "$slaves"
    end_commands end_a s 1 "$mac_a"
    end_commands end_b p 2 "$mac_b"
    # One right after the other: with LACP, ends that start together find each other sooner.
    batch bt-a "$end_a"
    batch bt-b "$end_b"
}

topology_await() {
    local deadline=$((SECONDS + await_limit))
    await_host bt-a s "$deadline"
    await_host bt-b p "$deadline"
    await_hosts "$deadline"
}
