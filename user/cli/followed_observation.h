// SPDX-License-Identifier: GPL-2.0-or-later
// An observation that follows its bonds on a thread of its own, while the caller does something else.
#pragma once

#include "user/base/fd.h"
#include "user/trace/observation.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bondtrace {

class FollowedObservation {
  public:
    // As Observation::start(). Needs its privileges; what comes after needs those of drop_privileges().
    static Result<std::unique_ptr<FollowedObservation>>
    start(const NetNs& netns, const std::vector<std::string>& names, TraceConfig config);
    ~FollowedObservation();
    FollowedObservation(const FollowedObservation&) = delete;
    FollowedObservation& operator=(const FollowedObservation&) = delete;

    // Begins to follow. Privileges are those of threads: give up what is not needed before.
    void follow();
    // Stops following and counting. Once.
    Result<Observed> finish();
    [[nodiscard]] const Observation& observation() const { return observation_; }

  private:
    FollowedObservation(Observation observation, Fd stop)
        : observation_(std::move(observation)), stop_(std::move(stop)) {}
    void run();
    void end();

    Observation observation_;
    Fd stop_;
    Result<void> followed_;
    std::thread thread_;
};

} // namespace bondtrace
