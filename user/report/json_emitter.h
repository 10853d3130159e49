// SPDX-License-Identifier: GPL-2.0-or-later
// JSON for what a document has a million of: appended to a text value by value, where a tree of objects would
// cost ten times the time. The text is the same, byte for byte, as dump() of json_parts.h makes of the tree.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace bondtrace {

class JsonEmitter {
  public:
    // Appends to `text`.
    explicit JsonEmitter(std::string& text) : text_(text) {}

    // The next member's name, which must be plain: letters, digits, '_'. Its value is what is emitted next.
    JsonEmitter& name(std::string_view name);
    // Lists and objects; commas come by themselves.
    JsonEmitter& open(char bracket);
    JsonEmitter& close(char bracket);

    void null() { raw("null"); }
    void value(std::nullptr_t) { null(); }
    void value(std::same_as<bool> auto truth) { raw(truth ? "true" : "false"); }
    void value(std::integral auto number) requires(!std::same_as<decltype(number), bool>) {
        const fmt::format_int digits(number);
        raw({digits.data(), digits.size()});
    }
    // NaN and infinity are null.
    void value(double number);
    // Malformed UTF-8 becomes U+FFFD.
    void value(std::string_view text);
    void value(const char* text) { value(std::string_view(text)); }
    void value(const std::string& text) { value(std::string_view(text)); }
    template<typename Value> void value(const std::optional<Value>& maybe) {
        if (maybe)
            value(*maybe);
        else
            null();
    }

    template<typename Value> JsonEmitter& member(std::string_view member_name, const Value& of_it) {
        name(member_name).value(of_it);
        return *this;
    }

  private:
    void separate();
    void raw(std::string_view text);

    std::string& text_;
};

} // namespace bondtrace
