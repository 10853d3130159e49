// SPDX-License-Identifier: GPL-2.0-or-later
// A line that is typed, with the keys of a shell. Pure.
#pragma once

#include "user/live/ui_state.h"

#include <cstddef>
#include <string>

namespace bondtrace {

// Ctrl and a letter, 'A' to 'Z'.
bool is_control(const Key& key, char letter);

// What a key does to the text: characters, the cursor's keys, Backspace, Delete, Ctrl-A, -E, -K, -U, -W.
// `cursor` is in bytes, at the beginning of a character. The text stays within max_filter_length.
void edit_line(std::string& text, std::size_t& cursor, const Key& key);

} // namespace bondtrace
