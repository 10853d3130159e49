// SPDX-License-Identifier: GPL-2.0-or-later
// Fuzzes what a peer of the traffic generator can send: a stream of control messages, the greeting of a data
// flow, the header of a datagram. Whatever comes, reading it ends and holds no more than one message; an
// error says what is wrong without a control character; and what is accepted can be written again and means
// the same. The first byte says how many bytes come at a time.
#include "user/traffic/data_header.h"
#include "user/traffic/frame_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace bondtrace;
using namespace bondtrace::traffic;

void require(bool condition) {
    if (!condition) std::abort();
}

void check_message(const Message& message) {
    const std::string text = encode(message);
    const auto again = decode(text);
    // Text may grow by quoting, but not what has no text.
    if (!again) {
        require(text.size() > max_message_size);
        return;
    }
    require(again->index() == message.index() && encode(*again) == text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    if (const auto hello = decode_data_hello({data, size})) {
        const auto bytes = encode(*hello);
        require(std::equal(bytes.begin(), bytes.end(), data, data + size));
    }
    if (const auto header = decode_datagram({data, size})) {
        std::array<std::uint8_t, datagram_header_size> bytes{};
        encode(*header, bytes);
        require(std::equal(bytes.begin(), bytes.end(), data));
    }
    std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::size_t step = std::size_t{data[0]} + 1;
    FrameReader reader;
    while (!stream.empty()) {
        reader.feed(stream.substr(0, step));
        stream.remove_prefix(std::min(step, stream.size()));
        while (true) {
            const auto message = reader.next();
            if (!message) {
                const std::string& what = message.error().what;
                require(!what.empty() && std::all_of(what.begin(), what.end(), [](char c) {
                    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
                }));
                return 0;
            }
            if (!*message) break;
            check_message(**message);
        }
        require(reader.size() <= max_message_size + 4 + step);
    }
    return 0;
}
