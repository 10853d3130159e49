// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/port_choice.h"

#include "user/base/text.h"

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>

#include <fmt/format.h>

namespace bondtrace::traffic {
namespace {

constexpr std::size_t most_addresses = 4096;
constexpr std::size_t largest_file = 1U << 20U;
constexpr std::string_view choices =
    "random, sequential, sequential:STEP, even, kernel, balanced, "
    "reach:SLAVE, ports such as 40000,41000-41009, or a file with such a list";

std::optional<std::uint16_t> parse_number(std::string_view text) {
    std::uint16_t number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size())
        return std::nullopt;
    return number;
}

struct PortRange {
    std::uint16_t low = 0, high = 0, step = 1;
};

// PORT, LOW-HIGH or LOW-HIGH:STEP.
std::optional<PortRange> parse_range(std::string_view text) {
    const auto colon = text.find(':');
    const auto dash = text.find('-');
    const auto low = parse_number(text.substr(0, std::min(dash, colon)));
    if (!low || *low == 0) return std::nullopt;
    if (dash == std::string_view::npos)
        return colon == std::string_view::npos ? std::optional(PortRange{*low, *low, 1}) : std::nullopt;
    if (colon != std::string_view::npos && colon < dash) return std::nullopt;
    const auto high =
        parse_number(text.substr(dash + 1, colon == std::string_view::npos ? colon : colon - dash - 1));
    const auto step = colon == std::string_view::npos ? std::optional<std::uint16_t>(1)
                                                      : parse_number(text.substr(colon + 1));
    if (!high || !step || *step == 0 || *high < *low) return std::nullopt;
    return PortRange{*low, *high, *step};
}

} // namespace

Result<std::vector<std::uint16_t>> parse_port_list(std::string_view text, std::string_view source) {
    std::vector<std::uint16_t> ports;
    std::bitset<65536> seen;
    const bool lines = text.substr(0, text.find_last_not_of('\n') + 1).find('\n') != std::string_view::npos;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view rest = text.substr(0, end);
        text = text.substr(std::min(end + 1, text.size()));
        rest = rest.substr(0, rest.find('#'));
        const std::string where = lines ? fmt::format("{}: line {}", source, line) : std::string(source);
        constexpr std::string_view separators = ", \t\r";
        while (!rest.empty()) {
            const auto begin = rest.find_first_not_of(separators);
            if (begin == std::string_view::npos) break;
            rest = rest.substr(begin);
            const std::string_view word = rest.substr(0, rest.find_first_of(separators));
            rest = rest.substr(word.size());
            const auto range = parse_range(word);
            if (!range)
                return fail(ErrorKind::usage,
                            fmt::format("{}: \"{}\" is no port and no range of ports", where,
                                        sanitize(shorten_end(word, 40, "..."))),
                            "a port is 1 to 65535; a range 40000-40009, or 40000-41000:4 for each fourth");
            for (std::uint32_t port = range->low; port <= range->high; port += range->step) {
                if (seen.test(port))
                    return fail(ErrorKind::usage, fmt::format("{}: port {} stands there twice", where, port),
                                "two flows between the same addresses need two ports");
                seen.set(port);
                ports.push_back(static_cast<std::uint16_t>(port));
            }
        }
    }
    if (ports.empty()) return fail(ErrorKind::usage, fmt::format("{}: there is no port in it", source));
    return ports;
}

Result<PortChoice> parse_port_choice(std::string_view text, const FileReader& read) {
    PortChoice choice;
    constexpr std::string_view sequential = "sequential:", reach = "reach:";
    if (text.empty()) return fail(ErrorKind::usage, "--ports is empty", std::string(choices));
    if (text == "kernel") return choice;
    if (text == "random" || text == "even" || text == "sequential" || text == "balanced") {
        choice.pattern = text == "random"       ? PortPattern::random
                         : text == "even"       ? PortPattern::even
                         : text == "sequential" ? PortPattern::sequential
                                                : PortPattern::balanced;
        return choice;
    }
    if (text.starts_with(sequential)) {
        const auto step = parse_number(text.substr(sequential.size()));
        if (!step || *step == 0)
            return fail(ErrorKind::usage,
                        fmt::format("--ports: \"{}\" is no step from port to port",
                                    sanitize(text.substr(sequential.size()))),
                        "sequential:STEP with a step of 1 to 65535");
        choice.pattern = PortPattern::sequential;
        choice.step = *step;
        return choice;
    }
    if (text.starts_with(reach)) {
        choice.pattern = PortPattern::reach;
        choice.slave = text.substr(reach.size());
        if (choice.slave.empty())
            return fail(ErrorKind::usage, "--ports: reach: needs the name of a slave", "reach:eth1");
        return choice;
    }
    choice.pattern = PortPattern::list;
    std::string content(text), source = "--ports";
    if (text.front() < '0' || text.front() > '9') {
        source = fmt::format("--ports {}", sanitize(text));
        auto file = read(std::string(text));
        if (!file)
            return fail(ErrorKind::usage, file.error().what,
                        file.error().advice.empty() ? fmt::format("--ports takes {}", choices)
                                                    : file.error().advice);
        content = std::move(*file);
    }
    auto list = parse_port_list(content, source);
    if (!list) return tl::make_unexpected(list.error());
    choice.list = std::move(*list);
    return choice;
}

Result<std::string> read_port_file(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string content(largest_file + 1, '\0');
    if (file) file.read(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file && !file.eof())
        return fail_errno(errno != 0 ? errno : EIO, fmt::format("reading the ports in {}", sanitize(path)),
                          {}, ErrorKind::usage);
    content.resize(static_cast<std::size_t>(file.gcount()));
    if (content.size() > largest_file)
        return fail(ErrorKind::usage,
                    fmt::format("{} is larger than 1 MiB: it is no list of ports", sanitize(path)));
    return content;
}

Result<std::vector<IpAddress>> parse_address_list(std::string_view option, std::string_view text) {
    std::vector<IpAddress> addresses;
    while (true) {
        const std::string_view word = text.substr(0, text.find(','));
        const auto address = parse_ip(word);
        if (!address)
            return fail(
                ErrorKind::usage,
                fmt::format("{}: \"{}\" is no IP address", option, sanitize(shorten_end(word, 50, "..."))),
                "addresses, separated by commas: 10.0.0.1,10.0.0.2");
        if (std::find(addresses.begin(), addresses.end(), *address) != addresses.end())
            return fail(ErrorKind::usage,
                        fmt::format("{}: {} stands there twice", option, bondtrace::to_text(*address)));
        addresses.push_back(*address);
        if (addresses.size() > most_addresses)
            return fail(ErrorKind::usage, fmt::format("{}: more than {} addresses", option, most_addresses));
        if (word.size() == text.size()) return addresses;
        text = text.substr(word.size() + 1);
    }
}

std::string to_text(const PortChoice& choice) {
    switch (choice.pattern) {
    case PortPattern::kernel:
        return "kernel";
    case PortPattern::random:
        return "random";
    case PortPattern::sequential:
        return choice.step == 1 ? "sequential" : fmt::format("sequential:{}", choice.step);
    case PortPattern::even:
        return "even";
    case PortPattern::list:
        return fmt::format("{} port{} listed", choice.list.size(), choice.list.size() == 1 ? "" : "s");
    case PortPattern::balanced:
        return "balanced";
    case PortPattern::reach:
        return "reach:" + choice.slave;
    }
    return "?";
}

} // namespace bondtrace::traffic
