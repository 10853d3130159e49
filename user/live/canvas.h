// SPDX-License-Identifier: GPL-2.0-or-later
// A screen as cells of text and style, drawn without a terminal. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// What a colour means; the terminal side knows which it is.
enum class Hue : std::uint8_t {
    plain,
    slave0, // the slaves' colours follow each other, see slave_hue()
    slave1,
    slave2,
    slave3,
    slave4,
    slave5,
    slave6,
    slave7,
    good,
    alarm,
    accent, // names of keys, what is selected
    quiet,  // what matters least
    bar,    // background of headings and of the status line
};
inline constexpr std::size_t hue_count = 14;
// Of a bond's n-th slave, repeating after eight.
Hue slave_hue(std::size_t position);

struct Style {
    Hue hue = Hue::plain;
    bool bold = false, reverse = false, underline = false;
    bool operator==(const Style&) const = default;
};

struct Glyph {
    char32_t symbol = U' '; // 0: covered by the wide character to its left
    Style style;
    bool operator==(const Glyph&) const = default;
};

// A piece of a line.
struct Piece {
    std::string text;
    Style style;
};
using Pieces = std::vector<Piece>;
std::size_t display_width(const Pieces& pieces);

// A character as UTF-8.
std::string utf8(char32_t symbol);

class Canvas {
  public:
    Canvas(std::size_t width, std::size_t height) : width_(width), height_(height), cells_(width * height) {}

    [[nodiscard]] std::size_t width() const { return width_; }
    [[nodiscard]] std::size_t height() const { return height_; }
    [[nodiscard]] const Glyph& at(std::size_t x, std::size_t y) const { return cells_[y * width_ + x]; }

    // Draws text from column x on, not beyond column `end` nor the screen; returns the column behind it.
    // Marks of no width are left out; a wide character that does not fit becomes a blank.
    std::size_t put(std::size_t x, std::size_t y, std::string_view text, Style style = {},
                    std::size_t end = ~std::size_t{0});
    std::size_t put(std::size_t x, std::size_t y, const Pieces& pieces, std::size_t end = ~std::size_t{0});
    // Blanks in that style.
    void fill(std::size_t x, std::size_t y, std::size_t width, std::size_t height, Style style = {});
    // Gives a part of a line another look, keeping hues where `style` has Hue::plain.
    void restyle(std::size_t x, std::size_t y, std::size_t width, Style style);

    // A line as UTF-8 without blanks at its end: for tests.
    [[nodiscard]] std::string line(std::size_t y) const;
    // All of them.
    [[nodiscard]] std::string text() const;

  private:
    std::size_t width_, height_;
    std::vector<Glyph> cells_;
};

} // namespace bondtrace
