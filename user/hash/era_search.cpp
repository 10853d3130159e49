// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/era_search.h"

#include "user/hash/choice.h"
#include "user/hash/wire.h"

#include <algorithm>

namespace bondtrace {
namespace {

using Bytes = std::vector<std::uint8_t>;

void append16(Bytes& frame, unsigned value) {
    frame.push_back(static_cast<std::uint8_t>(value >> 8U));
    frame.push_back(static_cast<std::uint8_t>(value));
}

// Locally administered addresses whose last bytes vary with `number`.
Bytes ethernet(std::uint16_t type, std::uint8_t number) {
    Bytes frame{0x02, 0, 0, 0, 0x0b, static_cast<std::uint8_t>(number * 37U)};
    frame.insert(frame.end(), {0x02, 0, 0, 0, 0x0a, static_cast<std::uint8_t>(number * 11U + 1U)});
    append16(frame, type);
    return frame;
}

// Padded to the least length of Ethernet; what follows the headers is not looked at.
Bytes padded(Bytes frame) {
    constexpr std::size_t least = 60;
    frame.resize(std::max(frame.size(), least));
    return frame;
}

// `transport`: the first bytes behind the IPv4 header.
Bytes ipv4(std::uint8_t protocol, std::uint8_t number, const Bytes& transport) {
    Bytes frame = ethernet(ethertype::ipv4, number);
    frame.insert(frame.end(), {0x45, 0, 0, 46, 0, 1, 0, 0, 64, protocol, 0, 0});
    frame.insert(frame.end(), {192, 0, 2, static_cast<std::uint8_t>(number + 1U)}); // RFC 5737
    frame.insert(frame.end(), {198, 51, 100, static_cast<std::uint8_t>(number * 5U)});
    frame.insert(frame.end(), transport.begin(), transport.end());
    return padded(std::move(frame));
}

Bytes ipv6_udp(std::uint8_t number) {
    Bytes frame = ethernet(ethertype::ipv6, number);
    frame.insert(frame.end(), {0x60, 0, 0, 0, 0, 8, ipproto::udp, 64});
    for (const std::uint8_t host : {number, static_cast<std::uint8_t>(number * 3U + 7U)}) {
        frame.insert(frame.end(),
                     {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, host, 0, 0, 0, 0, 0, 0, 1, host}); // RFC 3849
    }
    append16(frame, 40000U + number);
    append16(frame, 53);
    append16(frame, 8);
    append16(frame, 0);
    return padded(std::move(frame));
}

// Eight of each kind: with three slaves two eras answer one question alike in a third of all cases.
std::vector<Bytes> frames() {
    constexpr std::uint8_t of_each = 8;
    constexpr std::uint16_t experimental = 0x88b5; // IEEE 802, for nobody's protocol
    std::vector<Bytes> all;
    for (std::uint8_t i = 0; i < of_each; ++i) {
        Bytes tcp, echo{8, 0, 0, 0};
        append16(tcp, 50000U + i * 257U);
        append16(tcp, 443);
        tcp.resize(20);
        append16(echo, 1000U + i * 771U);
        append16(echo, 1);
        all.push_back(ipv4(ipproto::tcp, i, tcp));
        all.push_back(ipv4(ipproto::icmp, i, echo));
        all.push_back(ipv6_udp(i));
        all.push_back(padded(ethernet(experimental, i)));
        Bytes ptp = ethernet(ethertype::ptp, i);
        ptp.insert(ptp.end(), {0x00, 0x02, 0, 44}); // sync, version 2
        all.push_back(padded(std::move(ptp)));
        all.push_back(padded(ethernet(ethertype::cfm, i)));
    }
    return all;
}

std::vector<Era> all_eras() {
    std::vector<Era> all;
    for (const bool raw : {false, true})
        for (const LowBit low_bit : {LowBit::kept, LowBit::dropped, LowBit::dropped_by_ports})
            for (const bool icmp : {false, true})
                for (const Dissector dissector : {Dissector::classic, Dissector::v5_15, Dissector::v6_5})
                    all.push_back({raw, low_bit, icmp, dissector});
    return all;
}

} // namespace

EraSearch::EraSearch(std::uint32_t slaves) : slaves_(slaves), remaining_(all_eras()) {
    const std::vector<Bytes> all = frames();
    for (const HashPolicy policy : {HashPolicy::layer2, HashPolicy::layer23, HashPolicy::layer34,
                                    HashPolicy::encap23, HashPolicy::encap34})
        for (const Bytes& frame : all)
            questions_.push_back({policy, frame});
}

void EraSearch::answer(const EraQuestion& question, std::uint32_t index) {
    ChoiceContext bond;
    bond.mode = BondMode::balance_xor;
    bond.policy = question.policy;
    bond.usable = slaves_;
    bond.l4_hash = false; // a packet socket's frames carry none
    const Frame frame = make_frame(question.frame, std::nullopt, FrameSource::local);
    std::erase_if(remaining_, [&](const Era& era) {
        bond.era = era;
        const Choice choice = choose(bond, frame);
        return choice.kind != ChoiceKind::index || choice.index != index;
    });
}

} // namespace bondtrace
