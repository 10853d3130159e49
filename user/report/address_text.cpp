// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/address_text.h"

#include "user/base/text.h"

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Leaves out groups between separators: as many as needed, from the middle, the last group always stays.
std::string shorten_groups(std::string_view address, char separator, std::size_t width,
                           std::string_view ellipsis) {
    if (address.size() <= width) return std::string(address);
    const std::size_t mark = display_width(ellipsis);
    // Ends of what is kept in front, and beginnings of what is kept behind, both with their separator.
    std::size_t head = 0, tail = address.rfind(separator);
    if (tail == std::string_view::npos) return std::string(address);
    const auto fits = [&](std::size_t new_head, std::size_t new_tail) {
        return new_head < new_tail && new_head + mark + (address.size() - new_tail) <= width;
    };
    // The last group is there already, so the front begins; then the two take turns.
    for (bool back = false, stuck_once = false;; back = !back) {
        bool grown = false;
        if (back) {
            const std::size_t next = tail == 0 ? std::string_view::npos : address.rfind(separator, tail - 1);
            if (next != std::string_view::npos && fits(head, next)) {
                tail = next;
                grown = true;
            }
        } else {
            const std::size_t next = address.find(separator, head);
            if (next != std::string_view::npos && fits(next + 1, tail)) {
                head = next + 1;
                grown = true;
            }
        }
        if (!grown && stuck_once) break;
        stuck_once = !grown;
    }
    return std::string(address.substr(0, head)) + std::string(ellipsis) + std::string(address.substr(tail));
}

} // namespace

std::string end_text(const ConversationKey& key, bool local, std::size_t width, std::string_view ellipsis) {
    const Host& host = local ? key.local : key.remote;
    const auto* ip = std::get_if<IpAddress>(&host);
    const auto* ports = std::get_if<Ports>(&key.detail);
    const std::string port = ports ? fmt::format(":{}", local ? ports->local : ports->remote) : "";
    const bool bracketed = ip && ip->v6 && ports;
    const std::size_t around = port.size() + (bracketed ? 2 : 0);
    const std::string address = shorten_groups(to_text(host), ip && !ip->v6 ? '.' : ':',
                                               width > around ? width - around : 0, ellipsis);
    return bracketed ? fmt::format("[{}]{}", address, port) : address + port;
}

} // namespace bondtrace
