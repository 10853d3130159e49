// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/units.h"

#include "user/base/text.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using std::chrono::nanoseconds;

constexpr std::array<std::string_view, 7> prefixes = {"", "k", "M", "G", "T", "P", "E"};

// Three significant digits without trailing zeros; `value` below 1000 after rounding.
std::string three_digits(double value) {
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (decimals > 0) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

// "1.5 M": the number and the SI prefix; what follows is the unit.
std::string scaled(double value) {
    std::size_t prefix = 0;
    while (value >= 999.5 && prefix + 1 < prefixes.size()) {
        value /= 1000;
        ++prefix;
    }
    return fmt::format("{} {}", three_digits(value), prefixes[prefix]);
}

struct DurationUnit {
    std::string_view name;
    double nanoseconds;
};
constexpr std::array duration_units = {
    DurationUnit{"", 1e9},     DurationUnit{"us", 1e3},   DurationUnit{"ms", 1e6},
    DurationUnit{"s", 1e9},    DurationUnit{"sec", 1e9},  DurationUnit{"m", 60e9},
    DurationUnit{"min", 60e9}, DurationUnit{"h", 3600e9}, DurationUnit{"d", 86400e9}};
constexpr double longest_duration = 366 * 86400e9;

tl::unexpected<Error> bad_duration(std::string_view text, std::string_view problem) {
    constexpr std::size_t shown = 40;
    const std::string quoted = shorten_end(sanitize(text), shown, "...");
    return fail(ErrorKind::usage, fmt::format("\"{}\" is not a duration: {}", quoted, problem),
                "write for example 10s, 500ms, 2m, 1h, or a plain number of seconds");
}

} // namespace

std::string format_bytes(std::uint64_t bytes) {
    if (bytes < 1000) return fmt::format("{} B", bytes);
    return scaled(static_cast<double>(bytes)) + "B";
}

std::string format_count(std::uint64_t count) {
    if (count < 100000) return fmt::format("{}", count);
    return scaled(static_cast<double>(count));
}

std::string format_bit_rate(double bits_per_second) {
    if (!std::isfinite(bits_per_second) || bits_per_second < 1) return "0 bit/s";
    return scaled(bits_per_second) + "bit/s";
}

std::string format_duration(nanoseconds duration) {
    const auto ns = static_cast<double>(duration.count());
    if (ns <= 0) return "0 s";
    if (ns < 999.5e3) return three_digits(ns / 1e3) + " us";
    if (ns < 999.5e6) return three_digits(ns / 1e6) + " ms";
    if (ns < 59.95e9) return three_digits(ns / 1e9) + " s";
    const auto two = [](std::uint64_t value, std::uint64_t per, std::string_view big,
                        std::string_view small) {
        std::string text = fmt::format("{} {}", value / per, big);
        if (value % per != 0) text += fmt::format(" {} {}", value % per, small);
        return text;
    };
    const auto seconds = static_cast<std::uint64_t>(std::llround(ns / 1e9));
    if (seconds < 3600) return two(seconds, 60, "min", "s");
    if (seconds < 86400) return two(seconds / 60, 60, "h", "min");
    return two(seconds / 3600, 24, "d", "h");
}

std::string format_percent(std::uint64_t part, std::uint64_t whole) {
    if (part == whole) return "100 %";
    const double percent = static_cast<double>(part) / static_cast<double>(whole) * 100;
    if (percent > 99 && percent < 101) {
        // Away from 100, so that a single packet too few or too many is seen.
        const double hundredths = part < whole ? std::floor(percent * 100) : std::ceil(percent * 100);
        const double limit = part < whole ? std::fmin(hundredths, 9999) : std::fmax(hundredths, 10001);
        return fmt::format("{:.2f} %", limit / 100);
    }
    if (part > 0 && percent < 0.05) return "<0.1 %";
    if (percent < 10) return fmt::format("{} %", three_digits(std::round(percent * 10) / 10));
    return fmt::format("{:.0f} %", percent);
}

Result<nanoseconds> parse_duration(std::string_view text) {
    const auto digits_end = text.find_first_not_of("0123456789.");
    const std::string_view number = text.substr(0, digits_end);
    std::string_view unit =
        digits_end == std::string_view::npos ? std::string_view{} : text.substr(digits_end);
    if (text.empty()) return bad_duration(text, "it is empty");
    if (text.front() == '-') return bad_duration(text, "it is negative");
    if (number.empty()) return bad_duration(text, "it does not begin with a number");
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc{} || end != number.data() + number.size())
        return bad_duration(
            text, fmt::format("\"{}\" is not a number", shorten_end(std::string(number), 20, "...")));
    if (unit.starts_with(' ')) unit.remove_prefix(1);
    for (const DurationUnit& known : duration_units) {
        if (known.name != unit) continue;
        if (value * known.nanoseconds > longest_duration)
            return bad_duration(text, "it is longer than 366 days");
        return nanoseconds(std::llround(value * known.nanoseconds));
    }
    return bad_duration(text, fmt::format("the unit \"{}\" is none of us, ms, s, m, h, d",
                                          shorten_end(sanitize(unit), 20, "...")));
}

} // namespace bondtrace
