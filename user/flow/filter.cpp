// SPDX-License-Identifier: GPL-2.0-or-later
// Filter: evaluation. The parser is in filter_parser.cpp.
#include "user/flow/filter.h"

#include <algorithm>

namespace bondtrace {
namespace {

using namespace condition;

struct Subject {
    const Conversation& conversation;
    const Names& names;
};

// True when `holds` is for the ends that are asked for; it gets whether the end is the local one.
template<typename Holds> bool at_end(End end, Holds holds) {
    return (end != End::remote && holds(true)) || (end != End::local && holds(false));
}

const IpAddress* ip_of(const Subject& subject, bool local) {
    const ConversationKey& key = subject.conversation.key;
    return std::get_if<IpAddress>(local ? &key.local : &key.remote);
}

bool holds(const HostIs& test, const Subject& subject) {
    return at_end(test.end, [&](bool local) {
        const IpAddress* ip = ip_of(subject, local);
        return ip && *ip == test.address;
    });
}

bool holds(const NetHolds& test, const Subject& subject) {
    return at_end(test.end, [&](bool local) {
        const IpAddress* ip = ip_of(subject, local);
        return ip && test.prefix.contains(*ip);
    });
}

bool holds(const PortIn& test, const Subject& subject) {
    const auto* ports = std::get_if<Ports>(&subject.conversation.key.detail);
    return ports && at_end(test.end, [&](bool local) {
               const std::uint16_t port = local ? ports->local : ports->remote;
               return port >= test.first && port <= test.last;
           });
}

bool holds(const MacIs& test, const Subject& subject) {
    const Conversation& conversation = subject.conversation;
    return at_end(test.end, [&](bool local) {
        const auto* own = std::get_if<MacAddress>(local ? &conversation.key.local : &conversation.key.remote);
        if (own) return *own == test.mac;
        const auto used = [&](const SlaveUse& use) {
            return (local ? use.origin.local_mac : use.origin.remote_mac) == test.mac;
        };
        return std::any_of(conversation.tx.begin(), conversation.tx.end(), used) ||
               std::any_of(conversation.rx.begin(), conversation.rx.end(), used);
    });
}

bool holds(const ProtocolIs& test, const Subject& subject) {
    const ConversationKey& key = subject.conversation.key;
    if (test.protocol.ip_protocol) return key.ip && key.protocol == *test.protocol.ip_protocol;
    if (test.protocol.ethertype) return key.ethertype == *test.protocol.ethertype;
    return !key.ip && protocol_name(key) == "llc";
}

bool holds(const SlaveIs& test, const Subject& subject) {
    const Conversation& conversation = subject.conversation;
    const auto named = [&](const SlaveUse& use) {
        return subject.names.slave(conversation.bond, use.slave_ifindex) == test.name;
    };
    return (test.direction != Direction::rx &&
            std::any_of(conversation.tx.begin(), conversation.tx.end(), named)) ||
           (test.direction != Direction::tx &&
            std::any_of(conversation.rx.begin(), conversation.rx.end(), named));
}

bool holds(const BondIs& test, const Subject& subject) {
    return subject.names.bond(subject.conversation.bond) == test.name;
}

bool holds(const VlanIs& test, const Subject& subject) {
    const ConversationKey& key = subject.conversation.key;
    return key.vlan == test.id || key.inner_vlan == test.id;
}

bool holds(const IsFragment&, const Subject& subject) {
    return subject.conversation.key.fragment;
}

bool holds(const HasMoved&, const Subject& subject) {
    return subject.conversation.moves() > 0;
}

template<typename Test> std::vector<std::string> names_in(const std::vector<Condition>& conditions) {
    std::vector<std::string> names;
    for (const Condition& condition : conditions)
        if (const auto* test = std::get_if<Test>(&condition)) names.push_back(test->name);
    return names;
}

} // namespace

bool Filter::matches(const Conversation& conversation, const Names& names) const {
    const Subject subject{conversation, names};
    bool truth = true;
    for (std::size_t at = 0; at < program_.size();) {
        const Instruction& instruction = program_[at++];
        switch (instruction.op) {
        case Op::test:
            truth = std::visit([&](const auto& test) { return holds(test, subject); },
                               conditions_[instruction.argument]);
            break;
        case Op::negate:
            truth = !truth;
            break;
        case Op::jump_if_false:
            if (!truth) at = instruction.argument;
            break;
        case Op::jump_if_true:
            if (truth) at = instruction.argument;
            break;
        }
    }
    return truth;
}

std::vector<std::string> Filter::slave_names() const {
    return names_in<SlaveIs>(conditions_);
}

std::vector<std::string> Filter::bond_names() const {
    return names_in<BondIs>(conditions_);
}

} // namespace bondtrace
