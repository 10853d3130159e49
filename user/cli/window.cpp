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

Result<bool> await_bonds(const CommonOptions& options, const std::vector<std::string>& bonds,
                         const NetNs& netns, const Fd& signals) {
    if (!options.wait) return true;
    const std::vector<std::string>& names = options.links.empty() ? bonds : options.links;
    // The monitor first: what is made after the look is then heard of.
    auto monitor = LinkMonitor::open(netns);
    if (!monitor) return tl::make_unexpected(monitor.error());
    const auto reader = LinkReader::open(netns);
    if (!reader) return tl::make_unexpected(reader.error());
    for (bool said = false;; said = true) {
        const auto snapshot = reader->read_snapshot();
        if (!snapshot) return tl::make_unexpected(snapshot.error());
        const auto is_there = [&](const std::string& name) {
            return std::any_of(snapshot->links.begin(), snapshot->links.end(),
                               [&](const Link& link) { return link.name == name; });
        };
        const bool there = names.empty() ? std::any_of(snapshot->links.begin(), snapshot->links.end(),
                                                       [](const Link& link) { return link.kind == "bond"; })
                                         : std::all_of(names.begin(), names.end(), is_there);
        if (there) return true;
        if (!said)
            fmt::print(stderr, "bondtrace: waiting for {} in {}, Ctrl-C ends it\n",
                       names.empty() ? "a bond" : fmt::format("{}", fmt::join(names, ", ")),
                       netns.description());
        std::array<pollfd, 2> sources{{{signals.get(), POLLIN, 0}, {monitor->fd(), POLLIN, 0}}};
        if (poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR)
            return fail_errno(errno, "waiting for interfaces");
        if (sources[0].revents != 0) return false;
        if (const auto changes = monitor->poll_events(); !changes)
            return tl::make_unexpected(changes.error());
    }
}

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
