// SPDX-License-Identifier: GPL-2.0-or-later
// Long texts in pieces: what is written is handed on before the rest is made.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace bondtrace {

// Takes the next piece of a text; false when nobody reads it any more.
using TextSink = std::function<bool(const std::string&)>;

// Gathers a text and hands it on whenever there is enough of it.
class TextPieces {
  public:
    static constexpr std::size_t enough = std::size_t{64} * 1024; // bytes: a pipe's worth

    explicit TextPieces(TextSink sink) : sink_(std::move(sink)) {}

    // What comes next is appended here.
    [[nodiscard]] std::string& text() { return text_; }

    // To be called now and then: hands on what there is, if it is enough. False when nobody reads it.
    bool pass() { return text_.size() < enough ? reading_ : finish(); }
    // Hands on the rest.
    bool finish() {
        reading_ = reading_ && (text_.empty() || sink_(text_));
        text_.clear();
        return reading_;
    }

  private:
    TextSink sink_;
    std::string text_;
    bool reading_ = true;
};

} // namespace bondtrace
