// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/used_ports.h"

#include "user/hash/wire.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// In a helper's namespace; /proc/thread-self/net is that of the thread.
constexpr const char* tables = "/proc/thread-self/net/";
constexpr const char* reserved = "/proc/sys/net/ipv4/ip_local_reserved_ports";
constexpr const char* range_file = "/proc/sys/net/ipv4/ip_local_port_range";

std::vector<const char*> tables_of(std::uint8_t protocol) {
    switch (protocol) {
    case ipproto::tcp:
        return {"tcp", "tcp6"};
    case ipproto::udp:
        return {"udp", "udp6"};
    case ipproto::udplite:
        return {"udplite", "udplite6"};
    default:
        return {};
    }
}

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::uint16_t> parse_port(std::string_view text, int base) {
    std::uint16_t port = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), port, base);
    if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size())
        return std::nullopt;
    return port;
}

} // namespace

void add_used_ports(std::string_view table, PortSet& ports) {
    // "   0: 0100007F:0277 00000000:0000 0A ..."
    while (!table.empty()) {
        const auto end = std::min(table.find('\n'), table.size());
        const std::string_view line = table.substr(0, end);
        table = table.substr(std::min(end + 1, table.size()));
        const auto number_end = line.find(": ");
        if (number_end == std::string_view::npos) continue;
        const std::string_view address =
            line.substr(number_end + 2, line.find(' ', number_end + 2) - number_end - 2);
        const auto colon = address.rfind(':');
        if (colon == std::string_view::npos) continue;
        if (const auto port = parse_port(address.substr(colon + 1), 16)) ports.set(*port);
    }
}

void add_reserved_ports(std::string_view list, PortSet& ports) {
    while (!list.empty()) {
        const auto end = std::min(list.find_first_of(",\n"), list.size());
        const std::string_view part = list.substr(0, end);
        list = list.substr(std::min(end + 1, list.size()));
        const auto dash = part.find('-');
        const auto low = parse_port(part.substr(0, dash), 10);
        const auto high = dash == std::string_view::npos ? low : parse_port(part.substr(dash + 1), 10);
        if (!low || !high) continue;
        for (std::uint32_t port = *low; port <= *high; ++port)
            ports.set(port);
    }
}

Result<PortSet> used_ports(const NetNs& netns, std::uint8_t protocol) {
    return run_in(netns, [protocol]() -> Result<PortSet> {
        PortSet ports;
        for (const char* name : tables_of(protocol)) {
            const std::string path = std::string(tables) + name;
            const auto table = read_file(path);
            const bool v6 = std::string_view(name).ends_with('6');
            if (!table && !v6) // a kernel may be without IPv6, not without these
                return fail_errno(errno, fmt::format("reading the sockets in {}", path), "is /proc mounted?");
            if (table) add_used_ports(*table, ports);
        }
        if (const auto list = read_file(reserved)) add_reserved_ports(*list, ports);
        return ports;
    });
}

std::pair<std::uint16_t, std::uint16_t> ephemeral_ports(const NetNs& netns) {
    constexpr std::pair<std::uint16_t, std::uint16_t> by_default{32768, 60999};
    const auto range = run_in(netns, []() -> Result<std::pair<std::uint16_t, std::uint16_t>> {
        const auto text = read_file(range_file);
        std::uint16_t low = 0, high = 0;
        if (text && std::istringstream(*text) >> low >> high && low <= high) return std::pair{low, high};
        return fail(ErrorKind::unavailable, "the range of ephemeral ports cannot be read");
    });
    return range.value_or(by_default);
}

} // namespace bondtrace
