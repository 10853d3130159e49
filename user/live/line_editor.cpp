// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/line_editor.h"

#include "user/base/text.h"
#include "user/flow/filter.h"
#include "user/live/canvas.h"

#include <algorithm>

namespace bondtrace {
namespace {

void append_symbol(std::string& text, std::size_t& cursor, char32_t symbol) {
    const std::string bytes = utf8(symbol);
    if (text.size() + bytes.size() > max_filter_length) return;
    text.insert(cursor, bytes);
    cursor += bytes.size();
}

std::size_t previous_character(const std::string& text, std::size_t cursor) {
    if (cursor == 0) return 0;
    --cursor;
    while (cursor > 0 && (static_cast<unsigned char>(text[cursor]) & 0xc0) == 0x80)
        --cursor;
    return cursor;
}

std::size_t next_character(const std::string& text, std::size_t cursor) {
    if (cursor >= text.size()) return text.size();
    return cursor + first_code_point(std::string_view(text).substr(cursor)).length;
}

} // namespace

bool is_control(const Key& key, char letter) {
    return key.code == Key::Code::character && key.symbol == static_cast<char32_t>(letter - 'A' + 1);
}

void edit_line(std::string& text, std::size_t& cursor, const Key& key) {
    switch (key.code) {
    case Key::Code::left:
        cursor = previous_character(text, cursor);
        return;
    case Key::Code::right:
        cursor = next_character(text, cursor);
        return;
    case Key::Code::home:
        cursor = 0;
        return;
    case Key::Code::end:
        cursor = text.size();
        return;
    case Key::Code::backspace: {
        const std::size_t from = previous_character(text, cursor);
        text.erase(from, cursor - from);
        cursor = from;
        return;
    }
    case Key::Code::erase:
        text.erase(cursor, next_character(text, cursor) - cursor);
        return;
    case Key::Code::character:
        break;
    default:
        return;
    }
    if (is_control(key, 'U')) {
        text.erase(0, cursor);
        cursor = 0;
    } else if (is_control(key, 'A')) {
        cursor = 0;
    } else if (is_control(key, 'E')) {
        cursor = text.size();
    } else if (is_control(key, 'K')) {
        text.erase(cursor);
    } else if (is_control(key, 'W')) {
        const std::size_t word_end = text.find_last_not_of(' ', cursor == 0 ? 0 : cursor - 1);
        const std::size_t blank = word_end == std::string::npos ? word_end : text.find_last_of(' ', word_end);
        const std::size_t from = blank == std::string::npos ? 0 : std::min(blank + 1, cursor);
        text.erase(from, cursor - from);
        cursor = from;
    } else if (key.symbol >= 0x20 && key.symbol != 0x7f) {
        append_symbol(text, cursor, key.symbol);
    }
}

} // namespace bondtrace
