// SPDX-License-Identifier: GPL-2.0-or-later
// Memory for sendmmsg and recvmmsg, used over and over, so that it stays in the cache.
#pragma once

#include "user/traffic/data_header.h"
#include "user/traffic/mapped_buffer.h"
#include "user/traffic/socket_address.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

namespace bondtrace::traffic {

// Where a datagram came from, and to which of this host's addresses.
struct DatagramEnds {
    SocketAddress remote;
    std::optional<in_pktinfo> local4;
    std::optional<in6_pktinfo> local6; // also of IPv4 on an IPv6 socket, as a mapped address
};

// A batch of datagrams received.
class ReceiveBatch {
  public:
    // Up to `count` messages of `size` bytes each are held; what is longer is cut (its true length is told).
    ReceiveBatch(std::size_t count, std::size_t size);

    // What is there, without waiting: the number of messages, or a negative errno.
    int receive(int fd);
    [[nodiscard]] std::size_t capacity() const { return messages_.size(); }

    [[nodiscard]] std::span<const std::uint8_t> bytes(std::size_t message) const; // that are held
    [[nodiscard]] std::size_t length(std::size_t message) const;                  // true one
    // Of each datagram in the message, when the kernel has joined several of a flow (UDP_GRO); else 0.
    [[nodiscard]] std::size_t segment(std::size_t message) const;
    [[nodiscard]] DatagramEnds ends(std::size_t message) const;

  private:
    static constexpr std::size_t control_size = 128;

    std::size_t size_;
    MappedBuffer memory_;
    std::vector<mmsghdr> messages_;
    std::vector<iovec> parts_;
    std::vector<SocketAddress> names_;
    std::vector<std::uint64_t> control_; // aligned as cmsghdr wants it
};

// A batch of datagrams of one flow to be sent: the headers are its own, the payload is constant.
class SendBatch {
  public:
    // `segments` datagrams of `length` bytes in each of `count` messages; more than one means UDP_SEGMENT.
    SendBatch(std::size_t count, std::size_t segments, std::size_t length);

    [[nodiscard]] std::size_t capacity() const { return messages_.size(); } // messages
    [[nodiscard]] std::size_t segments() const { return segments_; }        // datagrams of a full message

    // Writes the headers of `datagrams` datagrams, numbered from `header.sequence`; the number of messages
    // that carry them.
    std::size_t fill(DatagramHeader header, std::size_t datagrams);
    // Where they go; nullptr on a connected socket.
    void address(const DatagramEnds* ends);
    // Sends `messages` without waiting: the number that was sent, or a negative errno.
    int send(int fd, std::size_t messages);
    // Datagrams in the first `messages` messages of what was filled.
    [[nodiscard]] std::size_t datagrams(std::size_t messages) const;

  private:
    std::size_t segments_, length_, filled_ = 0;
    MappedBuffer memory_;
    std::vector<mmsghdr> messages_;
    std::vector<iovec> parts_;
    SocketAddress name_;
    std::vector<std::uint64_t> control_;
    std::size_t control_length_ = 0;
};

// One datagram, now; to `ends`, or to where the socket is connected. A positive errno, or 0.
int send_datagram(int fd, std::span<const std::uint8_t> bytes, const DatagramEnds* ends);

} // namespace bondtrace::traffic
