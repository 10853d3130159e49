// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/text.h"

#include <algorithm>
#include <array>
#include <vector>

namespace bondtrace {
namespace {

constexpr char32_t replacement = 0xfffd;

struct Range {
    char32_t first, last;
};

template<std::size_t N> bool is_in(const std::array<Range, N>& ranges, char32_t value) {
    const auto* range = std::lower_bound(ranges.begin(), ranges.end(), value,
                                         [](const Range& r, char32_t v) { return r.last < v; });
    return range != ranges.end() && range->first <= value;
}

// The blocks of East_Asian_Width W and F (Unicode 15, EastAsianWidth.txt), gaps of unassigned code points
// closed.
constexpr std::array wide = {
    Range{0x1100, 0x115f},   Range{0x231a, 0x231b},   Range{0x2329, 0x232a},   Range{0x23e9, 0x23ec},
    Range{0x23f0, 0x23f0},   Range{0x23f3, 0x23f3},   Range{0x25fd, 0x25fe},   Range{0x2614, 0x2615},
    Range{0x2648, 0x2653},   Range{0x267f, 0x267f},   Range{0x2693, 0x2693},   Range{0x26a1, 0x26a1},
    Range{0x26aa, 0x26ab},   Range{0x26bd, 0x26be},   Range{0x26c4, 0x26c5},   Range{0x26ce, 0x26ce},
    Range{0x26d4, 0x26d4},   Range{0x26ea, 0x26ea},   Range{0x26f2, 0x26f3},   Range{0x26f5, 0x26f5},
    Range{0x26fa, 0x26fa},   Range{0x26fd, 0x26fd},   Range{0x2705, 0x2705},   Range{0x270a, 0x270b},
    Range{0x2728, 0x2728},   Range{0x274c, 0x274c},   Range{0x274e, 0x274e},   Range{0x2753, 0x2755},
    Range{0x2757, 0x2757},   Range{0x2795, 0x2797},   Range{0x27b0, 0x27b0},   Range{0x27bf, 0x27bf},
    Range{0x2b1b, 0x2b1c},   Range{0x2b50, 0x2b50},   Range{0x2b55, 0x2b55},   Range{0x2e80, 0x303e},
    Range{0x3041, 0x33ff},   Range{0x3400, 0x4dbf},   Range{0x4e00, 0xa4c6},   Range{0xa960, 0xa97c},
    Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe10, 0xfe19},   Range{0xfe30, 0xfe6b},
    Range{0xff01, 0xff60},   Range{0xffe0, 0xffe6},   Range{0x16fe0, 0x18d08}, Range{0x1aff0, 0x1b2fb},
    Range{0x1f004, 0x1f004}, Range{0x1f0cf, 0x1f0cf}, Range{0x1f18e, 0x1f18e}, Range{0x1f191, 0x1f19a},
    Range{0x1f200, 0x1f320}, Range{0x1f32d, 0x1f335}, Range{0x1f337, 0x1f37c}, Range{0x1f37e, 0x1f393},
    Range{0x1f3a0, 0x1f3ca}, Range{0x1f3cf, 0x1f3d3}, Range{0x1f3e0, 0x1f3f0}, Range{0x1f3f4, 0x1f3f4},
    Range{0x1f3f8, 0x1f43e}, Range{0x1f440, 0x1f440}, Range{0x1f442, 0x1f4fc}, Range{0x1f4ff, 0x1f53d},
    Range{0x1f54b, 0x1f54e}, Range{0x1f550, 0x1f567}, Range{0x1f57a, 0x1f57a}, Range{0x1f595, 0x1f596},
    Range{0x1f5a4, 0x1f5a4}, Range{0x1f5fb, 0x1f64f}, Range{0x1f680, 0x1f6c5}, Range{0x1f6cc, 0x1f6cc},
    Range{0x1f6d0, 0x1f6d2}, Range{0x1f6d5, 0x1f6d7}, Range{0x1f6dc, 0x1f6df}, Range{0x1f6eb, 0x1f6ec},
    Range{0x1f6f4, 0x1f6fc}, Range{0x1f7e0, 0x1f7f0}, Range{0x1f90c, 0x1f93a}, Range{0x1f93c, 0x1f945},
    Range{0x1f947, 0x1f9ff}, Range{0x1fa70, 0x1faf8}, Range{0x20000, 0x2fffd}, Range{0x30000, 0x3fffd}};

// Nonspacing marks of the scripts that names are likely to be in, and the zero-width characters.
constexpr std::array zero_width = {
    Range{0x0300, 0x036f}, Range{0x0483, 0x0489}, Range{0x0591, 0x05bd},  Range{0x05bf, 0x05bf},
    Range{0x05c1, 0x05c2}, Range{0x05c4, 0x05c5}, Range{0x0610, 0x061a},  Range{0x064b, 0x065f},
    Range{0x0670, 0x0670}, Range{0x06d6, 0x06dc}, Range{0x0900, 0x0902},  Range{0x093c, 0x093c},
    Range{0x0941, 0x0948}, Range{0x094d, 0x094d}, Range{0x0e31, 0x0e31},  Range{0x0e34, 0x0e3a},
    Range{0x0e47, 0x0e4e}, Range{0x1160, 0x11ff}, Range{0x1ab0, 0x1aff},  Range{0x1dc0, 0x1dff},
    Range{0x200b, 0x200d}, Range{0x20d0, 0x20f0}, Range{0x302a, 0x302d},  Range{0x3099, 0x309a},
    Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f}, Range{0xe0100, 0xe01ef}};

// What a terminal obeys, or what reorders or hides the text around it.
constexpr std::array harmful = {Range{0x0000, 0x001f},  Range{0x007f, 0x009f}, Range{0x00ad, 0x00ad},
                                Range{0x061c, 0x061c},  Range{0x200b, 0x200f}, Range{0x2028, 0x202e},
                                Range{0x2060, 0x206f},  Range{0xfeff, 0xfeff}, Range{0xfff9, 0xfffb},
                                Range{0xe0000, 0xe007f}};

std::size_t width_of(char32_t value) {
    if (value < 0x300) return 1;
    if (is_in(zero_width, value)) return 0;
    return is_in(wide, value) ? 2 : 1;
}

// Bytes of the longest prefix that is at most `width` columns wide, marks of the last character included.
std::size_t prefix_bytes(std::string_view text, std::size_t width) {
    std::size_t bytes = 0, columns = 0;
    while (bytes < text.size()) {
        const CodePoint next = first_code_point(text.substr(bytes));
        columns += width_of(next.value);
        if (columns > width) break;
        bytes += next.length;
    }
    return bytes;
}

// Where the longest suffix of at most `width` columns begins.
std::size_t suffix_start(std::string_view text, std::size_t width) {
    std::size_t start = 0, remaining = display_width(text);
    while (start < text.size()) {
        const CodePoint next = first_code_point(text.substr(start));
        // A mark belongs to the character before it, which has just gone.
        if (remaining <= width && width_of(next.value) > 0) break;
        remaining -= width_of(next.value);
        start += next.length;
    }
    return start;
}

} // namespace

CodePoint first_code_point(std::string_view text) {
    const auto byte = [text](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return {first, 1};
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return {replacement, 1};
    char32_t value = first & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {replacement, 1};
        value = (value << 6) | (byte(i) & 0x3f);
    }
    const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    if (overlong || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {replacement, 1};
    return {value, length};
}

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        width += width_of(next.value);
        text.remove_prefix(next.length);
    }
    return width;
}

namespace {

template<typename Keep> std::string filtered(std::string_view text, std::string_view substitute, Keep keep) {
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        const bool malformed = next.value == replacement && next.length == 1;
        if (!malformed && keep(next.value))
            result += text.substr(0, next.length);
        else
            result += substitute;
        text.remove_prefix(next.length);
    }
    return result;
}

} // namespace

std::string sanitize(std::string_view text) {
    return filtered(text, "?", [](char32_t value) { return !is_in(harmful, value); });
}

std::string sanitize_ascii(std::string_view text) {
    return filtered(text, "?", [](char32_t value) { return value >= 0x20 && value < 0x7f; });
}

std::string valid_utf8(std::string_view text) {
    return filtered(text, "\xef\xbf\xbd", [](char32_t) { return true; });
}

std::string shorten_end(std::string_view text, std::size_t width, std::string_view ellipsis) {
    if (display_width(text) <= width) return std::string(text);
    const std::size_t mark = display_width(ellipsis);
    if (mark >= width) return std::string(ellipsis.substr(0, prefix_bytes(ellipsis, width)));
    return std::string(text.substr(0, prefix_bytes(text, width - mark))) + std::string(ellipsis);
}

std::string shorten_middle(std::string_view text, std::size_t width, std::string_view ellipsis) {
    if (display_width(text) <= width) return std::string(text);
    const std::size_t mark = display_width(ellipsis);
    if (mark >= width) return std::string(ellipsis.substr(0, prefix_bytes(ellipsis, width)));
    const std::size_t left = (width - mark + 1) / 2;
    return std::string(text.substr(0, prefix_bytes(text, left))) + std::string(ellipsis) +
           std::string(text.substr(suffix_start(text, width - mark - left)));
}

} // namespace bondtrace
