// SPDX-License-Identifier: GPL-2.0-or-later
// The packets that are timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bondtrace::bench {

struct Packet {
    std::string name;
    std::vector<std::uint8_t> bytes;
    std::uint32_t port_offset = 0; // of the source port; 0: it has none, and is one flow
};

// Frames of at least `size` bytes; checksums are not looked at by any program under test.
std::vector<Packet> make_packets(std::size_t size);

} // namespace bondtrace::bench
