// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/capture_writer.h"

namespace bondtrace::test {
namespace {

constexpr std::uint32_t snap_length = 262144;

std::uint32_t padded(std::size_t size) {
    return static_cast<std::uint32_t>((size + 3U) & ~std::size_t{3});
}

} // namespace

CaptureWriter::CaptureWriter(std::uint32_t link, CaptureFormat format) : format_(format) {
    if (format == CaptureFormat::pcapng) {
        u32(0x0a0d0d0a); // section header block
        u32(28);
        u32(0x1a2b3c4d);
        u16(1);
        u16(0);
        u32(0xffffffff); // section length: not stated
        u32(0xffffffff);
        u32(28);
        u32(1); // interface description block
        u32(20);
        u16(link);
        u16(0);
        u32(snap_length);
        u32(20);
        return;
    }
    u32(0xa1b2c3d4);
    u16(2);
    u16(4);
    u32(0);
    u32(0);
    u32(snap_length);
    u32(link);
}

void CaptureWriter::add(std::span<const std::uint8_t> captured, std::uint32_t length,
                        std::uint64_t microseconds) {
    const auto size = static_cast<std::uint32_t>(captured.size());
    if (length == 0) length = size;
    constexpr std::uint64_t million = 1'000'000;
    if (format_ == CaptureFormat::pcapng) {
        const std::uint32_t total = 32 + padded(size);
        u32(6); // enhanced packet block
        u32(total);
        u32(0);
        u32(static_cast<std::uint32_t>(microseconds >> 32U));
        u32(static_cast<std::uint32_t>(microseconds));
        u32(size);
        u32(length);
        raw(captured);
        bytes_.resize(bytes_.size() + padded(size) - size);
        u32(total);
        return;
    }
    u32(static_cast<std::uint32_t>(microseconds / million));
    u32(static_cast<std::uint32_t>(microseconds % million));
    u32(size);
    u32(length);
    raw(captured);
}

void CaptureWriter::u16(std::uint32_t value) {
    const auto low = static_cast<std::uint8_t>(value), high = static_cast<std::uint8_t>(value >> 8U);
    if (format_ == CaptureFormat::pcap_big_endian)
        bytes_.insert(bytes_.end(), {high, low});
    else
        bytes_.insert(bytes_.end(), {low, high});
}

void CaptureWriter::u32(std::uint32_t value) {
    if (format_ == CaptureFormat::pcap_big_endian) {
        u16(value >> 16U);
        u16(value);
    } else {
        u16(value);
        u16(value >> 16U);
    }
}

void CaptureWriter::raw(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

} // namespace bondtrace::test
