// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/table.h"

#include "user/base/text.h"

#include <algorithm>

namespace bondtrace {

std::size_t display_width(const Cell& cell) {
    std::size_t width = 0;
    for (const Span& span : cell)
        width += display_width(span.text);
    return width;
}

Table::Table(std::vector<Column> columns) {
    columns_.reserve(columns.size());
    for (Column& column : columns) {
        const std::size_t width = display_width(column.title);
        columns_.push_back({std::move(column), width});
    }
}

void Table::add_row(std::vector<Cell> cells) {
    cells.resize(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i)
        columns_[i].width = std::max(columns_[i].width, display_width(cells[i]));
    rows_.push_back(std::move(cells));
}

void Table::measure(std::size_t column) {
    std::size_t width = display_width(columns_[column].column.title);
    for (const auto& row : rows_)
        width = std::max(width, display_width(row[column]));
    columns_[column].width = width;
}

void Table::drop_if_empty(std::size_t column) {
    const bool empty = std::all_of(rows_.begin(), rows_.end(),
                                   [&](const auto& row) { return display_width(row[column]) == 0; });
    if (empty) drop(column);
}

std::size_t Table::width() const {
    std::size_t total = 0;
    bool first = true;
    for (const State& state : columns_) {
        if (!state.shown) continue;
        total += state.width + (first ? 0 : state.column.gap);
        first = false;
    }
    return total;
}

std::string Table::render(const TextStyle& style, std::size_t indent) const {
    std::string text;
    std::vector<Cell> titles;
    titles.reserve(columns_.size());
    for (const State& state : columns_)
        titles.push_back({{state.column.title, sgr::bold}});
    render_line(text, titles, style, indent);
    for (const auto& row : rows_)
        render_line(text, row, style, indent);
    return text;
}

void Table::render_line(std::string& text, const std::vector<Cell>& cells, const TextStyle& style,
                        std::size_t indent) const {
    std::size_t blanks = indent; // owed, so that none are left at the end
    bool first = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const State& state = columns_[i];
        if (!state.shown) continue;
        const std::size_t padding = state.width - display_width(cells[i]);
        blanks += first ? 0 : state.column.gap;
        first = false;
        if (state.column.align == Align::right) blanks += padding;
        if (display_width(cells[i]) > 0) {
            text.append(blanks, ' ');
            blanks = 0;
            for (const Span& span : cells[i])
                text += style.paint(span.text, span.colour);
        }
        if (state.column.align == Align::left) blanks += padding;
    }
    text += '\n';
}

} // namespace bondtrace
