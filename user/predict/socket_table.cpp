// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/socket_table.h"

#include "user/hash/wire.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// In a helper's namespace; /proc/thread-self/net is that of the thread.
constexpr const char* tables = "/proc/thread-self/net/";

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

template<typename Number> std::optional<Number> parse_hex(std::string_view text) {
    Number number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size())
        return std::nullopt;
    return number;
}

// "0100007F" or 32 digits: words as this host loads them from the packet's bytes, each printed as a number.
std::optional<IpAddress> parse_words(std::string_view text) {
    constexpr std::size_t digits = 8;
    if (text.size() != digits && text.size() != 4 * digits) return std::nullopt;
    IpAddress ip;
    ip.v6 = text.size() != digits;
    for (std::size_t at = 0; at * digits < text.size(); ++at) {
        const auto word = parse_hex<std::uint32_t>(text.substr(at * digits, digits));
        if (!word) return std::nullopt;
        std::memcpy(ip.bytes.data() + 4 * at, &*word, sizeof(*word));
    }
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (!ip.v6 || !std::equal(mapped.begin(), mapped.end(), ip.bytes.begin())) return ip;
    IpAddress v4;
    std::copy_n(ip.bytes.begin() + mapped.size(), 4, v4.bytes.begin());
    return v4;
}

bool parse_end(std::string_view text, IpAddress& ip, std::uint16_t& port) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return false;
    const auto address = parse_words(text.substr(0, colon));
    const auto number = parse_hex<std::uint16_t>(text.substr(colon + 1));
    if (!address || !number) return false;
    ip = *address;
    port = *number;
    return true;
}

std::string_view next_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    return word;
}

} // namespace

void for_each_socket(std::string_view table, const std::function<void(const HostSocket&)>& use) {
    // "   0: 0100007F:0277 00000000:0000 0A ..."
    while (!table.empty()) {
        const auto end = std::min(table.find('\n'), table.size());
        std::string_view line = table.substr(0, end);
        table = table.substr(std::min(end + 1, table.size()));
        HostSocket socket;
        if (!next_word(line).ends_with(':')) continue;
        if (!parse_end(next_word(line), socket.local, socket.local_port)) continue;
        if (!parse_end(next_word(line), socket.remote, socket.remote_port)) continue;
        socket.state = parse_hex<std::uint8_t>(next_word(line)).value_or(0);
        use(socket);
    }
}

Result<std::vector<HostSocket>> read_sockets(const NetNs& netns, std::uint8_t protocol) {
    return run_in(netns, [protocol]() -> Result<std::vector<HostSocket>> {
        std::vector<HostSocket> sockets;
        for (const char* name : tables_of(protocol)) {
            const std::string path = std::string(tables) + name;
            errno = 0;
            std::ifstream file(path);
            const std::string table(std::istreambuf_iterator<char>(file), {});
            const bool v6 = std::string_view(name).ends_with('6');
            if (!file.is_open() && !v6) // a kernel may be without IPv6, not without these
                return fail_errno(errno, fmt::format("reading the sockets in {}", path), "is /proc mounted?");
            for_each_socket(table, [&](const HostSocket& socket) { sockets.push_back(socket); });
        }
        return sockets;
    });
}

} // namespace bondtrace
