// SPDX-License-Identifier: GPL-2.0-or-later
// One io_uring, owned by the thread that opened it.
#pragma once

#include "user/base/result.h"
#include "user/traffic/features.h"

#include <chrono>
#include <cstdint>

#include <liburing.h>

namespace bondtrace::traffic {

class Ring {
  public:
    // A ring with room for `entries` submissions at a time and `completions` results (both rounded up to
    // powers of two, and cut to what the kernel allows). Takes the best set-up flags that the kernel has,
    // without those of `masked`. Everything else must be called by the same thread. Fails, saying what to do,
    // where io_uring is forbidden or missing.
    static Result<Ring> open(unsigned entries, unsigned completions, const FeatureSet& masked);

    Ring(Ring&& other) noexcept;
    Ring& operator=(Ring&& other) = delete;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring();

    [[nodiscard]] const FeatureSet& features() const { return features_; }

    // Room for one more submission; submits what is waiting when there is none.
    io_uring_sqe* prepare(std::uint64_t user_data);

    // Submits, and waits until there is a completion, or until `timeout` has passed (zero: does not wait).
    // Answers 0, or a positive errno that is neither a timeout nor a signal.
    int submit_and_wait(std::chrono::nanoseconds timeout);

    // Calls `handle(user_data, result, flags)` for each completion that is there now; those that come
    // meanwhile are left for the next time. True when there was any.
    template<typename Handle> bool drain(Handle&& handle) {
        const unsigned ready = io_uring_cq_ready(&ring_);
        for (unsigned i = 0; i < ready; ++i) {
            io_uring_cqe* cqe = nullptr;
            if (io_uring_peek_cqe(&ring_, &cqe) != 0) break;
            const auto data = cqe->user_data;
            const auto result = cqe->res;
            const auto flags = cqe->flags;
            io_uring_cqe_seen(&ring_, cqe); // before it is handled: handling may submit
            if (data != LIBURING_UDATA_TIMEOUT) handle(data, result, flags);
        }
        return ready != 0;
    }

  private:
    Ring() = default;

    io_uring ring_{};
    bool open_ = false;
    FeatureSet features_;
};

} // namespace bondtrace::traffic
