# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154  # options and defaults are shared with the lab
# Summary: as switch, with a VXLAN tunnel between the bonds: vxlan0 at both ends, 10.79.0.1 and .2, fd79::1 and ::2

takes_switch_hash=yes
vxlan_bytes=50 # that the tunnel's headers take from the MTU
mac_tunnel=02:77:00:00:01

topology_check() {
    need_lacp
    # IPv6 wants 1280 inside, too.
    ((mtu >= 1280 + vxlan_bytes)) || wrong_usage "--mtu $mtu: topology vxlan needs at least $((1280 + vxlan_bytes))"
}

# tunnel_end NAMESPACE HOST PEER: by the last parts of their addresses.
tunnel_end() {
    local commands address
    commands="link add vxlan0 address $mac_tunnel:0$2 mtu $((mtu - vxlan_bytes)) type vxlan id 77 dstport 4789"
    commands+=" local 10.77.0.$2 remote 10.77.0.$3 dev bond0"$'\n'
    commands+='link set vxlan0 up'$'\n'
    commands+="address add 10.79.0.$2/24 dev vxlan0"$'\n'
    commands+="address add fd79::$2/64 dev vxlan0 nodad"$'\n'
    for address in "10.79.0.$3" "fd79::$3"; do
        commands+="neigh replace $address lladdr $mac_tunnel:0$3 dev vxlan0 nud permanent"$'\n'
    done
    batch "$1" "$commands"
}

topology_build() {
    build_switch 802.3ad
    tunnel_end bt-a 1 2
    tunnel_end bt-b 2 1
}

topology_await() {
    local deadline=$((SECONDS + await_limit)) address
    await_lacp "$deadline"
    for address in 10.79.0.2 fd79::2; do await_ping bt-a "$address" "$deadline"; done
}
