// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/window.h"

#include "user/base/privileges.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

namespace bondtrace {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

// One line on the terminal that says what is going on, and leaves none behind.
class Progress {
  public:
    Progress(nanoseconds duration, const std::vector<std::string>& bonds)
        : shown_(duration > std::chrono::seconds(2) && isatty(STDERR_FILENO) != 0),
          bonds_(fmt::format("{}", fmt::join(bonds, ", "))) {}
    ~Progress() {
        if (shown_) fmt::print(stderr, "\r\033[K");
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(nanoseconds left) const {
        if (!shown_) return;
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
        fmt::print(stderr, "\r\033[Kwatching {}: {} s left, Ctrl-C ends it now", bonds_, seconds);
        std::fflush(stderr);
    }

  private:
    bool shown_;
    std::string bonds_;
};

} // namespace

Result<bool> watch(Observation* observation, const Fd& signals, nanoseconds duration,
                   const std::vector<std::string>& bonds) {
    const Progress progress(duration, bonds);
    constexpr int ignored = -1; // by poll()
    const auto end = Clock::now() + duration;
    for (;;) {
        const auto left = std::chrono::duration_cast<nanoseconds>(end - Clock::now());
        if (left.count() <= 0) return false;
        progress.show(left);
        const auto wait = std::min<nanoseconds>(left, std::chrono::seconds(1));
        std::array<pollfd, 2> sources{
            {{signals.get(), POLLIN, 0}, {observation ? observation->fd() : ignored, POLLIN, 0}}};
        const int ready = poll(sources.data(), sources.size(),
                               static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count()));
        if (ready < 0 && errno != EINTR) return fail_errno(errno, "waiting for the end of the window");
        if (ready > 0 && sources[0].revents != 0) return true;
        // Without events as well: that there were none is worth knowing (choice_notes.h).
        if (observation)
            if (const auto followed = observation->follow(); !followed)
                return tl::make_unexpected(followed.error());
    }
}

void say_attachment(const Observation& observation) {
    for (const std::string& why : observation.passed_over())
        fmt::print(stderr, "bondtrace: not by {}\n", why);
    fmt::print(stderr, "bondtrace: counting on {} by {}\n", fmt::join(observation.bond_names(), ", "),
               to_text(observation.attachment()));
}

Result<void> drop_privileges(const NetNs& netns) {
    // BPF map reads, what the driver tells of LACP, and entering another namespace again to read its state.
    std::vector<cap_value_t> keep{CAP_BPF, CAP_NET_ADMIN};
    if (!netns.is_current()) keep.push_back(CAP_SYS_ADMIN);
    return drop_capabilities_except(keep);
}

} // namespace bondtrace
