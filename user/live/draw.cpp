// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/draw.h"

#include "user/base/text.h"
#include "user/base/units.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace bondtrace {
namespace {

std::string without(std::string text, std::string_view unit) {
    if (text.ends_with(unit)) text.resize(text.size() - unit.size());
    while (text.ends_with(' '))
        text.pop_back();
    return text;
}

// format_count() and format_bit_rate() round to three digits, which is all that a column has room for.
std::string three_digits(double value) {
    return without(format_bit_rate(value), "bit/s");
}

} // namespace

std::string clean(std::string_view text, const Symbols& symbols) {
    return symbols.ascii ? sanitize_ascii(text) : sanitize(text);
}

std::string short_rate(const Rate& rate, bool bytes) {
    return three_digits(bytes ? rate.bytes : rate.bytes * 8);
}

std::string rate_words(const Rate& rate, bool bytes) {
    return bytes ? format_bytes(static_cast<std::uint64_t>(std::min(rate.bytes, 1e18))) + "/s"
                 : format_bit_rate(rate.bytes * 8);
}

std::string short_count(double count) {
    if (count > 0 && count < 1) return fmt::format("{:.1f}", std::max(count, 0.1));
    return three_digits(std::round(count * 10) / 10);
}

std::string short_age(std::uint64_t ns) {
    const std::uint64_t seconds = ns / 1'000'000'000;
    if (seconds < 60) return fmt::format("{} s", seconds);
    if (seconds < 3600) return fmt::format("{} min", seconds / 60);
    if (seconds < 86400) return fmt::format("{} h", seconds / 3600);
    return fmt::format("{} d", seconds / 86400);
}

std::string short_share(double share) {
    const double percent = share * 100;
    if (share >= 1) return "100%";
    if (percent > 0 && percent < 0.5) return "<1%";
    return fmt::format("{}%", std::min(std::lround(percent), 99L));
}

std::string coverage_words(double coverage) {
    constexpr double parts = 1e6;
    return format_percent(static_cast<std::uint64_t>(std::lround(std::min(coverage, 10.0) * parts)),
                          static_cast<std::uint64_t>(parts));
}

Pieces share_bar(double share, double low, double high, Hue hue, std::size_t width, const Symbols& symbols) {
    constexpr std::size_t eighths = 8;
    const auto full = static_cast<double>(width * eighths);
    const auto filled = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * full));
    const bool band = low > 0 || high < 1;
    const auto cell_of = [&](double value) {
        const auto cell = static_cast<std::size_t>(value * static_cast<double>(width));
        return std::min(cell, width > 0 ? width - 1 : 0);
    };
    Pieces pieces;
    for (std::size_t cell = 0; cell < width; ++cell) {
        const std::size_t here =
            filled <= cell * eighths ? 0 : std::min<std::size_t>(filled - cell * eighths, eighths);
        const bool tick = band && (cell == cell_of(low) || cell == cell_of(high));
        Style style{.hue = hue};
        std::string_view symbol = symbols.bar[here];
        if (tick) {
            symbol = symbols.tick;
            // On the filled part the tick is cut out of it.
            style = here == eighths ? Style{.hue = hue, .reverse = true} : quiet;
        }
        if (!pieces.empty() && pieces.back().style == style)
            pieces.back().text += symbol;
        else
            pieces.push_back({std::string(symbol), style});
    }
    return pieces;
}

std::string sparkline(std::span<const double> values, double top, const Symbols& symbols) {
    std::string text;
    for (const double value : values) {
        std::size_t level = 0;
        if (value > 0 && top > 0)
            level = std::clamp<std::size_t>(
                static_cast<std::size_t>(std::lround(std::min(value / top, 1.0) * 8)), 1, 8);
        text += symbols.spark[level];
    }
    return text;
}

void draw_heading(Canvas& canvas, std::size_t y, const Pieces& pieces) {
    constexpr Style bar{.hue = Hue::bar};
    canvas.fill(0, y, canvas.width(), 1, bar);
    canvas.put(1, y, pieces);
}

} // namespace bondtrace
