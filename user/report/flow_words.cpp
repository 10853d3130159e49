// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/flow_words.h"

#include "user/flow/protocols.h"
#include "user/report/address_text.h"

#include <fmt/format.h>

namespace bondtrace {

std::string flow_words(const ConversationKey& key) {
    std::string text = fmt::format("{} {} - {}", protocol_name(key), end_text(key, true, unlimited, ""),
                                   end_text(key, false, unlimited, ""));
    if (const std::string detail = detail_words(key); !detail.empty()) text += " " + detail;
    if (key.vlan) text += " VLAN " + vlan_words(key);
    return text;
}

std::string vlan_words(const ConversationKey& key) {
    if (!key.vlan) return {};
    return key.inner_vlan ? fmt::format("{}.{}", *key.vlan, *key.inner_vlan) : fmt::format("{}", *key.vlan);
}

std::string detail_words(const ConversationKey& key) {
    if (key.unparsed) return "cut";
    if (key.fragment) return "fragments";
    if (const auto* spi = std::get_if<Spi>(&key.detail)) return fmt::format("spi 0x{:08x}", spi->value);
    const auto* icmp = std::get_if<IcmpMessage>(&key.detail);
    if (!icmp) return {};
    const bool v4 = key.ethertype == ethertype_ipv4;
    std::string text = icmp->type == (v4 ? 8 : 128)   ? "echo"
                       : icmp->type == (v4 ? 0 : 129) ? "echo reply"
                                                      : fmt::format("type {}", icmp->type);
    if (icmp->code != 0) text += fmt::format(" code {}", icmp->code);
    if (icmp->id) text += fmt::format(" id {}", *icmp->id);
    return text;
}

} // namespace bondtrace
