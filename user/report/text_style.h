// SPDX-License-Identifier: GPL-2.0-or-later
// What all text output shares: the options, the symbols, the colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bondtrace {

struct TextOptions {
    unsigned width = 0;  // columns of the terminal; 0: not a terminal
    bool ascii = false;  // no character beyond ASCII
    bool colour = false; // SGR sequences
};

// SGR parameters.
namespace sgr {
inline constexpr std::string_view none = "", bold = "1", dim = "2", alarm = "1;38;5;166";
}

class TextStyle {
  public:
    explicit TextStyle(const TextOptions& options);

    std::string_view sends, receives, arrow, moves_to, ellipsis, yes, no, nothing;

    // Columns to fill at most: the terminal's, within reason.
    [[nodiscard]] std::size_t width() const { return width_; }
    // A string from outside, harmless and in the character set that is allowed.
    [[nodiscard]] std::string clean(std::string_view text) const;
    // `text` in the given SGR parameters when colours are on.
    [[nodiscard]] std::string paint(std::string_view text, std::string_view parameters) const;
    // The colour of a bond's n-th slave, repeating after eight.
    [[nodiscard]] static std::string_view slave_colour(std::size_t position);
    // Breaks a line between words so that it fits; lines after the first begin with `indent` blanks. Ends in
    // a newline.
    [[nodiscard]] std::string wrap(std::string_view text, std::size_t indent) const;

  private:
    std::size_t width_;
    bool ascii_, colour_;
};

} // namespace bondtrace
