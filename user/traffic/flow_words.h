// SPDX-License-Identifier: GPL-2.0-or-later
// Why a flow failed, in the user's words.
#pragma once

#include "user/traffic/flow_socket.h"
#include "user/traffic/options.h"

#include <string>

namespace bondtrace::traffic {

// "connect: nothing listens there: Connection refused (ECONNREFUSED)". `flow` as it was to be opened.
std::string failure_text(const SocketFailure& failure, const FlowAddress& flow, const TestOptions& options);

} // namespace bondtrace::traffic
