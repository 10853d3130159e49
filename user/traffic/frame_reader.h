// SPDX-License-Identifier: GPL-2.0-or-later
// Messages as bytes of a stream: each a length of four bytes (big-endian), then that much JSON. Pure.
#pragma once

#include "user/base/result.h"
#include "user/traffic/control_message.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bondtrace::traffic {

// Takes complete messages out of a stream of bytes. Pure.
class FrameReader {
  public:
    // Bytes as they came.
    void feed(std::string_view bytes);
    // The next message, if all of it is there; an error is final.
    Result<std::optional<Message>> next();
    // Bytes that are held.
    [[nodiscard]] std::size_t size() const { return buffer_.size() - start_; }

  private:
    std::string buffer_;
    std::size_t start_ = 0;
};

// The bytes that carry `message`.
std::string frame(const Message& message);

} // namespace bondtrace::traffic
