# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154  # the options are set by the lab
# Cables: virtual Ethernet pairs, and one with a flaw. That one (--delay, --loss, --drop-vlan) runs through the namespace
# bt-cable, whose devices near and far pass each other what they get, LACPDUs too; so both ends have counted a frame that is
# lost, as with a real cable. It passes everything until the lab is up. Its ends do not see each other's carrier.

# Whether one of bt-a's cables has a flaw.
flawed() { [ -n "$delay$loss$drop_vlan" ]; }

# Appends to the variable $1 the ip command that makes a cable: $2 its end in this namespace, $3 and $4 the other's namespace
# and end.
cable_command() {
    local -n commands_=$1
    local about="group $device_group mtu $mtu"
    commands_+="link add $2 $about type veth peer name $4 $about netns $3"$'\n'
}

# lay_cables NAMESPACE LETTER NAMESPACE LETTER FIRST COUNT: LETTERs with the numbers of the links are the devices' names.
lay_cables() {
    local link commands='' connect=no
    for ((link = $5; link < $5 + $6; link++)); do
        if [ "$1" = bt-a ] && flawed && [ "$link" -eq "$member" ]; then
            lay_flawed_cable "$3" "$4$link"
            connect=yes
            cable_command commands "$2$link" bt-cable near
        else
            cable_command commands "$2$link" "$3" "$4$link"
        fi
    done
    batch "$1" "$commands"
    if [ $connect = yes ]; then connect_flawed_cable; fi
}

# The part of bt-a's cable beyond near: to a device in a namespace.
lay_flawed_cable() {
    local commands=''
    make_namespaces bt-cable
    cable_command commands far "$1" "$2"
    batch bt-cable "$commands"
}

# Joins the parts, when both are there.
connect_flawed_cable() {
    batch bt-cable $'link set near up\nlink set far up'
    tc_batch bt-cable 'qdisc add dev near clsact
qdisc add dev far clsact
filter add dev near ingress pref 2 protocol all matchall action mirred egress redirect dev far
filter add dev far ingress pref 2 protocol all matchall action mirred egress redirect dev near'
}

# Gives it its flaw.
spoil_cable() {
    local commands='' device
    flawed || return 0
    for device in near far; do
        if [ -n "$delay$loss" ]; then
            # Room for what is on its way at any speed that matters here.
            commands+="qdisc add dev $device root netem limit 100000 ${delay:+delay ${delay}ms} ${loss:+loss $loss%}"$'\n'
        fi
        if [ -n "$drop_vlan" ]; then
            commands+="filter add dev $device ingress pref 1 protocol 802.1Q flower vlan_id $drop_vlan action drop"$'\n'
        fi
    done
    tc_batch bt-cable "$commands"
}
