// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/json_emitter.h"

#include "user/base/text.h"
#include "user/report/json_parts.h"

#include <algorithm>
#include <cmath>

namespace bondtrace {
namespace {

// Stands in a JSON string as it is.
bool is_plain(char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

// How nlohmann writes a whole number in a double without an exponent.
constexpr double largest_plain = 1e15;

} // namespace

// Behind a value, and only there, a comma must come: behind what values end in.
void JsonEmitter::separate() {
    if (text_.empty()) return;
    const char last = text_.back();
    const bool behind_value = last == '"' || last == '}' || last == ']' || (last >= '0' && last <= '9') ||
                              (last >= 'a' && last <= 'z');
    if (behind_value) text_ += ',';
}

void JsonEmitter::raw(std::string_view text) {
    separate();
    text_ += text;
}

JsonEmitter& JsonEmitter::name(std::string_view name) {
    separate();
    text_ += '"';
    text_ += name;
    text_ += "\":";
    return *this;
}

JsonEmitter& JsonEmitter::open(char bracket) {
    separate();
    text_ += bracket;
    return *this;
}

JsonEmitter& JsonEmitter::close(char bracket) {
    text_ += bracket;
    return *this;
}

void JsonEmitter::value(double number) {
    if (!std::isfinite(number)) return null();
    // Most are whole: rates of nothing, above all. The shortest text of the others is nlohmann's art.
    if (number != std::floor(number) || std::signbit(number) || number >= largest_plain)
        return raw(dump(Json(number)));
    value(static_cast<std::uint64_t>(number));
    text_ += ".0";
}

void JsonEmitter::value(std::string_view text) {
    separate();
    if (!std::all_of(text.begin(), text.end(), is_plain)) {
        text_ += dump(Json(valid_utf8(text)));
        return;
    }
    text_ += '"';
    text_ += text;
    text_ += '"';
}

} // namespace bondtrace
