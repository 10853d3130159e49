// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/pair.h"

#include "user/bond/netlink_reader.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bondtrace::test {

Bond read_bond(const Namespace& space, const std::string& name) {
    const auto reader = LinkReader::open(space.open());
    EXPECT_TRUE(reader) << reader.error().what;
    if (!reader) return {};
    const auto bonds = reader->find_bonds({name});
    EXPECT_TRUE(bonds) << bonds.error().what;
    return bonds && !bonds->empty() ? bonds->front() : Bond{};
}

void make_bond(const Namespace& space, const std::string& options, const std::vector<std::string>& slaves,
               const std::string& name) {
    ASSERT_TRUE(space.ip(fmt::format("link add {} type bond {}", name, options)));
    for (const std::string& slave : slaves)
        ASSERT_TRUE(space.ip(fmt::format("link set {} master {}", slave, name)));
    ASSERT_TRUE(space.ip(fmt::format("link set {} up", name)));
}

bool all_up(const Bond& bond) {
    return bond.carrier && !bond.slaves.empty() &&
           std::all_of(bond.slaves.begin(), bond.slaves.end(),
                       [](const Slave& slave) { return slave.mii_status == MiiStatus::up; });
}

bool lacp_is_up(const Bond& bond) {
    return !bond.slaves.empty() &&
           std::all_of(bond.slaves.begin(), bond.slaves.end(), [](const Slave& slave) {
               return (slave.actor_port_state.value_or(0) & slave.partner_port_state.value_or(0) &
                       lacp_state::carrying) == lacp_state::carrying;
           });
}

bool settled_alone(const Bond& bond) {
    return bond.aggregator && std::all_of(bond.slaves.begin(), bond.slaves.end(), [](const Slave& slave) {
               return slave.mii_status == MiiStatus::up &&
                      (slave.actor_port_state.value_or(0) & lacp_state::defaulted) != 0;
           });
}

Pair::Pair(unsigned cables) {
    for (unsigned i = 0; i < cables; ++i) {
        host_ports.push_back(fmt::format("a{}", i));
        peer_ports.push_back(fmt::format("b{}", i));
        EXPECT_TRUE(host.ip(fmt::format("link add {} type veth peer name {} netns {}", host_ports.back(),
                                        peer_ports.back(), peer.name())));
    }
}

void Pair::bridge_peer(const std::string& name) const {
    ASSERT_TRUE(peer.ip(fmt::format("link add {} type bridge", name)));
    for (const std::string& port : peer_ports)
        ASSERT_TRUE(peer.ip(fmt::format("link set {} master {} up", port, name)));
    ASSERT_TRUE(peer.ip(fmt::format("link set {} up", name)));
}

void Pair::address(const std::string& host_device, const std::string& peer_device,
                   const std::string& net) const {
    ASSERT_TRUE(host.ip(fmt::format("address add {}1/24 dev {}", net, host_device)));
    ASSERT_TRUE(peer.ip(fmt::format("address add {}2/24 dev {}", net, peer_device)));
    ASSERT_TRUE(host.ip(fmt::format("neigh replace {}2 lladdr {} dev {} nud permanent", net,
                                    peer.sys(peer_device, "address"), host_device)));
    ASSERT_TRUE(peer.ip(fmt::format("neigh replace {}1 lladdr {} dev {} nud permanent", net,
                                    host.sys(host_device, "address"), peer_device)));
}

std::vector<UdpFlow> udp_flows(std::uint16_t first, unsigned count, unsigned step, unsigned packets) {
    std::vector<UdpFlow> flows;
    for (unsigned i = 0; i < count; ++i)
        flows.push_back({static_cast<std::uint16_t>(first + i * step), 5001, packets, 1000});
    return flows;
}

} // namespace bondtrace::test
