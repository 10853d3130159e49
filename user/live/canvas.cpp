// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/canvas.h"

#include "user/base/text.h"

#include <algorithm>

namespace bondtrace {
namespace {

void append_utf8(std::string& text, char32_t symbol) {
    const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80 | ((symbol >> shift) & 0x3f)); };
    if (symbol < 0x80) {
        text += static_cast<char>(symbol);
    } else if (symbol < 0x800) {
        text += static_cast<char>(0xc0 | symbol >> 6);
        tail(0);
    } else if (symbol < 0x10000) {
        text += static_cast<char>(0xe0 | symbol >> 12);
        tail(6);
        tail(0);
    } else {
        text += static_cast<char>(0xf0 | symbol >> 18);
        tail(12);
        tail(6);
        tail(0);
    }
}

} // namespace

Hue slave_hue(std::size_t position) {
    constexpr std::size_t hues = 8;
    return static_cast<Hue>(static_cast<std::size_t>(Hue::slave0) + position % hues);
}

std::string utf8(char32_t symbol) {
    std::string text;
    append_utf8(text, symbol);
    return text;
}

std::size_t display_width(const Pieces& pieces) {
    std::size_t width = 0;
    for (const Piece& piece : pieces)
        width += display_width(piece.text);
    return width;
}

std::size_t Canvas::put(std::size_t x, std::size_t y, std::string_view text, Style style, std::size_t end) {
    end = std::min(end, width_);
    if (y >= height_) return x;
    while (!text.empty()) {
        const CodePoint point = first_code_point(text);
        const std::size_t width = display_width(text.substr(0, point.length));
        text.remove_prefix(point.length);
        if (width == 0) continue;
        if (x >= end) break;
        if (x + width > end) {
            cells_[y * width_ + x++] = {U' ', style};
            break;
        }
        cells_[y * width_ + x++] = {point.value, style};
        if (width == 2) cells_[y * width_ + x++] = {0, style};
    }
    return x;
}

std::size_t Canvas::put(std::size_t x, std::size_t y, const Pieces& pieces, std::size_t end) {
    for (const Piece& piece : pieces)
        x = put(x, y, piece.text, piece.style, end);
    return x;
}

void Canvas::fill(std::size_t x, std::size_t y, std::size_t width, std::size_t height, Style style) {
    for (std::size_t row = y; row < std::min(y + height, height_); ++row)
        for (std::size_t column = x; column < std::min(x + width, width_); ++column)
            cells_[row * width_ + column] = {U' ', style};
}

void Canvas::restyle(std::size_t x, std::size_t y, std::size_t width, Style style) {
    if (y >= height_) return;
    for (std::size_t column = x; column < std::min(x + width, width_); ++column) {
        Style& old = cells_[y * width_ + column].style;
        const Hue hue = style.hue == Hue::plain ? old.hue : style.hue;
        old = style;
        old.hue = hue;
    }
}

std::string Canvas::line(std::size_t y) const {
    std::string text;
    for (std::size_t x = 0; x < width_; ++x)
        if (const char32_t symbol = at(x, y).symbol; symbol != 0) append_utf8(text, symbol);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

std::string Canvas::text() const {
    std::string text;
    for (std::size_t y = 0; y < height_; ++y)
        text += line(y) + '\n';
    return text;
}

} // namespace bondtrace
