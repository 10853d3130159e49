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
constexpr std::array<std::string_view, 7> arp_validations = {"none",   "active",        "backup",       "all",
                                                             "filter", "filter_active", "filter_backup"};
constexpr std::array<std::string_view, 2> arp_all = {"any", "all"};
constexpr std::array<std::string_view, 3> reselections = {"always", "better", "failure"};
constexpr std::array<std::string_view, 3> mac_policies = {"none", "active", "follow"};
constexpr std::array<std::string_view, 4> selections = {"stable", "bandwidth", "count", "actor_port_prio"};
constexpr std::array<std::string_view, 2> duplexes = {"half", "full"};
constexpr std::array<std::string_view, 3> churn_states = {"monitoring", "churned", "none"};
// By bit, from the lowest.
constexpr std::array<std::string_view, 8> port_state_bits = {"active",    "short timeout", "aggregatable",
                                                             "in sync",   "collecting",    "distributing",
                                                             "defaulted", "expired"};

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

std::string_view to_text(ArpValidate value) {
    return text_of(arp_validations, value);
}

std::string_view to_text(ArpAllTargets value) {
    return text_of(arp_all, value);
}

std::string_view to_text(PrimaryReselect value) {
    return text_of(reselections, value);
}

std::string_view to_text(FailOverMac value) {
    return text_of(mac_policies, value);
}

std::string_view to_text(AdSelect value) {
    return text_of(selections, value);
}

std::string_view to_text(Duplex duplex) {
    return text_of(duplexes, duplex);
}

std::string_view to_text(ChurnState state) {
    return text_of(churn_states, state);
}

std::optional<MiiStatus> parse_mii_status(std::string_view text) {
    return value_of<MiiStatus>(mii_states, text);
}

std::optional<ArpValidate> parse_arp_validate(std::string_view text) {
    return value_of<ArpValidate>(arp_validations, text);
}

std::optional<ArpAllTargets> parse_arp_all_targets(std::string_view text) {
    return value_of<ArpAllTargets>(arp_all, text);
}

std::optional<PrimaryReselect> parse_primary_reselect(std::string_view text) {
    return value_of<PrimaryReselect>(reselections, text);
}

std::optional<FailOverMac> parse_fail_over_mac(std::string_view text) {
    return value_of<FailOverMac>(mac_policies, text);
}

std::optional<AdSelect> parse_ad_select(std::string_view text) {
    return value_of<AdSelect>(selections, text);
}

std::optional<ChurnState> parse_churn_state(std::string_view text) {
    return value_of<ChurnState>(churn_states, text);
}

std::string describe_port_state(std::uint8_t state) {
    std::string text;
    for (std::size_t bit = 0; bit < port_state_bits.size(); ++bit) {
        if ((state >> bit & 1) == 0) continue;
        if (!text.empty()) text += ", ";
        text += port_state_bits[bit];
    }
    return text.empty() ? "none" : text;
}

const Slave* Bond::find_slave(int slave_ifindex) const {
    const auto slave = std::find_if(slaves.begin(), slaves.end(), [&](const Slave& candidate) {
        return candidate.ifindex == slave_ifindex;
    });
    return slave == slaves.end() ? nullptr : &*slave;
}

const Slave* Bond::find_slave(std::string_view slave_name) const {
    const auto slave = std::find_if(slaves.begin(), slaves.end(),
                                    [&](const Slave& candidate) { return candidate.name == slave_name; });
    return slave == slaves.end() ? nullptr : &*slave;
}

const Slave* Bond::active() const {
    if (active_slave)
        if (const Slave* const slave = find_slave(*active_slave)) return slave;
    return active_name ? find_slave(std::string_view(*active_name)) : nullptr;
}

} // namespace bondtrace
