// SPDX-License-Identifier: GPL-2.0-or-later
// What each "KEY: VALUE" line of a bond's dump means (bond_info_show_master() and bond_info_show_slave() in
// bond_procfs.c).
#pragma once

#include "user/bond/model.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace bondtrace::dump {

// Where a key stands. The driver indents what belongs to the aggregator and to a LACP side; saved texts have
// often lost that, so the key alone decides.
enum class Place { bond, aggregator, slave, lacp };

// The active aggregator while its lines come in.
struct AggregatorLines {
    std::optional<std::uint16_t> id, ports, actor_key, partner_key;
    std::optional<MacAddress> partner_mac;
};

// The index of a key in its place's table; nullopt for one that is not the driver's.
std::optional<std::size_t> bond_key(std::string_view key);
std::optional<std::size_t> aggregator_key(std::string_view key);
std::optional<std::size_t> slave_key(std::string_view key);
std::optional<std::size_t> lacp_key(std::string_view key);
constexpr std::size_t max_keys = 32; // of any table

// Take the value of a key into the model; false when the driver prints no such value.
bool apply_bond(std::size_t key, std::string_view value, Bond& bond);
bool apply_aggregator(std::size_t key, std::string_view value, AggregatorLines& aggregator);
bool apply_slave(std::size_t key, std::string_view value, Slave& slave);
// `partner`: which side's line it is.
bool apply_lacp(std::size_t key, std::string_view value, bool partner, Slave& slave);

// True when `key` is one of the driver's in another case: written by hand rather than by the driver.
bool resembles_key(std::string_view key);
// True when `line`, which has no colon, begins with a key of the driver's, in any case.
bool lacks_colon(std::string_view line);

} // namespace bondtrace::dump
