// SPDX-License-Identifier: GPL-2.0-or-later
// Capture files in memory, byte by byte after their specifications, so that the reader is not tested by its
// own library.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bondtrace::test {

// LINKTYPE_* of https://www.tcpdump.org/linktypes.html
inline constexpr std::uint32_t link_ethernet = 1, link_raw = 101, link_cooked = 113, link_cooked2 = 276;

enum class CaptureFormat : std::uint8_t { pcap, pcap_big_endian, pcapng };

// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-03.html and draft-ietf-opsawg-pcapng-03: the pcapng
// has one section, one interface, and enhanced packet blocks with microseconds.
class CaptureWriter {
  public:
    explicit CaptureWriter(std::uint32_t link, CaptureFormat format = CaptureFormat::pcap);

    // `length` of the whole packet; 0: as long as what was captured.
    void add(std::span<const std::uint8_t> captured, std::uint32_t length = 0,
             std::uint64_t microseconds = 0);

    [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  private:
    void u16(std::uint32_t value);
    void u32(std::uint32_t value);
    void raw(std::span<const std::uint8_t> bytes);

    CaptureFormat format_;
    std::vector<std::uint8_t> bytes_;
};

} // namespace bondtrace::test
