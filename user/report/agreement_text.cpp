// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/agreement_text.h"

#include "user/report/address_text.h"

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::size_t indent = 4; // of continued lines
constexpr std::size_t most_shown = 20;

std::string tuple_text(const Conversation& flow, const TextStyle& style) {
    std::string text =
        fmt::format("{} {} {} {}", protocol_name(flow.key), end_text(flow.key, true, unlimited, ""),
                    style.arrow, end_text(flow.key, false, unlimited, ""));
    if (const std::string detail = detail_text(flow.key); !detail.empty()) text += ' ' + detail;
    if (const std::string vlan = vlan_text(flow.key); !vlan.empty()) text += " vlan " + vlan;
    return text;
}

bool anything_sent(const BondReport& bond) {
    for (const SlaveReport& slave : bond.slaves)
        if (slave.tx.flows > 0) return true;
    return false;
}

} // namespace

std::string grouped(std::uint64_t number) {
    std::string text = fmt::format("{}", number);
    for (std::size_t at = text.size(); at > 3; at -= 3)
        text.insert(at - 3, 1, ' ');
    return text;
}

std::string era_text(const EraFinding& era) {
    return fmt::format("era {}, {}{}", to_text(era.era), to_text(era.source),
                       era.why.empty() ? "" : " (" + era.why + ")");
}

std::string agreement_text(const BondReport& bond, const EraFinding& era, const TextStyle& style) {
    const Agreement& agreement = bond.agreement;
    if (agreement.checked == 0) {
        if (!anything_sent(bond)) return {};
        return style.wrap(fmt::format("  agreement: no flow's slave is predictable: {}",
                                      style.clean(agreement.unchecked_why)),
                          indent);
    }
    std::string text = style.wrap(
        fmt::format(
            "  agreement {}/{}  flows that took the slave which the model of the kernel's hash predicts "
            "({})",
            grouped(agreement.agree), grouped(agreement.checked), style.clean(era_text(era))),
        indent);
    std::size_t shown = 0;
    for (const Conversation& flow : agreement.disagreements) {
        if (shown++ == most_shown) break;
        const std::string why = flow.prediction ? style.clean(flow.prediction->why) : "";
        text += style.wrap(fmt::format("  {} {}: {}", style.no, tuple_text(flow, style), why), indent);
    }
    const std::uint64_t all = agreement.checked - agreement.agree;
    if (all > most_shown)
        text += style.wrap(fmt::format("  {} and {} more", style.no, grouped(all - most_shown)), indent);
    return text;
}

} // namespace bondtrace
