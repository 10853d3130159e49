// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/text_style.h"

#include "user/base/text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace bondtrace {
namespace {

// Wide enough for everything but long IPv6 addresses; files and pipes have no width of their own.
constexpr unsigned width_without_terminal = 160;
// Below this nothing sensible can be laid out: lines are as wide as this, and the terminal breaks them.
constexpr unsigned least_width = 64;

// The palette of Okabe and Ito ("Color Universal Design", 2008) without its black and with a grey, in the
// nearest colours of the 256-colour cube: orange, sky blue, bluish green, reddish purple, yellow, vermillion,
// blue, grey.
constexpr std::array<std::string_view, 8> slave_colours = {"38;5;214", "38;5;74",  "38;5;36", "38;5;175",
                                                           "38;5;227", "38;5;166", "38;5;32", "38;5;145"};

} // namespace

TextStyle::TextStyle(const TextOptions& options)
    : width_(std::max(options.width == 0 ? width_without_terminal : options.width, least_width)),
      ascii_(options.ascii), colour_(options.colour) {
    if (ascii_) {
        sends = ">", receives = "<", arrow = "->", moves_to = ">", ellipsis = "*";
        yes = "yes", no = "NO", nothing = "-";
    } else {
        sends = "→", receives = "←", arrow = "→", moves_to = "→", ellipsis = "…";
        yes = "✓", no = "✗", nothing = "–";
    }
}

std::string TextStyle::clean(std::string_view text) const {
    return ascii_ ? sanitize_ascii(text) : sanitize(text);
}

std::string TextStyle::paint(std::string_view text, std::string_view parameters) const {
    if (!colour_ || parameters.empty() || text.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", parameters, text);
}

std::string_view TextStyle::slave_colour(std::size_t position) {
    return slave_colours[position % slave_colours.size()];
}

std::string TextStyle::wrap(std::string_view text, std::size_t indent) const {
    std::string result;
    std::size_t column = 0;
    bool line_empty = true;
    while (!text.empty()) {
        // Runs of blanks separate columns on purpose; they stay with the word before them.
        const std::size_t word_end = std::min(text.find(' '), text.size());
        const std::size_t next = std::min(text.find_first_not_of(' ', word_end), text.size());
        const std::string_view word = text.substr(0, word_end);
        if (!line_empty && column + display_width(word) > width_) {
            result.erase(result.find_last_not_of(' ') + 1);
            result += '\n' + std::string(indent, ' ');
            column = indent;
        }
        result += text.substr(0, next);
        column += display_width(text.substr(0, next));
        line_empty = false;
        text.remove_prefix(next);
    }
    result.erase(result.find_last_not_of(' ') + 1);
    return result + '\n';
}

} // namespace bondtrace
