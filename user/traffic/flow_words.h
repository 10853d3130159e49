// SPDX-License-Identifier: GPL-2.0-or-later
// Why flows failed, in the user's words: asks the kernel for the way to the peer where that explains more.
#pragma once

#include "user/traffic/failure_words.h"
#include "user/traffic/flow_socket.h"
#include "user/traffic/options.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bondtrace::traffic {

class FlowWords {
  public:
    // `flow` as it was to be opened, in the network namespace of the calling thread.
    FailureWords explain(const SocketFailure& failure, const FlowAddress& flow, const TestOptions& options);

    // The findings among the explanations so far, each id once.
    [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

  private:
    // A thousand flows that fail in the same way ask once.
    struct Known {
        PeerPath path;
        std::uint64_t until_ns = 0;
    };
    std::map<IpAddress, Known> paths_;
    std::vector<Finding> findings_;
};

} // namespace bondtrace::traffic
