// SPDX-License-Identifier: GPL-2.0-or-later
// A netlink socket: opening, sending, and receiving only what the kernel sent.
#pragma once

#include "user/base/result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct mnl_socket;

namespace bondtrace {

class NetlinkSocket {
  public:
    enum class Wait { block, never };
    enum class Protocol { route, generic };

    // One datagram, valid until the next receive(). At most one of the flags is set, and then there are no
    // bytes.
    struct Datagram {
        std::span<const std::byte> bytes;
        bool nothing = false;  // Wait::never, and there is none
        bool overflow = false; // ENOBUFS: the kernel dropped datagrams for want of room
    };

    // Opens the socket in the network namespace of the calling thread, in the multicast groups of the mask
    // `groups` (RTMGRP_*). A blocking receive() gives up after `timeout`.
    static Result<NetlinkSocket> open(std::uint32_t groups, Wait wait, std::chrono::seconds timeout,
                                      Protocol protocol = Protocol::route);

    [[nodiscard]] int fd() const;
    // The socket's own address, which answers to it carry.
    [[nodiscard]] std::uint32_t port() const;
    Result<void> send(std::span<const std::byte> message);
    Result<Datagram> receive();

  private:
    struct Close {
        void operator()(mnl_socket* socket) const;
    };
    NetlinkSocket(mnl_socket* socket, Wait wait, std::chrono::seconds timeout);

    std::unique_ptr<mnl_socket, Close> socket_;
    Wait wait_;
    std::chrono::seconds timeout_;
    std::vector<std::byte> buffer_;
};

} // namespace bondtrace
