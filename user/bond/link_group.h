// SPDX-License-Identifier: GPL-2.0-or-later
// A group of links that is no bond of this kernel's (team, Open vSwitch bond, ECMP next hops, ports of a
// bridge), looked at as if they were its slaves.
#pragma once

#include "user/bond/netlink_reader.h"

#include <string>
#include <vector>

namespace bondtrace {

// Whether a link that is not there is an error (usage), or left out.
enum class LinksMissing { refused, allowed };

// The group, as the only element: Bond::group is set, its name is the links' names with commas. Pure. Fails
// with kind usage for a link that is named twice, is not there, is a bond, or carries no Ethernet frames.
Result<std::vector<Bond>> group_links(const NetnsSnapshot& snapshot, const std::vector<std::string>& names,
                                      LinksMissing missing = LinksMissing::refused);

// The same of the namespace as it is now.
Result<std::vector<Bond>> find_link_group(const LinkReader& reader, const std::vector<std::string>& names,
                                          LinksMissing missing = LinksMissing::refused);

} // namespace bondtrace
