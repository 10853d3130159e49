// SPDX-License-Identifier: GPL-2.0-or-later
// Packets out of capture files, by libpcap: pcap and pcapng.
#pragma once

#include "user/base/address.h"
#include "user/base/result.h"
#include "user/whatif/packet.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace bondtrace {

struct CaptureCount {
    std::uint64_t packets = 0;
    double seconds = 0;     // from the first packet to the last
    bool truncated = false; // the file ends within a packet
    bool stopped = false;   // `progress` said so
};

// Opens a capture; "-" is standard input. Usage error for a file that is none.
Result<std::FILE*> open_capture(const std::string& path);

// Calls `use` for every packet of the capture, and `progress` (which may be empty) with the bytes read so far
// every now and then; reading ends when that returns false. Takes `file` over. A file that ends within a
// packet gives what was before; fails for anything else that is damaged, and for a link type that is not
// known.
Result<CaptureCount> read_capture(std::FILE* file, const std::string& name,
                                  const std::function<void(const CapturedPacket&)>& use,
                                  const std::function<bool(std::uint64_t)>& progress);

// A sender: an IP prefix, or a MAC address.
using SenderFilter = std::variant<IpPrefix, MacAddress>;

// Whether the packet's outermost source is that; false where the capture does not show it.
bool is_from(const CapturedPacket& packet, const SenderFilter& sender);

} // namespace bondtrace
