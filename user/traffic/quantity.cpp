// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/quantity.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace bondtrace::traffic {
namespace {

// A number with a prefix, of which powers of 1024 are only taken with `binary`.
std::optional<double> parse(std::string_view text, bool binary) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
    std::string_view prefix(rest, static_cast<std::size_t>(end - rest));
    if (prefix.empty()) return value;
    constexpr std::string_view prefixes = "kMGT";
    const char letter = prefix[0] == 'K' ? 'k' : prefix[0] == 'm' ? 'M' : prefix[0] == 'g' ? 'G' : prefix[0];
    const auto power = prefixes.find(letter);
    if (power == std::string_view::npos) return std::nullopt;
    prefix.remove_prefix(1);
    const bool by_1024 = binary && prefix == "i";
    if (!prefix.empty() && !by_1024) return std::nullopt;
    return value * std::pow(by_1024 ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

} // namespace

Result<std::uint64_t> parse_amount(std::string_view option, std::string_view text, std::uint64_t most) {
    const auto value = parse(text, true);
    if (value && *value <= static_cast<double>(most)) return static_cast<std::uint64_t>(std::llround(*value));
    return fail(ErrorKind::usage, fmt::format("{}: \"{}\" is no amount from 0 to {}", option, text, most),
                "write it like 1500, 64k (64000) or 64Ki (65536)");
}

Result<double> parse_rate(std::string_view option, std::string_view text) {
    constexpr double most = 1e13;
    std::string_view number = text;
    for (const std::string_view unit : {"bit/s", "bps"})
        if (number.ends_with(unit)) number.remove_suffix(unit.size());
    const auto value = parse(number, false);
    if (value && *value > 0 && *value <= most) return *value;
    return fail(ErrorKind::usage, fmt::format("{}: \"{}\" is no rate up to 10 Tbit/s", option, text),
                "write bits per second like 100M or 9.5G");
}

} // namespace bondtrace::traffic
