// SPDX-License-Identifier: GPL-2.0-or-later
// Messages on a TCP connection: each a length of four bytes (big-endian), then that much JSON. Nothing that
// the peer sends makes it hold more than one message of max_message_size.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"
#include "user/traffic/control_message.h"
#include "user/traffic/frame_reader.h"

#include <chrono>
#include <optional>
#include <string>

namespace bondtrace::traffic {

class ControlChannel {
  public:
    // Takes over a connected stream socket, whose greeting has passed; `peer` is for messages.
    ControlChannel(Fd socket, std::string peer);

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const std::string& peer() const { return peer_; }

    // Fails when the peer does not take it within `timeout`.
    Result<void> send(const Message& message, std::chrono::milliseconds timeout);

    // The next message, if there is one now; reads what has come, at most one message ahead. Fails for good
    // when the connection has ended or says nonsense.
    Result<std::optional<Message>> poll_message();

    // Waits for the next message. `stop` ends the wait with nullopt when it becomes readable (-1: nothing
    // does); no message within `timeout` is an error.
    Result<std::optional<Message>> wait(std::chrono::milliseconds timeout, int stop);

  private:
    Fd fd_;
    std::string peer_;
    FrameReader frames_;
};

} // namespace bondtrace::traffic
