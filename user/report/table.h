// SPDX-License-Identifier: GPL-2.0-or-later
// A table of text whose columns are as wide as what is in them, and can be left out.
#pragma once

#include "user/report/text_style.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// A cell is a few pieces of text, each in a colour of its own.
struct Span {
    std::string text;
    std::string_view colour = sgr::none;
};
using Cell = std::vector<Span>;

std::size_t display_width(const Cell& cell);

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
    std::size_t gap = 2; // blanks before it, unless it is the first
};

class Table {
  public:
    explicit Table(std::vector<Column> columns);

    // As many cells as columns.
    void add_row(std::vector<Cell> cells);
    // Replaces every cell of a column by what `make(row)` gives.
    template<typename Make> void refill(std::size_t column, Make make) {
        for (std::size_t row = 0; row < rows_.size(); ++row)
            rows_[row][column] = make(row);
        measure(column);
    }

    void drop(std::size_t column) { columns_[column].shown = false; }
    // Drops a column in which every cell is empty.
    void drop_if_empty(std::size_t column);

    [[nodiscard]] std::size_t rows() const { return rows_.size(); }
    [[nodiscard]] bool shows(std::size_t column) const { return columns_[column].shown; }
    [[nodiscard]] std::size_t column_width(std::size_t column) const { return columns_[column].width; }
    // Of a whole line, without an indent.
    [[nodiscard]] std::size_t width() const;

    // The title line and the rows, each ending in a newline, without blanks at the end.
    [[nodiscard]] std::string render(const TextStyle& style, std::size_t indent) const;

  private:
    struct State {
        Column column;
        std::size_t width = 0;
        bool shown = true;
    };

    void measure(std::size_t column);
    void render_line(std::string& text, const std::vector<Cell>& cells, const TextStyle& style,
                     std::size_t indent) const;

    std::vector<State> columns_;
    std::vector<std::vector<Cell>> rows_;
};

} // namespace bondtrace
