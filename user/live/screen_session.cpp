// SPDX-License-Identifier: GPL-2.0-or-later
// The live table on a screen: waits, reads, draws.
#include "user/live/controller.h"
#include "user/live/live_json.h"
#include "user/live/name_lookup.h"
#include "user/live/screen.h"
#include "user/live/session.h"
#include "user/live/terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace bondtrace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Rates are wanted soon after the start.
constexpr milliseconds first_interval{500};
// What happens to the links is shown at once, but not more often than this.
constexpr milliseconds least_interval{250};
// Readings before the one stepped back to, for rates, moves and the minute of history.
constexpr std::size_t replayed_before = 120;

// False, with errno, when the file does not take it all.
bool write_all(const Fd& file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = write(file.get(), text.data(), text.size());
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

class ScreenSession {
  public:
    ScreenSession(LiveSource& source, ScreenOptions options, Terminal terminal)
        : source_(source), options_(std::move(options)), terminal_(std::move(terminal)),
          controller_(options_.ui, source.count() > 0) {}

    Result<void> run() {
        if (controller_.ui().names) follow_names();
        if (const auto read = read_next(); !read) return read;
        next_ = Clock::now() + std::min(first_interval, controller_.ui().interval);
        draw();
        while (!ended_)
            if (const auto done = wait(); !done) return done;
        return {};
    }

  private:
    [[nodiscard]] bool recorded() const { return source_.count() > 0; }

    Result<void> read_next() {
        auto reading = source_.next();
        if (!reading) return tl::make_unexpected(reading.error());
        last_ = Clock::now();
        if (*reading) {
            model_.update(std::move(**reading));
        } else {
            controller_.pause(true);
            controller_.say("the recording ends here");
        }
        controller_.refresh(model_, terminal_.height());
        return {};
    }

    void draw() {
        Canvas canvas(terminal_.width(), terminal_.height());
        std::optional<ReplayPlace> place;
        if (recorded()) place = ReplayPlace{source_.number(), source_.count()};
        const auto cursor = draw_screen(canvas, {.model = model_,
                                                 .view = controller_.view(),
                                                 .ui = controller_.ui(),
                                                 .symbols = options_.symbols,
                                                 .replay = place,
                                                 .names = names_.get()});
        terminal_.show(canvas, cursor);
    }

    // Until a key, a signal, an event or the time of the next reading, and what follows from it.
    Result<void> wait() {
        int timeout = -1;
        if (!controller_.ui().paused) {
            const auto left = std::chrono::ceil<milliseconds>(next_ - Clock::now());
            timeout = static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, 1'000'000));
        }
        std::array<pollfd, 4> sources{{{STDIN_FILENO, POLLIN, 0},
                                       {options_.signals, POLLIN, 0},
                                       {source_.event_fd(), POLLIN, 0},
                                       {names_ ? names_->event_fd() : -1, POLLIN, 0}}};
        const int ready = poll(sources.data(), sources.size(), timeout);
        if (ready < 0 && errno != EINTR) return fail_errno(errno, "waiting for keys");
        if (ready > 0) {
            if (sources[1].revents != 0) take_signal();
            if (sources[0].revents != 0) {
                take_keys();
                // The terminal has gone away, and has no last key.
                if (sources[0].revents & (POLLHUP | POLLERR | POLLNVAL)) ended_ = true;
            }
            if (sources[2].revents != 0) {
                if (const auto followed = source_.follow(); !followed) return followed;
                next_ = std::min(next_, std::max(Clock::now(), last_ + least_interval));
            }
            if (sources[3].revents != 0) {
                names_->take_news();
                controller_.refresh(model_, terminal_.height());
            }
        }
        if (ended_) return {};
        if (failure_) return tl::make_unexpected(*failure_);
        if (!controller_.ui().paused && Clock::now() >= next_) {
            if (const auto read = read_next(); !read) return read;
            next_ += controller_.ui().interval;
            if (next_ < Clock::now())
                next_ = Clock::now() + controller_.ui().interval; // none are made up for
        }
        draw();
        return {};
    }

    void take_signal() {
        signalfd_siginfo info{};
        if (read(options_.signals, &info, sizeof(info)) != sizeof(info)) return;
        if (info.ssi_signo != SIGWINCH) {
            ended_ = true;
            return;
        }
        terminal_.resize();
        controller_.refresh(model_, terminal_.height());
    }

    void take_keys() {
        while (const auto key = terminal_.read_key()) {
            const bool was_paused = controller_.ui().paused;
            switch (controller_.press(*key, model_, terminal_.width(), terminal_.height())) {
            case Action::quit:
                ended_ = true;
                return;
            case Action::write_snapshot:
                write_snapshot();
                break;
            case Action::interval_changed:
                next_ = std::max(Clock::now(), last_ + controller_.ui().interval);
                break;
            case Action::names_changed:
                follow_names();
                break;
            case Action::step_forward:
                controller_.pause(true);
                step(source_.number() + 1);
                break;
            case Action::step_back:
                controller_.pause(true);
                step(source_.number() > 1 ? source_.number() - 1 : 1);
                break;
            case Action::none:
                break;
            }
            if (was_paused && !controller_.ui().paused) next_ = Clock::now();
        }
    }

    // The lookup is there from the first time that names are wanted.
    void follow_names() {
        if (!controller_.ui().names || names_) return;
        auto names = NameLookup::start();
        if (!names) {
            controller_.say(names.error().what, true);
            controller_.want_names(false);
            return;
        }
        names_ = std::move(*names);
        controller_.use_names(names_.get());
        controller_.refresh(model_, terminal_.height());
    }

    // To a reading of the recording. Backwards everything is done anew from some way before it.
    void step(std::size_t number) {
        if (number <= source_.number()) {
            source_.seek(number > replayed_before ? number - replayed_before : 1);
            model_ = LiveModel();
        }
        while (source_.number() < number && !failure_) {
            const std::size_t before = source_.number();
            if (const auto read = read_next(); !read) failure_ = read.error();
            if (source_.number() == before) break; // the end
        }
    }

    void write_snapshot() {
        std::string time = model_.reading().report.header.time; // "2025-06-01T12:00:00Z"
        std::erase_if(time, [](char c) { return c == ':' || c == '-' || c == '/'; });
        const std::string name = fmt::format("bondtrace-live-{}.json", time.substr(0, 32));
        const Fd file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
        if (file.valid() &&
            write_live_json(model_, controller_.view(), {},
                            [&file](const std::string& piece) { return write_all(file, piece); }))
            controller_.say(fmt::format("written to {}", name));
        else
            controller_.say(fmt::format("cannot write {}: {}", name, errno_text(errno)), true);
    }

    LiveSource& source_;
    ScreenOptions options_;
    Terminal terminal_;
    Controller controller_;
    LiveModel model_;
    std::unique_ptr<NameLookup> names_; // none before they are wanted
    Clock::time_point last_, next_;
    std::optional<Error> failure_;
    bool ended_ = false;
};

} // namespace

Result<void> run_on_screen(LiveSource& source, ScreenOptions options) {
    auto terminal = Terminal::open(options.colour);
    if (!terminal) return tl::make_unexpected(terminal.error());
    return ScreenSession(source, std::move(options), std::move(*terminal)).run();
}

} // namespace bondtrace
