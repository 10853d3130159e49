// SPDX-License-Identifier: GPL-2.0-or-later
// Which program configures a bond, so that advice can be given in its words. Reads files, asks nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bondtrace {

enum class Manager : std::uint8_t { netplan, network_manager, networkd, ifupdown };
// "netplan", "nmcli", "systemd-networkd", "ifupdown": what advice is headed with.
std::string_view to_text(Manager manager);

// Looks below `root` ("/", or a directory with a copy of a host's files) for who has `bond` in its
// configuration or, by `ifindex` (0: unknown), at work. Netplan, which writes the others' files, goes first;
// then who runs it now; then who has it in a file. nullopt: nobody, or nobody that may be read.
std::optional<Manager> find_manager(const std::string& root, const std::string& bond, int ifindex);

} // namespace bondtrace
