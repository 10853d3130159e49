// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/hash_findings.h"

#include "user/audit/advice.h"
#include "user/audit/fields.h"
#include "user/audit/patterns.h"
#include "user/base/units.h"
#include "user/hash/policy.h"
#include "user/hash/wire.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Parts of the bytes from which on something is worth a word, and a warning.
constexpr double worth_a_word = 0.01;
constexpr double worth_a_warning = 0.1;
// One value that carries this much is "all".
constexpr double nearly_all = 0.9;
// Fewer frames than this are no traffic to warn about.
constexpr std::uint64_t packets_to_warn = 32;
// A flow that fills this part of its slave wants more than one slave can give.
constexpr double slave_full = 0.8;
// Less than this is no elephant, whatever its share.
constexpr std::uint64_t elephant_bytes = 1'000'000;

struct Sum {
    std::uint64_t flows = 0, packets = 0, bytes = 0;

    void add(const PlacedFlow& flow) {
        ++flows;
        packets += flow.packets;
        bytes += flow.bytes;
    }
};

class HashAudit {
  public:
    HashAudit(const BondView& view, const std::vector<PlacedFlow>& sent, const Balance& tx)
        : view_(view), sent_(sent), tx_(tx), policy_(view.report->policy), name_(view.state->name) {
        for (const PlacedFlow& flow : sent)
            all_.add(flow);
    }

    std::vector<Finding> run() {
        add_not_ip();
        add_fragments();
        add_elephant();
        add_constant_input();
        if (!explained_ && tx_.word != BalanceWord::balanced) add_pattern();
        add_too_few();
        if (!explained_ && tx_.word == BalanceWord::uneven) add_imbalanced();
        return std::move(findings_);
    }

  private:
    [[nodiscard]] std::size_t slaves() const { return view_.usable.size(); }
    [[nodiscard]] double part(const Sum& sum) const {
        return all_.bytes == 0 ? 0 : static_cast<double>(sum.bytes) / static_cast<double>(all_.bytes);
    }
    [[nodiscard]] bool enough_flows(std::uint64_t flows) const {
        return flows >= flows_per_slave_to_judge * slaves();
    }
    [[nodiscard]] bool by_ports() const { return uses_ports(policy_); }

    [[nodiscard]] std::vector<Fix> policy_fixes(HashPolicy wanted) const {
        return host_fixes(*view_.state, BondOption::hash_policy, to_text(wanted));
    }

    Finding& add(std::string id, Severity severity, std::string summary) {
        return findings_.emplace_back(
            Finding{std::move(id), severity, name_, std::nullopt, std::move(summary), {}, {}, {}});
    }
    // "38 % of 1.2 GB in 7 flows".
    [[nodiscard]] std::string amount(const Sum& sum) const {
        return fmt::format("{} of {} in {} flow{}", format_share(part(sum)), format_bytes(all_.bytes),
                           sum.flows, sum.flows == 1 ? "" : "s");
    }

    void add_not_ip() {
        Sum by_mac, tagged;
        for (const PlacedFlow& flow : sent_) {
            if (!flow.by_mac) continue;
            by_mac.add(flow);
            if (ethertype::is_vlan(flow.use->origin.outer_ethertype)) tagged.add(flow);
        }
        if (part(by_mac) < worth_a_word || by_mac.packets < packets_to_warn) return;
        const bool tags = part(tagged) >= part(by_mac) / 2;
        const bool warn = part(by_mac) >= worth_a_warning;
        Finding& finding =
            add("hash.not-ip", warn ? Severity::warning : Severity::info,
                tags ? fmt::format("policy {} not applied: double VLAN tag, hashed by MAC addresses",
                                   to_text(policy_))
                     : fmt::format("policy {} not applied to traffic that is not IP: hashed by MAC "
                                   "addresses",
                                   to_text(policy_)));
        finding.seen = amount(by_mac);
        finding.why =
            tags
                ? "The driver reads EtherType 0x8100 in the frame, behind the tag that travels beside it, "
                  "and "
                  "falls back to the hash of layer2: all flows between two MAC addresses share a slave."
                : "Without IP addresses only MAC addresses and EtherType are hashed: all such frames between "
                  "two stations share a slave.";
        if (tags) finding.fixes = policy_fixes(by_ports() ? HashPolicy::encap34 : HashPolicy::encap23);
        if (warn) explained_ = true;
    }

    void add_fragments() {
        Sum fragments;
        for (const PlacedFlow& flow : sent_)
            if (flow.flow->key.fragment) fragments.add(flow);
        if (!by_ports() || part(fragments) < worth_a_word || fragments.packets < packets_to_warn) return;
        const bool warn = part(fragments) >= worth_a_warning;
        Finding& finding = add("hash.fragments", warn ? Severity::warning : Severity::info,
                               "IP fragments are hashed without ports");
        finding.seen = amount(fragments);
        finding.why = "Fragments carry no ports, so that all of a pair of hosts share a slave, another one "
                      "perhaps than "
                      "the unfragmented packets of the same flow, which they can then overtake.";
        finding.fixes = {
            {"sender", "send datagrams that fit the MTU, or raise the MTU along the whole path"}};
        if (warn) explained_ = true;
    }

    void add_elephant() {
        const PlacedFlow* largest = nullptr;
        for (const PlacedFlow& flow : sent_)
            if (flow.whole && (!largest || flow.bytes > largest->bytes)) largest = &flow;
        if (!largest) return;
        Sum one;
        one.add(*largest);
        if (part(one) <= 1.0 / static_cast<double>(slaves()) || largest->flow->key.fragment) return;
        const ConversationKey& key = largest->flow->key;
        const SlaveReport& slave = *view_.usable[largest->slave];
        const double rate =
            view_.traffic->seconds > 0 ? static_cast<double>(one.bytes) * 8 / view_.traffic->seconds : 0;
        const std::string seen =
            fmt::format("{}: {}, {} on {}", describe(key), amount(one), format_bit_rate(rate), slave.name);
        if (const std::string_view tunnel = tunnel_name(key); !tunnel.empty()) {
            if (one.packets >= packets_to_warn) add_tunnel(tunnel, seen);
            return;
        }
        if (one.bytes < elephant_bytes) return;
        const bool full = slave.speed_mbps && rate >= slave_full * 1e6 * *slave.speed_mbps;
        Finding& finding = add("hash.single-flow", full ? Severity::warning : Severity::info,
                               fmt::format("one flow is {} of what is sent{}", format_share(part(one)),
                                           full ? ", and fills its slave" : ""));
        finding.slave = slave.name;
        finding.seen = seen;
        finding.why =
            "A flow stays on one slave so that its packets stay in order: it is never faster than one slave, "
            "and its bytes are on one.";
        finding.fixes = {{"application", "spread the transfer over several connections"}};
        // With one flow beyond a fair share, bytes cannot be even.
        if (tx_.by_flows.bound >= luck_ends) explained_ = true;
    }

    void add_tunnel(std::string_view tunnel, const std::string& seen) {
        explained_ = true;
        Finding& finding = add("hash.tunnel", Severity::warning,
                               fmt::format("{} tunnel: all that it carries is one flow to the hash", tunnel));
        finding.seen = fmt::format("1 outer tuple: {}", seen);
        finding.why =
            fmt::format("Policy {} hashes the outer headers, which are the same for every packet of the "
                        "tunnel, so that all of it uses one slave.",
                        to_text(policy_));
        const bool looks_inside = tunnel == "GRE" || tunnel == "IP in IP" || tunnel == "IPv6 in IP";
        if (policy_ != HashPolicy::encap34 && (looks_inside || tunnel == "VXLAN" || tunnel == "Geneve"))
            finding.fixes = policy_fixes(HashPolicy::encap34);
        if (tunnel == "VXLAN")
            finding.fixes.push_back({"iproute2",
                                     "let the source port vary by inner flow: create the VXLAN device with "
                                     "'srcport 0 0' (the default)"});
        if (tunnel == "WireGuard" || tunnel == "ESP" || tunnel == "AH" || tunnel == "IPsec NAT traversal")
            finding.fixes.push_back(
                {"tunnel", "use several tunnels (peers or security associations) between the sites"});
    }

    // One input for all: the policy has nothing to tell flows apart by.
    void add_constant_input() {
        if (policy_ == HashPolicy::layer34 || policy_ == HashPolicy::encap34) return;
        const FieldTable fields(sent_, Direction::tx);
        const bool by_mac = policy_ == HashPolicy::layer2 || policy_ == HashPolicy::vlan_srcmac;
        const auto field = [&](std::size_t row, Field f) {
            return fields.rows()[row][static_cast<std::size_t>(f)];
        };
        std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> inputs;
        for (std::size_t i = 0; i < sent_.size(); ++i) {
            std::pair<std::uint32_t, std::uint32_t> input;
            if (policy_ == HashPolicy::layer2)
                input = {field(i, Field::src_mac), field(i, Field::dst_mac)};
            else if (policy_ == HashPolicy::vlan_srcmac)
                input = {field(i, Field::src_mac), sent_[i].use->origin.tci};
            else if (sent_[i].flow->key.ip)
                input = {field(i, Field::src_ip), field(i, Field::dst_ip)};
            else
                continue;
            inputs[input].add(sent_[i]);
        }
        if (inputs.empty()) return;
        const Sum& top = std::max_element(inputs.begin(), inputs.end(), [](const auto& a, const auto& b) {
                             return a.second.bytes < b.second.bytes;
                         })->second;
        if (top.flows < 2 || part(top) < nearly_all) {
            add_same_last_bytes(fields);
            return;
        }
        explained_ = true;
        const Severity severity = enough_flows(top.flows) ? Severity::warning : Severity::info;
        const bool source = policy_ == HashPolicy::vlan_srcmac;
        Finding& finding = add(
            by_mac ? "hash.layer2-one-mac" : "hash.layer2+3-one-address", severity,
            !by_mac  ? fmt::format("policy {} ignores ports, and there is one peer address", to_text(policy_))
            : source ? "policy vlan+srcmac, and there is one source MAC address and VLAN"
                     : "policy layer2 ignores IP addresses, and there is one destination MAC address");
        const std::uint64_t macs = source ? fields.distinct(Field::src_mac) : fields.distinct(Field::dst_mac);
        const std::uint64_t peers = fields.distinct(Field::dst_ip);
        finding.seen =
            fmt::format("{} between one pair of {}; {} {} MAC address{}, {} peer{} in all", amount(top),
                        by_mac ? "MAC addresses" : "IP addresses", macs, source ? "source" : "destination",
                        macs == 1 ? "" : "es", peers, peers == 1 ? "" : "s");
        finding.why =
            by_mac
                ? "Everything behind a router has the router's MAC address: the hash is the same for every "
                  "frame, and one slave carries all."
                : "The hash of one pair of addresses is always the same: one slave carries all of it, "
                  "whatever the ports.";
        finding.fixes = policy_fixes(HashPolicy::layer34);
        if (by_mac && peers > 1)
            finding.why += " layer3+4 spreads by address and port, layer2+3 by address only.";
    }

    // layer2 hashes only the last byte of each MAC address.
    void add_same_last_bytes(const FieldTable& fields) {
        constexpr std::uint64_t several = 4;
        if (policy_ != HashPolicy::layer2 || fields.distinct(Field::dst_mac) < several || tx_.throws != 1)
            return;
        explained_ = true;
        Finding& finding =
            add("hash.low-entropy", Severity::warning,
                "policy layer2 hashes the last byte of MAC addresses, and there it is always the same");
        finding.seen = fmt::format("{} destination MAC addresses, one hash", fields.distinct(Field::dst_mac));
        finding.why = "Equal hashes share a slave.";
        finding.fixes = policy_fixes(HashPolicy::layer34);
    }

    void add_pattern() {
        const std::optional<Pattern> pattern = find_pattern(view_, sent_);
        if (!pattern) return;
        explained_ = true;
        const bool polarized = pattern->kind == PatternKind::polarized;
        // Even ports are what connect() hands out: on a kernel that keeps the lowest bit that is no luck.
        const bool sure = pattern->luck < luck_ends || pattern->low_bit;
        const std::string slave = view_.usable[largest_by_throws()]->name;
        Finding& finding =
            add(polarized ? "hash.polarized" : "hash.low-entropy", sure ? Severity::warning : Severity::info,
                polarized ? "the flows present are those of one residue class of the hash"
                          : fmt::format("little entropy: {}", pattern->text));
        finding.slave = slave;
        finding.seen = fmt::format("{}; {}; {}", pattern->text, throws_text(), field_text());
        if (polarized) {
            finding.why =
                "No field of these flows is regular, yet the hash sends all of them to one slave: whoever "
                "distributed them before used the same hash.";
            finding.fixes = {{"upstream", "use another hash, or another seed, on one of the two tiers"}};
            const auto other =
                policy_fixes(policy_ == HashPolicy::layer34 ? HashPolicy::layer23 : HashPolicy::layer34);
            finding.fixes.insert(finding.fixes.end(), other.begin(), other.end());
            return;
        }
        finding.why =
            pattern->low_bit ? "All source ports are of one parity, and this kernel's hash keeps the lowest "
                               "bit: they share a slave."
            : pattern->kind == PatternKind::cancel ? "Flows whose hashes agree in the bits that choose the "
                                                     "slave share it, however many there are."
                                                   : "The bits that the slave depends on are the same in all "
                                                     "of them: more flows of the same kind "
                                                     "will not spread either.";
        if (!by_ports()) finding.fixes = policy_fixes(HashPolicy::layer34);
        finding.fixes.push_back(
            {"application", "use ports or addresses that follow each other, or random ones"});
    }

    void add_too_few() {
        // Where the cause is known, chance has no part in it.
        const bool known = std::any_of(findings_.begin(), findings_.end(), [](const Finding& f) {
            return f.severity != Severity::info || f.id == "hash.layer2-one-mac" ||
                   f.id == "hash.layer2+3-one-address";
        });
        if (tx_.word != BalanceWord::too_few || known) return;
        const bool policy_blind = enough_flows(tx_.flows);
        Finding& finding =
            add("hash.too-few-flows", Severity::info,
                policy_blind ? fmt::format("TX: policy {} sees {} flows as {}: too few to judge balance",
                                           to_text(policy_), tx_.flows, tx_.throws)
                             : fmt::format("TX: {} flow{} {} too few to judge balance", tx_.flows,
                                           tx_.flows == 1 ? "" : "s", tx_.flows == 1 ? "is" : "are"));
        finding.seen = too_few_text(tx_);
        finding.why = "Which slave a flow takes is chance: few flows are rarely even, and that is no fault.";
        if (policy_blind && !by_ports()) finding.fixes = policy_fixes(HashPolicy::layer34);
    }

    void add_imbalanced() {
        // By the model: flows that should have used a slave that carried none.
        std::vector<std::uint64_t> expected(slaves(), 0);
        for (const PlacedFlow& flow : sent_)
            if (flow.hash) ++expected[*flow.hash % slaves()];
        std::optional<std::size_t> idle;
        for (std::size_t i = 0; i < slaves(); ++i)
            if (tx_.slaves[i].bytes == 0 && expected[i] >= flows_per_slave_to_judge) idle = i;
        Finding& finding =
            add("hash.imbalanced", idle ? Severity::critical : Severity::warning,
                idle ? fmt::format("{} sends nothing, though the hash gives it {} flows",
                                   view_.usable[*idle]->name, expected[*idle])
                     : fmt::format("{} sends {} of all bytes, and neither luck nor the flows explain it",
                                   tx_.slaves[tx_.largest_slave].name, format_share(tx_.largest)));
        finding.slave = idle ? view_.usable[*idle]->name : tx_.slaves[tx_.largest_slave].name;
        finding.seen =
            fmt::format("{}; {}; {}", throws_text(), format_probability(tx_.decisive()), field_text());
        finding.why = "So uneven a split does not come about by chance.";
        finding.fixes = {
            {"bondtrace", fmt::format("bondtrace flows {} --for 10s: compare each flow's slave with the "
                                      "predicted one",
                                      name_)}};
    }

    [[nodiscard]] std::size_t largest_by_throws() const {
        return static_cast<std::size_t>(
            std::max_element(tx_.slaves.begin(), tx_.slaves.end(),
                             [](const SlaveShare& a, const SlaveShare& b) { return a.throws < b.throws; }) -
            tx_.slaves.begin());
    }
    [[nodiscard]] std::string field_text() const { return describe(FieldTable(sent_, Direction::tx)); }
    // "flows eth0 64, eth1 0; bytes 100 %, 0 %".
    [[nodiscard]] std::string throws_text() const {
        std::string flows, shares;
        for (const SlaveShare& slave : tx_.slaves) {
            flows += fmt::format("{}{} {}", flows.empty() ? "" : ", ", slave.name, slave.flows);
            shares += fmt::format("{}{}", shares.empty() ? "" : ", ", format_share(slave.share));
        }
        return fmt::format("flows {}; bytes {}", flows, shares);
    }

    const BondView& view_;
    const std::vector<PlacedFlow>& sent_;
    const Balance& tx_;
    HashPolicy policy_;
    std::string name_;
    Sum all_;
    std::vector<Finding> findings_;
    bool explained_ = false; // the split's cause has been named
};

} // namespace

std::string too_few_text(const Balance& balance) {
    const auto slaves = static_cast<double>(balance.slaves.size());
    const double together = std::pow(slaves, 1 - static_cast<double>(balance.throws));
    std::string text;
    for (const SlaveShare& slave : balance.slaves)
        text += fmt::format("{}{} {}", text.empty() ? "flows " : ", ", slave.name, slave.throws);
    text += fmt::format("; by chance as uneven in {} of cases, all on one slave in {}",
                        format_share(balance.by_flows.bound), format_share(together));
    if (balance.needed)
        text += fmt::format("; {} flows would keep every slave below {}", *balance.needed,
                            format_share(balance.even_share()));
    return text;
}

std::vector<Finding> hash_findings(const BondView& view, const std::vector<PlacedFlow>& sent,
                                   const Balance& tx) {
    if (!view.report || !view.report->policy_used || view.usable.size() < 2 || sent.empty() ||
        tx.word == BalanceWord::not_seen || tx.word == BalanceWord::changed)
        return {};
    return HashAudit(view, sent, tx).run();
}

} // namespace bondtrace
