// SPDX-License-Identifier: GPL-2.0-or-later
// One end of a conversation as the live table shows it: by name where that is wanted and known. Pure.
#pragma once

#include "user/flow/conversation.h"
#include "user/live/host_names.h"
#include "user/live/symbols.h"

#include <cstddef>
#include <string>

namespace bondtrace {

// "storage2.example.org:443", or what end_text() gives when `names` is null or knows none. A name that does
// not fit loses its end, never the port.
std::string end_words(const ConversationKey& key, bool local, std::size_t width, const HostNames* names,
                      const Symbols& symbols);

} // namespace bondtrace
