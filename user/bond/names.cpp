// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's words for modes, policies and states (bond_options.c, bond_slave_link_status() in bonding.h).
#include "user/bond/model.h"

#include <algorithm>
#include <array>

namespace bondtrace {
namespace {

// Indexed by the driver's numbers.
constexpr std::array<std::string_view, 7> modes = {"balance-rr", "active-backup", "balance-xor", "broadcast",
                                                   "802.3ad",    "balance-tlb",   "balance-alb"};
constexpr std::array<std::string_view, 6> policies = {"layer2",   "layer3+4", "layer2+3",
                                                      "encap2+3", "encap3+4", "vlan+srcmac"};
constexpr std::array<std::string_view, 4> mii_states = {"up", "going down", "down", "going back"};

template<typename Enum, std::size_t count>
std::string_view text_of(const std::array<std::string_view, count>& words, Enum value) {
    const auto index = static_cast<std::size_t>(value);
    return index < count ? words[index] : "unknown";
}

template<typename Enum, std::size_t count>
std::optional<Enum> value_of(const std::array<std::string_view, count>& words, std::string_view text) {
    const auto* const word = std::find(words.begin(), words.end(), text);
    if (word == words.end()) return std::nullopt;
    return static_cast<Enum>(word - words.begin());
}

} // namespace

std::string_view to_text(BondMode mode) {
    return text_of(modes, mode);
}

std::string_view to_text(HashPolicy policy) {
    return text_of(policies, policy);
}

std::string_view to_text(MiiStatus status) {
    return text_of(mii_states, status);
}

std::optional<BondMode> parse_bond_mode(std::string_view text) {
    return value_of<BondMode>(modes, text);
}

std::optional<HashPolicy> parse_hash_policy(std::string_view text) {
    return value_of<HashPolicy>(policies, text);
}

const Slave* Bond::find_slave(int slave_ifindex) const {
    const auto slave = std::find_if(slaves.begin(), slaves.end(), [&](const Slave& candidate) {
        return candidate.ifindex == slave_ifindex;
    });
    return slave == slaves.end() ? nullptr : &*slave;
}

} // namespace bondtrace
