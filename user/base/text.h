// SPDX-License-Identifier: GPL-2.0-or-later
// Text for terminals: UTF-8 that is valid, harmless and of known width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bondtrace {

// One code point at the front of `text`, which must not be empty. Malformed bytes give U+FFFD and length 1.
struct CodePoint {
    char32_t value = 0;
    std::size_t length = 0; // bytes
};
CodePoint first_code_point(std::string_view text);

// Columns that `text` takes on a terminal: 2 for wide East Asian characters and emoji, 0 for combining marks.
std::size_t display_width(std::string_view text);

// Valid UTF-8 without control characters, line separators and direction marks: each becomes '?'. For every
// string that comes from outside (interface names are free text) before it reaches a terminal.
std::string sanitize(std::string_view text);

// The same, and every character beyond ASCII becomes '?'.
std::string sanitize_ascii(std::string_view text);

// Malformed UTF-8 becomes U+FFFD; everything else stays.
std::string valid_utf8(std::string_view text);

// At most `width` columns; what is cut from the end, or from the middle, leaves `ellipsis` behind. A `width`
// smaller than the ellipsis gives as much of the ellipsis as fits.
std::string shorten_end(std::string_view text, std::size_t width, std::string_view ellipsis);
std::string shorten_middle(std::string_view text, std::size_t width, std::string_view ellipsis);

} // namespace bondtrace
