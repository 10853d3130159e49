// SPDX-License-Identifier: GPL-2.0-or-later
// The live table as lines.
#include "user/live/live_json.h"
#include "user/live/live_text.h"
#include "user/live/name_lookup.h"
#include "user/live/session.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <memory>
#include <vector>

#include <poll.h>

namespace bondtrace {
namespace {

using Clock = std::chrono::steady_clock;

// Waits until then, following the source; true when a signal came.
Result<bool> wait_until(Clock::time_point due, LiveSource& source, int signals) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
        if (left.count() <= 0) return false;
        // poll() passes over a negative descriptor.
        std::array<pollfd, 2> sources{{{signals, POLLIN, 0}, {source.event_fd(), POLLIN, 0}}};
        const int ready = poll(sources.data(), sources.size(), static_cast<int>(left.count()));
        if (ready < 0 && errno != EINTR) return fail_errno(errno, "waiting for the next reading");
        if (ready <= 0) continue;
        if (sources[0].revents != 0) return true;
        if (sources[1].revents != 0)
            if (const auto followed = source.follow(); !followed)
                return tl::make_unexpected(followed.error());
    }
}

// Asks for the hosts of the first `most` conversations, and gives the answers a moment: a line that is
// written is not corrected later.
void look_up(const LiveModel& model, const FlowView& view, std::size_t most, const NameLookup& names) {
    constexpr std::chrono::milliseconds moment{500};
    std::vector<IpAddress> hosts;
    for (std::size_t place = 0; place < std::min(most, view.rows().size()); ++place) {
        const ConversationKey& key = model.flows().rows()[view.rows()[place]].flow.key;
        for (const Host* host : {&key.local, &key.remote})
            if (const auto* ip = std::get_if<IpAddress>(host)) hosts.push_back(*ip);
    }
    names.wait_for(hosts, moment);
}

} // namespace

Result<void> run_as_lines(LiveSource& source, const LineOptions& options) {
    LiveModel model;
    FlowView view;
    std::unique_ptr<NameLookup> names;
    if (options.names) {
        auto started = NameLookup::start();
        if (!started) return tl::make_unexpected(started.error());
        names = std::move(*started);
    }
    const bool recorded = source.count() > 0;
    std::uint64_t sequence = 0, first_event = 0;
    auto due = Clock::now();
    for (;;) {
        auto reading = source.next();
        if (!reading) return tl::make_unexpected(reading.error());
        if (!*reading) return {};
        model.update(std::move(**reading));
        // Live, the first reading is where the first interval begins.
        if (recorded || model.readings() > 1) {
            view.rebuild(model, options.view);
            constexpr std::size_t few = 10;
            const std::size_t most =
                options.most.value_or(options.json ? std::numeric_limits<std::size_t>::max() : few);
            if (names) look_up(model, view, most, *names);
            const bool is_read =
                options.json
                    ? write_live_json(model, view,
                                      {.sequence = sequence, .most = most, .first_event = first_event},
                                      options.write)
                    : options.write(live_text(model, view, most, first_event, options.symbols, names.get()) +
                                    "\n");
            if (!is_read) return {};
            first_event = model.events().total();
            ++sequence;
            if (options.count && sequence >= *options.count) return {};
        }
        due += options.interval;
        if (due < Clock::now()) due = Clock::now(); // too slow: no readings are made up for
        const auto ended = wait_until(recorded ? Clock::now() : due, source, options.signals);
        if (!ended) return tl::make_unexpected(ended.error());
        if (*ended) return {};
    }
}

} // namespace bondtrace
