// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/command.h"

#include "user/base/result.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace bondtrace::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t max_output = 16 * 1024 * 1024;
constexpr std::chrono::milliseconds poll_period{5};

// Starts argv in a process group of its own; `out` and `err` become its outputs unless negative. 0, or an
// errno.
int spawn(const std::vector<std::string>& argv, int out, int err, pid_t& pid) {
    std::vector<char*> arguments;
    for (const std::string& argument : argv)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (out >= 0) ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (err >= 0) ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    const int error = ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    return error;
}

int exit_status(int wait_status) {
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

// Waits for the end of `pid` and returns its status; kills its process group at `deadline`.
int reap(pid_t pid, Clock::time_point deadline, bool& timed_out) {
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(pid, &status, WNOHANG);
        if (ended == pid) return exit_status(status);
        if (ended < 0 && errno != EINTR) return -1;
        if (Clock::now() >= deadline && !timed_out) {
            timed_out = true;
            ::kill(-pid, SIGKILL);
        }
        std::this_thread::sleep_for(poll_period);
    }
}

// True when `pid` has ended; it is not reaped yet.
bool has_ended(pid_t pid) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}

struct Pipe {
    Fd read_end, write_end;
    std::string* text;
};

bool open_pipe(Pipe& pipe) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    pipe.read_end = Fd(ends[0]);
    pipe.write_end = Fd(ends[1]);
    return true;
}

// Takes what is there; closes the pipe at its end.
void drain(Pipe& pipe) {
    std::array<char, 65536> piece{};
    const ssize_t length = ::read(pipe.read_end.get(), piece.data(), piece.size());
    if (length < 0 && errno == EINTR) return;
    if (length <= 0) {
        pipe.read_end.reset();
        return;
    }
    const std::size_t room = max_output - pipe.text->size();
    pipe.text->append(piece.data(), std::min(room, static_cast<std::size_t>(length)));
}

} // namespace

Output capture(const std::vector<std::string>& argv, std::chrono::milliseconds timeout) {
    Output output;
    std::array<Pipe, 2> pipes{Pipe{{}, {}, &output.out}, Pipe{{}, {}, &output.err}};
    pid_t pid = 0;
    if (argv.empty() || !open_pipe(pipes[0]) || !open_pipe(pipes[1])) {
        output.err = "no program, or no pipe";
        return output;
    }
    if (const int error = spawn(argv, pipes[0].write_end.get(), pipes[1].write_end.get(), pid)) {
        output.err = errno_text(error);
        return output;
    }
    const auto deadline = Clock::now() + timeout;
    for (Pipe& pipe : pipes)
        pipe.write_end.reset();
    while (pipes[0].read_end.valid() || pipes[1].read_end.valid()) {
        if (Clock::now() >= deadline) break;
        // What the program started may hold the pipes for ever; all it wrote itself is in them when it has
        // ended.
        const bool ended = has_ended(pid);
        std::array<pollfd, 2> waiting{pollfd{pipes[0].read_end.get(), POLLIN, 0},
                                      pollfd{pipes[1].read_end.get(), POLLIN, 0}};
        // A closed one is -1, which poll() passes over.
        const int ready = ::poll(waiting.data(), waiting.size(), ended ? 0 : 20);
        if ((ready < 0 && errno != EINTR) || (ready == 0 && ended)) break;
        for (std::size_t i = 0; i < pipes.size(); ++i)
            if (waiting[i].revents != 0) drain(pipes[i]);
    }
    output.status = reap(pid, deadline, output.timed_out);
    // Something it started may still be there and hold the pipes.
    ::kill(-pid, SIGKILL);
    return output;
}

testing::AssertionResult run(const std::vector<std::string>& argv, std::chrono::milliseconds timeout) {
    const Output output = capture(argv, timeout);
    if (output.status == 0 && !output.timed_out) return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << fmt::format("{}: status {}{}\n{}{}", fmt::join(argv, " "), output.status,
                          output.timed_out ? ", time over" : "", output.out, output.err);
}

Background::Background(const std::vector<std::string>& argv, const std::string& out, const std::string& err) {
    if (argv.empty()) return;
    const auto create = [](const std::string& path) {
        return Fd(path.empty() ? -1 : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    };
    const Fd out_file = create(out), err_file = create(err);
    if ((!out.empty() && !out_file.valid()) || (!err.empty() && !err_file.valid())) {
        ADD_FAILURE() << "creating " << out << " and " << err << ": " << errno_text(errno);
        return;
    }
    if (const int error = spawn(argv, out_file.get(), err_file.get(), pid_)) {
        pid_ = 0;
        ADD_FAILURE() << "starting " << argv[0] << ": " << errno_text(error);
    }
}

Background::~Background() {
    if (pid_ > 0) stop(SIGKILL);
}

int Background::stop(int signal, std::chrono::milliseconds timeout) {
    if (pid_ <= 0) return -1;
    ::kill(signal == SIGKILL ? -pid_ : pid_, signal);
    bool timed_out = false;
    const int status = reap(pid_, Clock::now() + timeout, timed_out);
    ::kill(-pid_, SIGKILL);
    pid_ = 0;
    return status;
}

bool await(const std::function<bool()>& condition, std::chrono::milliseconds timeout) {
    const auto deadline = Clock::now() + timeout;
    while (!condition()) {
        if (Clock::now() >= deadline) return false;
        std::this_thread::sleep_for(poll_period);
    }
    return true;
}

} // namespace bondtrace::test
