// SPDX-License-Identifier: GPL-2.0-or-later
// The slave that a typed flow will take, and why: what `bondtrace predict` answers. Pure.
#pragma once

#include "user/bond/model.h"
#include "user/hash/choice.h"
#include "user/predict/typed_flow.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

// The bond a prediction is for: one that exists, or one that the user describes.
struct PathBond {
    std::string name; // empty: described
    BondMode mode = BondMode::balance_xor;
    HashPolicy policy = HashPolicy::layer2;
    Era era = newest_era;
    std::vector<std::string> usable; // in the kernel's order
    std::vector<std::string> others; // slaves that are not usable now
    std::optional<std::string> active_slave;
    bool order_known = true; // false: the enslave order could not be read, so that indexes have no names
    bool tlb_dynamic_lb = true;
    bool queue_override = false;
    bool broadcast_neighbor = false;
    bool flow_dissector = false;
};

// The bond as it is now.
PathBond path_bond(const Bond& bond, const Era& era, bool flow_dissector);

// What stands around the IP packet, as far as it is known.
struct PathFrame {
    std::optional<MacAddress> src_mac, dst_mac;
    std::optional<std::uint16_t> tci; // accelerated tag of a VLAN device on the bond
    bool tci_known = true;
    bool local_source = false;   // sent by a socket of this host
    bool fragment = false;       // an IP fragment
    std::string problem, advice; // why an address is missing
    std::optional<bool> l4_hash; // nullopt: decided by the protocol and where it comes from
};

struct PathAnswer {
    TypedFlow flow;
    PathFrame frame;
    std::optional<std::string> slave; // nullopt: not predictable, or every slave
    bool every_slave = false;         // a copy through each that is up
    std::optional<std::uint32_t> hash, index;
    std::string why; // not predictable: the reason; else a note where the slave is not the hash's
    std::string advice;

    [[nodiscard]] bool predictable() const { return slave.has_value() || every_slave; }
};

PathAnswer predict_path(const PathBond& bond, const TypedFlow& flow, const PathFrame& frame);

// True when the answer needs the MAC addresses (or the tag), so that finding them is worth the trouble.
bool needs_ethernet(const PathBond& bond);

// True for a flow whose packets may carry the hash of a socket: TCP from here always, UDP when connected.
std::optional<bool> carries_socket_hash(const TypedFlow& flow, const PathFrame& frame);

// What the hash was made of under that policy: "10.0.0.1 port 40000, 10.0.0.2 port 443".
std::string inputs_text(const PathAnswer& answer, HashPolicy policy);

} // namespace bondtrace
