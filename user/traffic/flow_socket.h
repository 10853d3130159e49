// SPDX-License-Identifier: GPL-2.0-or-later
// The sockets of data flows: made and set up as the options ask, and read out at the end.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"
#include "user/traffic/options.h"
#include "user/traffic/results.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bondtrace::traffic {

// What was being done when it went wrong.
enum class Step : std::uint8_t { open, bind, congestion, buffer, dscp, segment, connect, send, receive };

struct SocketFailure {
    Step step = Step::open;
    int error = 0; // positive errno
};

// A socket for `flow` with the options that must be set before it connects (congestion control, buffers,
// DSCP), bound as the flow asks. Not connected yet.
tl::expected<Fd, SocketFailure> open_flow_socket(const TestOptions& options, const FlowAddress& flow);

// The same options on a connection that was accepted; what the kernel refuses is answered.
std::optional<SocketFailure> set_accepted_options(const TestOptions& options, int fd);

// Sets what an open socket may be given at any time: the buffers that --window asks for (what was got is in
// results.h), and DSCP.
std::optional<SocketFailure> set_common_options(const TestOptions& options, bool v6, int fd);

// The local address and port of `fd` in force.
std::optional<std::pair<IpAddress, std::uint16_t>> local_of(int fd);

// SO_SNDBUF and SO_RCVBUF as the kernel reports them (twice what was asked for).
std::uint32_t send_buffer_of(int fd);
std::uint32_t receive_buffer_of(int fd);

// TCP_INFO of the moment.
struct TcpSample {
    std::uint32_t rtt_us = 0, min_rtt_us = 0, retransmits = 0, reordering = 0;
};
std::optional<TcpSample> tcp_sample(int fd);

// The congestion control in force; empty when it cannot be read.
std::string congestion_of(int fd);
// Whether a congestion control makes the kernel pace the socket by itself: BBR and what is derived from it.
bool paces(std::string_view congestion);

} // namespace bondtrace::traffic
