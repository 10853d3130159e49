// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/end_words.h"

#include "user/base/text.h"
#include "user/live/draw.h"
#include "user/report/address_text.h"

#include <fmt/format.h>

namespace bondtrace {

std::string end_words(const ConversationKey& key, bool local, std::size_t width, const HostNames* names,
                      const Symbols& symbols) {
    const auto* const ip = std::get_if<IpAddress>(local ? &key.local : &key.remote);
    const auto name = names && ip ? names->name_of(*ip) : std::nullopt;
    if (!name) return end_text(key, local, width, symbols.ellipsis);
    const auto* const ports = std::get_if<Ports>(&key.detail);
    const std::string port = ports ? fmt::format(":{}", local ? ports->local : ports->remote) : "";
    return shorten_end(clean(*name, symbols), width > port.size() ? width - port.size() : 0,
                       symbols.ellipsis) +
           port;
}

} // namespace bondtrace
