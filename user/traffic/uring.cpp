// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/uring.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

namespace bondtrace::traffic {
namespace {

constexpr unsigned max_entries = 32768, max_completions = 65536; // the kernel's own limits

struct Setup {
    unsigned flags;
    std::initializer_list<Feature> features;
};

Error explain(int error) {
    Error answer{ErrorKind::unavailable, "opening an io_uring: " + errno_text(error), {}};
    if (error == EPERM)
        answer.advice =
            "io_uring is forbidden here: see sysctl kernel.io_uring_disabled (0 allows it to "
            "everybody, 1 to root and kernel.io_uring_group), or, in a container, the seccomp profile";
    else if (error == ENOSYS)
        answer.advice =
            "this kernel has no io_uring (Linux 5.10 or later is needed), or a container's seccomp "
            "profile hides it";
    else if (error == ENOMEM)
        answer.advice = "the limit of locked memory is too low for it: raise it with ulimit -l";
    else if (error == EMFILE || error == ENFILE)
        answer.advice = "the limit of open files is reached: raise it with ulimit -n";
    return answer;
}

} // namespace

Result<Ring> Ring::open(unsigned entries, unsigned completions, const FeatureSet& masked) {
    // The best first: an older kernel answers EINVAL to a flag that it does not know.
    const std::array<Setup, 4> ladder{
        Setup{IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
              {Feature::single_issuer, Feature::defer_taskrun}},
        Setup{IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN,
              {Feature::single_issuer, Feature::coop_taskrun}},
        Setup{IORING_SETUP_COOP_TASKRUN, {Feature::coop_taskrun}},
        Setup{0, {}},
    };
    Ring ring;
    for (const Setup& setup : ladder) {
        if (std::any_of(setup.features.begin(), setup.features.end(),
                        [&](Feature feature) { return masked.has(feature); }))
            continue;
        io_uring_params parameters{};
        parameters.flags = setup.flags | IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE;
        parameters.cq_entries = std::min(std::bit_ceil(std::max(completions, 2 * entries)), max_completions);
        const int opened =
            io_uring_queue_init_params(std::min(entries, max_entries), &ring.ring_, &parameters);
        if (opened == -EINVAL && setup.flags != 0) continue;
        if (opened < 0) return tl::make_unexpected(explain(-opened));
        ring.open_ = true;
        for (const Feature feature : setup.features)
            ring.features_.add(feature);
        break;
    }
    if (!masked.has(Feature::registered_ring) && io_uring_register_ring_fd(&ring.ring_) == 1)
        ring.features_.add(Feature::registered_ring);
    return ring;
}

Ring::Ring(Ring&& other) noexcept
    : ring_(other.ring_), open_(std::exchange(other.open_, false)), features_(other.features_) {}

Ring::~Ring() {
    if (open_) io_uring_queue_exit(&ring_);
}

io_uring_sqe* Ring::prepare(std::uint64_t user_data) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (!sqe) { // full: the kernel takes all of them, unless it lacks memory for the moment
        io_uring_submit(&ring_);
        sqe = io_uring_get_sqe(&ring_);
    }
    // The prep functions of liburing leave user_data alone.
    sqe->user_data = user_data;
    return sqe;
}

int Ring::submit_and_wait(std::chrono::nanoseconds timeout) {
    int done = 0;
    if (timeout.count() <= 0) {
        done = io_uring_submit_and_get_events(&ring_);
    } else {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
        __kernel_timespec limit{seconds.count(), (timeout - seconds).count()};
        io_uring_cqe* cqe = nullptr;
        done = io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &limit, nullptr);
    }
    // EBUSY and EAGAIN: completions must be taken first, then it goes on.
    if (done >= 0 || done == -ETIME || done == -EINTR || done == -EBUSY || done == -EAGAIN) return 0;
    return -done;
}

} // namespace bondtrace::traffic
