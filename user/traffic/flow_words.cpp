// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/flow_words.h"

#include "user/base/result.h"

#include <fmt/format.h>

namespace bondtrace::traffic {

std::string failure_text(const SocketFailure& failure, const FlowAddress&, const TestOptions&) {
    return fmt::format("{}: {}", failure.step, errno_text(failure.error));
}

} // namespace bondtrace::traffic
