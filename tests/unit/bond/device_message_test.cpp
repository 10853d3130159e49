// SPDX-License-Identifier: GPL-2.0-or-later
// Messages are built with libmnl, as the kernel builds them (cls_flower.c, cls_bpf.c, net/ethtool/*.c).
#include "tests/unit/bond/link_builder.h"
#include "user/bond/device_message.h"
#include "user/bond/link_message.h"

#include <cstring>
#include <functional>

#include <gmock/gmock.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/pkt_cls.h>

namespace bondtrace {
namespace {

using testing::ElementsAre;

using Message = std::vector<std::byte>;

template<typename Fixed>
Message build(std::uint16_t type, const Fixed& fixed, const std::function<void(nlmsghdr*)>& put) {
    Message buffer(4096);
    nlmsghdr* const header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = type;
    std::memcpy(mnl_nlmsg_put_extra_header(header, sizeof(fixed)), &fixed, sizeof(fixed));
    put(header);
    buffer.resize(header->nlmsg_len);
    return buffer;
}

void put_action(nlmsghdr* header, std::uint16_t position, const char* kind) {
    nlattr* const action = mnl_attr_nest_start(header, position);
    mnl_attr_put_strz(header, TCA_ACT_KIND, kind);
    mnl_attr_nest_end(header, action);
}

Message flower(std::uint32_t handle) {
    return build(RTM_NEWTFILTER,
                 tcmsg{.tcm_family = 0,
                       .tcm__pad1 = 0,
                       .tcm__pad2 = 0,
                       .tcm_ifindex = 4,
                       .tcm_handle = handle,
                       .tcm_parent = 0,
                       .tcm_info = 0},
                 [](nlmsghdr* header) {
                     mnl_attr_put_strz(header, TCA_KIND, "flower");
                     nlattr* const options = mnl_attr_nest_start(header, TCA_OPTIONS);
                     nlattr* const actions = mnl_attr_nest_start(header, TCA_FLOWER_ACT);
                     put_action(header, 1, "skbedit");
                     put_action(header, 2, "mirred");
                     mnl_attr_nest_end(header, actions);
                     mnl_attr_nest_end(header, options);
                 });
}

TEST(DeviceMessage, AFilterWithItsActions) {
    const auto filter = parse_filter(flower(1), ProgramHook::tc_ingress);
    ASSERT_TRUE(filter);
    EXPECT_EQ(filter->kind, "flower");
    EXPECT_THAT(filter->actions, ElementsAre("skbedit", "mirred"));
    EXPECT_EQ(describe(*filter), "tc ingress flower (skbedit, mirred)");
    EXPECT_FALSE(parse_filter(flower(0), ProgramHook::tc_ingress)); // the head of a priority
}

TEST(DeviceMessage, AProgramOfTc) {
    const auto message = build(RTM_NEWTFILTER,
                               tcmsg{.tcm_family = 0,
                                     .tcm__pad1 = 0,
                                     .tcm__pad2 = 0,
                                     .tcm_ifindex = 4,
                                     .tcm_handle = 1,
                                     .tcm_parent = 0,
                                     .tcm_info = 0},
                               [](nlmsghdr* header) {
                                   mnl_attr_put_strz(header, TCA_KIND, "bpf");
                                   nlattr* const options = mnl_attr_nest_start(header, TCA_OPTIONS);
                                   mnl_attr_put_strz(header, TCA_BPF_NAME, "cil_to_netdev");
                                   mnl_attr_put_u32(header, TCA_BPF_ID, 42);
                                   mnl_attr_nest_end(header, options);
                               });
    const auto filter = parse_filter(message, ProgramHook::tc_egress);
    ASSERT_TRUE(filter);
    EXPECT_EQ(describe(*filter), "tc egress bpf cil_to_netdev (program 42)");
}

TEST(DeviceMessage, FeaturesAreThoseThatAreOn) {
    const auto message = build(20, genlmsghdr{ETHTOOL_MSG_FEATURES_GET_REPLY, 1, 0}, [](nlmsghdr* header) {
        // What the hardware could do is no feature that is on.
        for (const auto& [set, names] :
             {std::pair(ETHTOOL_A_FEATURES_HW, std::vector{"rx-lro", "rx-gro"}),
              std::pair(ETHTOOL_A_FEATURES_ACTIVE,
                        std::vector{"tx-tcp-segmentation", "rx-gro", "hw-tc-offload"})}) {
            nlattr* const bitset = mnl_attr_nest_start(header, static_cast<std::uint16_t>(set));
            mnl_attr_put(header, ETHTOOL_A_BITSET_NOMASK, 0, nullptr);
            nlattr* const bits = mnl_attr_nest_start(header, ETHTOOL_A_BITSET_BITS);
            for (const char* name : names) {
                nlattr* const bit = mnl_attr_nest_start(header, ETHTOOL_A_BITSET_BITS_BIT);
                mnl_attr_put_strz(header, ETHTOOL_A_BITSET_BIT_NAME, name);
                mnl_attr_nest_end(header, bit);
            }
            mnl_attr_nest_end(header, bits);
            mnl_attr_nest_end(header, bitset);
        }
    });
    EXPECT_EQ(parse_features(message), (Offloads{.tso = true, .gro = true, .hw_tc = true}));
    const auto without = build(20, genlmsghdr{ETHTOOL_MSG_FEATURES_GET_REPLY, 1, 0}, [](nlmsghdr*) {});
    EXPECT_EQ(parse_features(without), std::nullopt); // not told is not off
}

std::optional<LinkModes> modes(std::uint32_t speed, std::uint8_t duplex) {
    return parse_link_modes(
        build(20, genlmsghdr{ETHTOOL_MSG_LINKMODES_GET_REPLY, 1, 0}, [&](nlmsghdr* header) {
            mnl_attr_put_u32(header, ETHTOOL_A_LINKMODES_SPEED, speed);
            mnl_attr_put_u8(header, ETHTOOL_A_LINKMODES_DUPLEX, duplex);
        }));
}

TEST(DeviceMessage, SpeedAndDuplexOrUnknown) {
    EXPECT_EQ(modes(25000, DUPLEX_FULL)->speed_mbps, 25000U);
    EXPECT_EQ(modes(25000, DUPLEX_FULL)->duplex, Duplex::full);
    EXPECT_EQ(modes(100, DUPLEX_HALF)->duplex, Duplex::half);
    EXPECT_EQ(modes(static_cast<std::uint32_t>(SPEED_UNKNOWN), DUPLEX_UNKNOWN)->speed_mbps, std::nullopt);
    EXPECT_EQ(modes(static_cast<std::uint32_t>(SPEED_UNKNOWN), DUPLEX_UNKNOWN)->duplex, std::nullopt);
}

TEST(DeviceMessage, CutShortIsNothingAndNeverMore) {
    for (const Message& whole : {flower(1)})
        for (std::size_t size = 0; size < whole.size(); ++size)
            EXPECT_FALSE(parse_filter(std::span(whole).first(size), ProgramHook::tc_egress));
    EXPECT_FALSE(parse_qdisc({}));
    EXPECT_FALSE(parse_family({}));
    EXPECT_FALSE(parse_features({}));
    EXPECT_FALSE(parse_link_modes({}));
}

TEST(DeviceMessage, XdpProgramsComeWithTheLink) {
    const auto none = parse_link_message(test::LinkBuilder(4)
                                             .text(IFLA_IFNAME, "a0")
                                             .open(IFLA_XDP)
                                             .u8(IFLA_XDP_ATTACHED, XDP_ATTACHED_NONE)
                                             .close()
                                             .build());
    ASSERT_TRUE(none);
    ASSERT_TRUE(none->xdp);
    EXPECT_TRUE(none->xdp->empty());
    const auto two = parse_link_message(test::LinkBuilder(4)
                                            .text(IFLA_IFNAME, "a0")
                                            .open(IFLA_XDP)
                                            .u8(IFLA_XDP_ATTACHED, XDP_ATTACHED_MULTI)
                                            .u32(IFLA_XDP_SKB_PROG_ID, 8)
                                            .u32(IFLA_XDP_DRV_PROG_ID, 9)
                                            .close()
                                            .build());
    ASSERT_TRUE(two && two->xdp);
    ASSERT_EQ(two->xdp->size(), 2U);
    EXPECT_EQ(describe(two->xdp->at(0)), "XDP generic (program 8)");
    EXPECT_EQ(describe(two->xdp->at(1)), "XDP driver (program 9)");
    const auto silent = parse_link_message(test::LinkBuilder(4).text(IFLA_IFNAME, "a0").build());
    ASSERT_TRUE(silent);
    EXPECT_FALSE(silent->xdp); // unknown
}

} // namespace
} // namespace bondtrace
