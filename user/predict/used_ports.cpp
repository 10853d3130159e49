// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/used_ports.h"

#include "user/predict/socket_table.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

namespace bondtrace {
namespace {

constexpr const char* reserved = "/proc/sys/net/ipv4/ip_local_reserved_ports";
constexpr const char* range_file = "/proc/sys/net/ipv4/ip_local_port_range";

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), port);
    if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size())
        return std::nullopt;
    return port;
}

} // namespace

void add_reserved_ports(std::string_view list, PortSet& ports) {
    while (!list.empty()) {
        const auto end = std::min(list.find_first_of(",\n"), list.size());
        const std::string_view part = list.substr(0, end);
        list = list.substr(std::min(end + 1, list.size()));
        const auto dash = part.find('-');
        const auto low = parse_port(part.substr(0, dash));
        const auto high = dash == std::string_view::npos ? low : parse_port(part.substr(dash + 1));
        if (!low || !high) continue;
        for (std::uint32_t port = *low; port <= *high; ++port)
            ports.set(port);
    }
}

Result<PortSet> used_ports(const NetNs& netns, std::uint8_t protocol) {
    PortSet ports;
    const auto sockets = read_sockets(netns, protocol);
    if (!sockets) return tl::make_unexpected(sockets.error());
    for (const HostSocket& socket : *sockets)
        ports.set(socket.local_port);
    return run_in(netns, [&ports]() -> Result<PortSet> {
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
