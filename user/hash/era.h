// SPDX-License-Identifier: GPL-2.0-or-later
// What differs between kernels in the bonding driver's transmit hash. Each trait can be probed by itself
// (send one packet, look at the hash); the version numbers are those of mainline, and stable series carry
// back-ports of some of them, so a running kernel's era is found by probing, never by uname.
#pragma once

#include "user/base/result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace bondtrace {

// Which results lose their lowest bit (the cure for "all source ports are even").
enum class LowBit : std::uint8_t {
    kept,             // before 4.15 (b5f862180d70)
    dropped,          // 4.15: of every policy that hashes addresses, layer2+3 and encap2+3 too
    dropped_by_ports, // 5.18 (49aefd131739; also 5.15.y from about .38): of layer3+4 and encap3+4 only
};

// What the generic flow dissector (encap policies only) can parse.
enum class Dissector : std::uint8_t {
    classic, // started at the accelerated VLAN tag; knows neither PTP nor HSR/PRP
    v5_15,   // PTP, HSR and PRP; started at skb->protocol by the bonding driver
    v6_5,    // and CFM (d7ad70b5ef5a)
};

struct Era {
    bool ethertype_raw = false; // before 5.15 (9e2ee5c7e7c3): the ethertype enters the hash as loaded, 0x0008
                                // for IPv4 on little-endian hosts; from then on in host order, 0x0800
    LowBit low_bit = LowBit::dropped_by_ports;
    bool icmp = true; // 5.5 (58deb77cc52d): echo ids are hashed, and errors by the packet they report
    Dissector dissector = Dissector::v6_5;

    bool operator==(const Era&) const = default;
};

struct NamedEra {
    std::string_view
        name; // the first mainline release that hashes so; "4.14" stands for everything before 4.15
    Era era;
};

// In order of age; the last one is what current kernels do.
inline constexpr std::array<NamedEra, 6> eras{{
    {"4.14", {true, LowBit::kept, false, Dissector::classic}},
    {"4.15", {true, LowBit::dropped, false, Dissector::classic}},
    {"5.5", {true, LowBit::dropped, true, Dissector::classic}},
    {"5.15", {false, LowBit::dropped, true, Dissector::v5_15}},
    {"5.18", {false, LowBit::dropped_by_ports, true, Dissector::v5_15}},
    {"6.5", {false, LowBit::dropped_by_ports, true, Dissector::v6_5}},
}};

inline constexpr Era newest_era = eras.back().era;

// The era of mainline release `version` ("5.10", "6.12.3": what follows the second number is ignored), or of
// single traits separated by commas: "ethertype=raw|host", "low-bit=kept|dropped|dropped-by-ports",
// "icmp=on|off", "dissector=5.10|5.15|6.5"; a release may come first, and the traits then change it
// ("5.10,icmp=off"). Without one they change the newest era. Usage error for anything else.
Result<Era> parse_era(std::string_view text);

// The name when the era has one, else the traits, in the form that parse_era reads.
std::string to_text(const Era& era);

// How an era was found.
enum class EraSource : std::uint8_t {
    probed,  // frames were sent through a bond of one's own, and the slaves they took leave no other
    assumed, // from the kernel's release alone: back-ports can make it wrong
    given,   // by the user, or by a document
};
// "probed", "assumed", "given".
std::string_view to_text(EraSource source);

struct EraFinding {
    Era era = newest_era;
    EraSource source = EraSource::assumed;
    std::string why; // of an assumed era: why it was not probed; may be empty
};

// What mainline kernels of `release` ("6.1.0-57-amd64") do; the newest era when it is no release.
EraFinding assume_era(std::string_view release, std::string why);

} // namespace bondtrace
