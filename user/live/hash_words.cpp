// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/hash_words.h"

#include "user/bond/usable.h"
#include "user/flow/agreement.h"
#include "user/hash/choice.h"
#include "user/hash/inverse.h"
#include "user/hash/policy.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace bondtrace {
namespace {

const SlaveUse* latest_use(const std::vector<SlaveUse>& uses) {
    const auto latest = std::max_element(
        uses.begin(), uses.end(), [](const SlaveUse& a, const SlaveUse& b) { return a.last_ns < b.last_ns; });
    return latest == uses.end() ? nullptr : &*latest;
}

// What was sent last, or would be: of a conversation that was only received, the MAC addresses are known, and
// no tag.
FlowTuple tuple_of(const Conversation& conversation) {
    if (const SlaveUse* use = latest_use(conversation.tx)) return sent_tuple(conversation.key, use->origin);
    FrameOrigin origin;
    if (const SlaveUse* use = latest_use(conversation.rx)) origin = use->origin;
    origin.outer_ethertype = conversation.key.ethertype;
    return sent_tuple(conversation.key, origin);
}

std::string address_words(AddressKind kind, const std::array<std::uint8_t, 16>& bytes) {
    IpAddress address;
    address.v6 = kind == AddressKind::ipv6;
    std::copy_n(bytes.begin(), address.v6 ? 16 : 4, address.bytes.begin());
    return to_text(address);
}

// The fields that go into the hash (policy.cpp): for layer2 the last bytes of the MAC addresses and the
// ethertype, which layer2+3 adds to the addresses, and layer3+4 does not.
std::string inputs_words(const HashInputs& inputs, HashPolicy policy) {
    const EthernetInputs& ethernet = inputs.ethernet;
    const std::string layer2 = fmt::format("MACs ..:{:02x} ..:{:02x}, type 0x{:04x}", ethernet.src[5],
                                           ethernet.dst[5], ethernet.ethertype);
    if (policy == HashPolicy::vlan_srcmac)
        return fmt::format("VLAN {}, source MAC {}", ethernet.tci & 0x0fff, to_text(ethernet.src));
    const FlowInputs& flow = inputs.flow;
    const bool addresses =
        flow.parsed == Parsed::ok && (flow.kind == AddressKind::ipv4 || flow.kind == AddressKind::ipv6);
    if (policy == HashPolicy::layer2 || !addresses) return layer2;
    std::string words =
        fmt::format("{}, {}", address_words(flow.kind, flow.src), address_words(flow.kind, flow.dst));
    if (!uses_ports(policy)) return fmt::format("{}, {}", words, layer2);
    if (flow.icmp_id != 0) return fmt::format("{}, id {}", words, flow.icmp_id);
    const auto port = [&](std::size_t at) { return flow.ports[at] << 8 | flow.ports[at + 1]; };
    if (port(0) == 0 && port(2) == 0) return words;
    return fmt::format("{}, ports {}, {}", words, port(0), port(2));
}

PolicyAnswer answer_of(const Bond& bond, HashPolicy policy, const Conversation& conversation,
                       const FlowTuple& tuple, const std::vector<const Slave*>& usable, const Era& era) {
    PolicyAnswer answer;
    answer.policy = policy;
    answer.usable = static_cast<std::uint32_t>(usable.size());
    ChoiceContext context;
    context.mode = bond.mode;
    context.policy = policy;
    context.era = era;
    context.usable = answer.usable;
    context.tlb_dynamic_lb = bond.tlb_dynamic_lb.value_or(true);
    context.broadcast_neighbor = bond.broadcast_neighbor.value_or(false);
    if (const SlaveUse* use = latest_use(conversation.tx)) {
        context.l4_hash = use->origin.l4_hash;
        context.skb_hash = use->origin.skb_hash;
    }
    if (const auto inputs = hash_inputs(tuple, policy, era)) answer.inputs = inputs_words(*inputs, policy);
    const Choice choice = choose(context, tuple);
    if (choice.kind == ChoiceKind::index && choice.index < usable.size()) {
        answer.slave = usable[choice.index]->name;
        answer.hash = choice.hash;
        answer.index = choice.index;
        return answer;
    }
    answer.reason = choice.reason.empty() ? "every slave" : std::string(choice.reason);
    return answer;
}

} // namespace

std::vector<PolicyAnswer> ask_policies(const Bond& bond, const Conversation& conversation, const Era& era) {
    if (!uses_hash_policy(bond)) return {};
    constexpr std::array policies = {HashPolicy::layer2,  HashPolicy::layer23, HashPolicy::layer34,
                                     HashPolicy::encap23, HashPolicy::encap34, HashPolicy::vlan_srcmac};
    const std::vector<const Slave*> usable = usable_slaves(bond);
    const FlowTuple tuple = tuple_of(conversation);
    std::vector<PolicyAnswer> answers;
    answers.push_back(answer_of(bond, bond.policy, conversation, tuple, usable, era));
    for (const HashPolicy policy : policies)
        if (policy != bond.policy)
            answers.push_back(answer_of(bond, policy, conversation, tuple, usable, era));
    return answers;
}

std::vector<OtherPorts> ports_elsewhere(const Bond& bond, const Conversation& conversation, const Era& era) {
    const auto* ports = std::get_if<Ports>(&conversation.key.detail);
    if (!ports || !uses_hash_policy(bond) || !uses_ports(bond.policy)) return {};
    const std::vector<const Slave*> usable = usable_slaves(bond);
    const SlaveUse* use = latest_use(conversation.tx);
    ReachQuery query;
    query.tuple = tuple_of(conversation);
    query.policy = bond.policy;
    query.era = era;
    query.usable = static_cast<std::uint32_t>(usable.size());
    query.low = static_cast<std::uint16_t>(std::max(1024, ports->local == 65535 ? 0 : ports->local + 1));
    query.count = 3;
    query.socket_hash = use && use->origin.l4_hash;
    std::vector<OtherPorts> all;
    for (std::uint32_t index = 0; index < usable.size(); ++index) {
        if (use && usable[index]->ifindex == use->slave_ifindex) continue;
        query.index = index;
        const auto reaching = ports_reaching(query);
        if (reaching && !reaching->empty()) all.push_back({usable[index]->name, *reaching});
    }
    return all;
}

} // namespace bondtrace
