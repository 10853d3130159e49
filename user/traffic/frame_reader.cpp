// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/frame_reader.h"

#include <cstdint>
#include <cstring>

#include <endian.h>
#include <fmt/format.h>

namespace bondtrace::traffic {
namespace {

constexpr std::size_t length_size = 4;

} // namespace

std::string frame(const Message& message) {
    const std::string text = encode(message);
    const std::uint32_t length = htobe32(static_cast<std::uint32_t>(text.size()));
    std::string bytes(length_size, '\0');
    std::memcpy(bytes.data(), &length, length_size);
    return bytes + text;
}

void FrameReader::feed(std::string_view bytes) {
    if (start_ != 0) { // what has been taken is let go before the buffer grows
        buffer_.erase(0, start_);
        start_ = 0;
    }
    buffer_.append(bytes);
}

Result<std::optional<Message>> FrameReader::next() {
    if (size() < length_size) return std::nullopt;
    std::uint32_t length = 0;
    std::memcpy(&length, buffer_.data() + start_, length_size);
    length = be32toh(length);
    if (length > max_message_size)
        return fail(ErrorKind::unavailable,
                    fmt::format("the other end announces a message of {} bytes; {} are the most", length,
                                max_message_size),
                    "is it bondtrace that answers there?");
    if (size() < length_size + length) return std::nullopt;
    auto message = decode(std::string_view(buffer_).substr(start_ + length_size, length));
    if (!message) return tl::make_unexpected(message.error());
    start_ += length_size + length;
    return std::optional<Message>(std::move(*message));
}

} // namespace bondtrace::traffic
