// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/whatif/capture.h"

#include "user/hash/wire.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <pcap/pcap.h>

namespace bondtrace {
namespace {

constexpr std::uint64_t packets_between_reports = 1U << 16U;

struct CloseCapture {
    void operator()(pcap_t* capture) const { pcap_close(capture); }
};

std::optional<LinkType> link_type(int datalink) {
    switch (datalink) {
    case DLT_EN10MB:
        return LinkType::ethernet;
    case DLT_LINUX_SLL:
        return LinkType::linux_cooked;
    case DLT_LINUX_SLL2:
        return LinkType::linux_cooked2;
    case DLT_RAW:
    case DLT_IPV4:
    case DLT_IPV6:
        return LinkType::raw_ip;
    default:
        return std::nullopt;
    }
}

double to_seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// What dispatch() hands around; C callbacks take one pointer.
struct Reading {
    const std::function<void(const CapturedPacket&)>& use;
    LinkType link;
    CaptureCount count;
    double first = 0, last = 0;
};

void on_packet(u_char* context, const pcap_pkthdr* header, const u_char* bytes) {
    auto& reading = *reinterpret_cast<Reading*>(context);
    const double time = to_seconds(header->ts);
    if (reading.count.packets++ == 0) reading.first = reading.last = time;
    reading.first = std::min(reading.first, time);
    reading.last = std::max(reading.last, time);
    reading.use({{bytes, header->caplen}, std::max(header->len, header->caplen), reading.link});
}

} // namespace

Result<std::FILE*> open_capture(const std::string& path) {
    if (path == "-") return stdin;
    std::FILE* const file = std::fopen(path.c_str(), "rbe");
    if (!file) return fail_errno(errno, fmt::format("opening {}", path), {}, ErrorKind::usage);
    return file;
}

Result<CaptureCount> read_capture(std::FILE* file, const std::string& name,
                                  const std::function<void(const CapturedPacket&)>& use,
                                  const std::function<bool(std::uint64_t)>& progress) {
    // Many packets a system call, and still in a core's own cache when they are taken out. A buffer of a file
    // that is larger than stdio's is used as long as the file is open.
    constexpr std::size_t buffer_size = std::size_t{1} << 18U;
    std::vector<char> buffer(buffer_size);
    if (file != stdin) (void)std::setvbuf(file, buffer.data(), _IOFBF, buffer.size());
    std::array<char, PCAP_ERRBUF_SIZE> error{};
    const std::unique_ptr<pcap_t, CloseCapture> capture(pcap_fopen_offline(file, error.data()));
    if (!capture) {
        if (file != stdin) (void)std::fclose(file); // nothing was written
        return fail(ErrorKind::usage, fmt::format("{} is no capture: {}", name, error.data()),
                    "pcap and pcapng are read, as tcpdump and Wireshark write them");
    }
    const int datalink = pcap_datalink(capture.get());
    const auto link = link_type(datalink);
    if (!link) {
        const char* const known = pcap_datalink_val_to_name(datalink);
        return fail(
            ErrorKind::usage,
            fmt::format("{} is a capture of link type {}", name, known ? known : std::to_string(datalink)),
            "Ethernet, Linux cooked (tcpdump -i any) and raw IP are read");
    }
    Reading reading{use, *link, {}, 0, 0};
    for (;;) {
        const int done = pcap_dispatch(capture.get(), static_cast<int>(packets_between_reports), on_packet,
                                       reinterpret_cast<u_char*>(&reading));
        reading.count.seconds = reading.last - reading.first;
        if (done == 0) return reading.count;
        if (done < 0) {
            // The only error that a capture which was interrupted, or is still being written, has.
            reading.count.truncated = std::strstr(pcap_geterr(capture.get()), "truncated") != nullptr;
            if (reading.count.truncated) return reading.count;
            return fail(ErrorKind::unavailable,
                        fmt::format("reading {} after {} packets: {}", name, reading.count.packets,
                                    pcap_geterr(capture.get())));
        }
        const auto position = std::ftell(pcap_file(capture.get()));
        if (progress && !progress(position < 0 ? 0 : static_cast<std::uint64_t>(position))) {
            reading.count.stopped = true;
            return reading.count;
        }
    }
}

bool is_from(const CapturedPacket& packet, const SenderFilter& sender) {
    const Wire wire(packet.bytes);
    std::size_t network = 0, mac = 0;
    std::uint16_t type = 0;
    bool has_mac = false;
    switch (packet.link) {
    case LinkType::ethernet:
        if (!wire.has(0, ethernet_header)) return false;
        mac = 6;
        has_mac = true;
        network = ethernet_header;
        type = wire.be16(12);
        break;
    case LinkType::linux_cooked:
        if (!wire.has(0, 16)) return false;
        mac = 6;
        has_mac = wire.be16(4) == 6;
        network = 16;
        type = wire.be16(14);
        break;
    case LinkType::linux_cooked2:
        if (!wire.has(0, 20)) return false;
        mac = 12;
        has_mac = wire.u8(11) == 6;
        network = 20;
        type = wire.be16(0);
        break;
    case LinkType::raw_ip:
        if (!wire.has(0, 1)) return false;
        type = wire.u8(0) >> 4U == 6 ? ethertype::ipv6 : ethertype::ipv4;
        break;
    }
    if (const auto* wanted = std::get_if<MacAddress>(&sender)) {
        MacAddress source{};
        if (!has_mac) return false;
        wire.copy(source.data(), mac, source.size());
        return source == *wanted;
    }
    while (ethertype::is_vlan(type) && wire.has(network, vlan_header)) {
        type = wire.be16(network + 2);
        network += vlan_header;
    }
    IpAddress source;
    if (type == ethertype::ipv4 && wire.has(network, ipv4_header)) {
        wire.copy(source.bytes.data(), network + 12, 4);
    } else if (type == ethertype::ipv6 && wire.has(network, ipv6_header)) {
        source.v6 = true;
        wire.copy(source.bytes.data(), network + 8, 16);
    } else {
        return false;
    }
    return std::get<IpPrefix>(sender).contains(source);
}

} // namespace bondtrace
