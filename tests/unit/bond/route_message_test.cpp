// SPDX-License-Identifier: GPL-2.0-or-later
// Messages as linux/rtnetlink.h describes them, with the attributes that matter; and what becomes of damaged
// ones.
#include "user/bond/route_message.h"

#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace bondtrace {
namespace {

class Message {
  public:
    template<typename Fixed> Message(std::uint16_t type, const Fixed& fixed) {
        nlmsghdr header{};
        header.nlmsg_type = type;
        append(&header, sizeof(header));
        append(&fixed, sizeof(fixed));
    }
    Message& attribute(std::uint16_t type, const std::vector<std::uint8_t>& payload) {
        nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + payload.size()), type};
        append(&header, sizeof(header));
        append(payload.data(), payload.size());
        return *this;
    }
    [[nodiscard]] std::vector<std::byte> bytes() const { return bytes_; }

  private:
    void append(const void* data, std::size_t size) {
        const auto* const begin = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), begin, begin + size);
        bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    }
    std::vector<std::byte> bytes_;
};

std::vector<std::uint8_t> number(std::uint32_t value) {
    std::vector<std::uint8_t> bytes(4);
    std::memcpy(bytes.data(), &value, 4);
    return bytes;
}

TEST(RouteMessage, GivesDeviceAndGateway) {
    rtmsg fixed{};
    fixed.rtm_family = AF_INET;
    fixed.rtm_type = RTN_UNICAST;
    const auto route = parse_route_message(Message(RTM_NEWROUTE, fixed)
                                               .attribute(RTA_DST, {8, 8, 8, 8})
                                               .attribute(RTA_OIF, number(7))
                                               .attribute(RTA_GATEWAY, {10, 77, 0, 254})
                                               .attribute(RTA_PREFSRC, {10, 77, 0, 1})
                                               .bytes());
    ASSERT_TRUE(route) << route.error().what;
    EXPECT_EQ(route->type, RTN_UNICAST);
    EXPECT_EQ(route->out_ifindex, 7);
    EXPECT_EQ(route->gateway, parse_ip("10.77.0.254"));
    EXPECT_EQ(route->source, parse_ip("10.77.0.1"));
    // An IPv4 route by an IPv6 neighbour (RFC 5549).
    std::vector<std::uint8_t> via{AF_INET6, 0, 0xfe, 0x80};
    via.resize(2 + 16);
    via.back() = 1;
    const auto through = parse_route_message(Message(RTM_NEWROUTE, fixed).attribute(RTA_VIA, via).bytes());
    ASSERT_TRUE(through);
    EXPECT_EQ(through->gateway, parse_ip("fe80::1"));
}

TEST(NeighbourMessage, GivesTheMacAddress) {
    ndmsg fixed{};
    fixed.ndm_family = AF_INET;
    fixed.ndm_ifindex = 7;
    fixed.ndm_state = NUD_STALE;
    const auto entry = parse_neighbour_message(Message(RTM_NEWNEIGH, fixed)
                                                   .attribute(NDA_DST, {10, 77, 0, 2})
                                                   .attribute(NDA_LLADDR, {2, 0x77, 0, 0, 0, 2})
                                                   .bytes());
    ASSERT_TRUE(entry) << entry.error().what;
    EXPECT_EQ(entry->ifindex, 7);
    EXPECT_EQ(entry->mac, parse_mac("02:77:00:00:00:02"));
    EXPECT_FALSE(parse_neighbour_message(Message(RTM_NEWNEIGH, fixed).bytes()));
    const auto other =
        parse_neighbour_message(Message(RTM_NEWNEIGH, fixed)
                                    .attribute(NDA_DST, {10, 77, 0, 2})
                                    .attribute(NDA_LLADDR, std::vector<std::uint8_t>(20)) // InfiniBand
                                    .bytes());
    ASSERT_TRUE(other);
    EXPECT_EQ(other->mac, std::nullopt);
}

TEST(EgressMessage, KnowsAVlanDevice) {
    ifinfomsg fixed{};
    fixed.ifi_index = 9;
    // IFLA_INFO_KIND "vlan", IFLA_INFO_DATA { IFLA_VLAN_ID 100 }
    const std::vector<std::uint8_t> info{
        9,  0, IFLA_INFO_KIND, 0, 'v', 'l', 'a',          'n', 0,   0, 0, 0, //
        12, 0, IFLA_INFO_DATA, 0, 6,   0,   IFLA_VLAN_ID, 0,   100, 0, 0, 0};
    const auto link = parse_egress_message(Message(RTM_NEWLINK, fixed)
                                               .attribute(IFLA_IFNAME, {'b', '.', '1', 0})
                                               .attribute(IFLA_LINK, number(5))
                                               .attribute(IFLA_ADDRESS, {2, 0, 0, 0, 0, 1})
                                               .attribute(IFLA_LINKINFO, info)
                                               .bytes());
    ASSERT_TRUE(link) << link.error().what;
    EXPECT_EQ(link->name, "b.1");
    EXPECT_EQ(link->kind, "vlan");
    EXPECT_EQ(link->parent, 5);
    EXPECT_EQ(link->vlan_id, 100);
    EXPECT_FALSE(link->egress_priorities);
}

TEST(RouteMessages, RejectDamage) {
    rtmsg route{};
    ndmsg neighbour{};
    ifinfomsg link{};
    const std::vector<std::byte> messages[] = {
        Message(RTM_NEWROUTE, route).attribute(RTA_OIF, number(7)).bytes(),
        Message(RTM_NEWNEIGH, neighbour).attribute(NDA_DST, {1, 2, 3, 4}).bytes(),
        Message(RTM_NEWLINK, link).attribute(IFLA_LINKINFO, {9, 0, 1, 0}).bytes()};
    for (const auto& message : messages) {
        for (std::size_t size = 0; size <= message.size(); ++size) {
            const std::span<const std::byte> cut(message.data(), size);
            (void)parse_route_message(cut);
            (void)parse_neighbour_message(cut);
            (void)parse_egress_message(cut);
        }
    }
    EXPECT_FALSE(parse_neighbour_message(messages[0]));
    EXPECT_FALSE(parse_route_message(messages[2]));
    auto long_attribute = messages[0];
    long_attribute[sizeof(nlmsghdr) + sizeof(rtmsg)] = std::byte{0xff};
    EXPECT_FALSE(parse_route_message(long_attribute));
}

TEST(MulticastMac, IsOfTheRfcs) {
    EXPECT_EQ(multicast_mac(*parse_ip("224.0.0.251")), parse_mac("01:00:5e:00:00:fb"));
    EXPECT_EQ(multicast_mac(*parse_ip("239.255.1.2")), parse_mac("01:00:5e:7f:01:02"));
    EXPECT_EQ(multicast_mac(*parse_ip("ff02::1:ff00:2")), parse_mac("33:33:ff:00:00:02"));
    EXPECT_EQ(multicast_mac(*parse_ip("10.0.0.1")), std::nullopt);
    EXPECT_EQ(multicast_mac(*parse_ip("fe80::1")), std::nullopt);
}

} // namespace
} // namespace bondtrace
