// SPDX-License-Identifier: GPL-2.0-or-later
// What rtnetlink tells of queueing disciplines and filters, and ethtool netlink of features and speeds, taken
// apart. Pure: bytes in, values out; what does not fit is passed over.
#pragma once

#include "user/bond/device_facts.h"
#include "user/bond/model.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace bondtrace {

struct TcQdisc {
    int ifindex = 0;
    std::string kind; // "clsact", "ingress", "fq_codel"
};

// An RTM_NEWQDISC message, header included.
std::optional<TcQdisc> parse_qdisc(std::span<const std::byte> message);

// An RTM_NEWTFILTER message, header included; nullopt for one that is about no single filter (the head of a
// priority, a hash table of u32).
std::optional<AttachedProgram> parse_filter(std::span<const std::byte> message, ProgramHook hook);

// The number of a generic netlink family, from the answer to CTRL_CMD_GETFAMILY.
std::optional<std::uint16_t> parse_family(std::span<const std::byte> message);

// The answer to ETHTOOL_MSG_FEATURES_GET, which names the features that are on.
std::optional<Offloads> parse_features(std::span<const std::byte> message);

struct LinkModes {
    std::optional<std::uint32_t> speed_mbps; // nullopt: the device does not know
    std::optional<Duplex> duplex;
};

// The answer to ETHTOOL_MSG_LINKMODES_GET.
std::optional<LinkModes> parse_link_modes(std::span<const std::byte> message);

} // namespace bondtrace
