// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which conversations are shown.
#pragma once

#include "user/base/result.h"
#include "user/flow/conversation.h"
#include "user/flow/names.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace bondtrace {

enum class SortKey {
    bytes,   // both directions, most first; as are all quantities
    packets, // both directions
    tx,      // bytes sent
    rx,      // bytes received
    moves,
    age,    // first seen first; all that follows ascending
    local,  // address, then port
    remote, // address, then port
    port,   // remote port, then local port; conversations without ports last
    proto,  // by name
    slave,  // name of the first sending slave, then of the first receiving one; without one last
};

// Parses the names above; the error (ErrorKind::usage) lists them.
Result<SortKey> parse_sort_key(std::string_view text);

// Sorts, and with `top` keeps only the first so many (sorting no more than those). Quantities are those on
// the wire. Equal conversations are ordered by bond and identity, so that the order never depends on the
// input's.
void sort_conversations(std::vector<Conversation>& conversations, SortKey key, const Names& names,
                        std::optional<std::size_t> top = std::nullopt);

} // namespace bondtrace
