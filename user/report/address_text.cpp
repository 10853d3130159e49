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

std::string icmp_text(const ConversationKey& key, const IcmpMessage& message) {
    const bool v4 = key.ethertype == 0x0800;
    std::string text;
    if (message.type == (v4 ? 8 : 128))
        text = "echo";
    else if (message.type == (v4 ? 0 : 129))
        text = "echo reply";
    else
        text = fmt::format("type {}", message.type);
    if (message.code != 0) text += fmt::format(" code {}", message.code);
    if (message.id) text += fmt::format(" id {}", *message.id);
    return text;
}

} // namespace

std::string detail_text(const ConversationKey& key) {
    if (key.unparsed) return "cut";
    if (key.fragment) return "fragments";
    if (const auto* icmp = std::get_if<IcmpMessage>(&key.detail)) return icmp_text(key, *icmp);
    if (const auto* spi = std::get_if<Spi>(&key.detail)) return fmt::format("spi 0x{:08x}", spi->value);
    return {};
}

std::string vlan_text(const ConversationKey& key) {
    if (!key.vlan) return {};
    return key.inner_vlan ? fmt::format("{}.{}", *key.vlan, *key.inner_vlan) : fmt::format("{}", *key.vlan);
}

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
