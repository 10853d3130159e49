// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/followed_observation.h"

#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace bondtrace {

Result<std::unique_ptr<FollowedObservation>>
FollowedObservation::start(const NetNs& netns, const std::vector<std::string>& names, TraceConfig config) {
    Fd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop.valid()) return fail_errno(errno, "making an event descriptor");
    auto observation = Observation::start(netns, names, std::move(config));
    if (!observation) return tl::make_unexpected(observation.error());
    return std::unique_ptr<FollowedObservation>(
        new FollowedObservation(std::move(*observation), std::move(stop)));
}

FollowedObservation::~FollowedObservation() {
    end();
}

void FollowedObservation::follow() {
    thread_ = std::thread([this] { run(); });
}

void FollowedObservation::run() {
    constexpr int each_second = 1000; // that there were no events is worth knowing (choice_notes.h)
    for (;;) {
        std::array<pollfd, 2> sources{{{stop_.get(), POLLIN, 0}, {observation_.fd(), POLLIN, 0}}};
        const int ready = poll(sources.data(), sources.size(), each_second);
        if (ready < 0 && errno != EINTR) {
            followed_ = fail_errno(errno, "waiting for changes of links");
            return;
        }
        if (ready > 0 && sources[0].revents != 0) return;
        followed_ = observation_.follow();
        if (!followed_) return;
    }
}

void FollowedObservation::end() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
}

Result<Observed> FollowedObservation::finish() {
    end();
    if (!followed_) return tl::make_unexpected(followed_.error());
    return observation_.finish();
}

} // namespace bondtrace
