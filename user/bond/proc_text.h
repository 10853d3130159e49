// SPDX-License-Identifier: GPL-2.0-or-later
// The two things that only /proc/net/bonding/BOND tells cheaply: the order in which the slaves joined, and
// their speed. Pure: text in, values out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

struct ProcSlave {
    std::string name;
    std::optional<std::uint32_t> speed_mbps; // nullopt: "Unknown", or no such line (drivers before v3.7)
};

// The slaves of a bond's dump, in its order, which is the enslave order; names that cannot be an interface's
// and repeated ones are left out. A name on a last line without a line end may be cut and is not used.
std::vector<ProcSlave> parse_proc_slaves(std::string_view text);

} // namespace bondtrace
