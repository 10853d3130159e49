// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/command.h"

#include "user/trace/support.h"
#include "version.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace bondtrace {

void add_common_options(CLI::App& command, CommonOptions& options, const char* verbose) {
    command
        .add_option("--netns", options.netns,
                    "The bonds' network namespace: a name of `ip netns`, a PID or a path")
        ->type_name("NAME|PID|PATH");
    command.add_flag("-v,--verbose", options.verbose, verbose);
}

void add_attach_options(CLI::App& command, CommonOptions& options, bool with_links) {
    std::vector<std::string> names = compiled_attachments();
    names.insert(names.begin(), "auto");
    command
        .add_option("--attach", options.attach,
                    "How to count in the kernel: fentry, kprobe or tc; auto is the best that works "
                    "(bondtrace check)")
        ->type_name("HOW")
        ->check(CLI::IsMember(names).description(""))
        ->envname("BONDTRACE_ATTACH")
        ->capture_default_str();
    if (!with_links) return;
    command
        .add_option(
            "--links", options.links,
            "Not bonds but these links, as if they were slaves of one: of a team, an Open vSwitch bond, ECMP "
            "next hops, ports of a bridge; by tc")
        ->type_name("A,B,...")
        ->delimiter(',');
}

void add_wait_option(CLI::App& command, CommonOptions& options) {
    command.add_flag("--wait", options.wait,
                     "Wait until the bonds that are named are there (any bond without a name), as when the "
                     "bonding module is loaded later");
}

TraceConfig trace_config(const CommonOptions& options, std::uint32_t max_flows) {
    TraceConfig config;
    config.max_flows = max_flows;
    config.verbose = options.verbose;
    config.attach = parse_attachment(options.attach);
    config.links = options.links;
    return config;
}

Result<void> check_links(const CommonOptions& options, const std::vector<std::string>& bonds) {
    if (options.links.empty() || bonds.empty()) return {};
    return fail(ErrorKind::usage, fmt::format("either bonds ({}) or --links, not both", bonds.front()),
                "run bondtrace twice, at the same time if need be");
}

Result<NetNs> open_netns(const CommonOptions& options) {
    return options.netns.empty() ? NetNs::current() : NetNs::open(options.netns);
}

ExitStatus report_error(const Error& error) {
    fmt::print(stderr, "bondtrace: {}\n", error.what);
    std::string_view advice = error.advice;
    while (!advice.empty()) { // every line of it indented
        const auto end = advice.find('\n');
        fmt::print(stderr, "  {}\n", advice.substr(0, end));
        advice = end == std::string_view::npos ? std::string_view{} : advice.substr(end + 1);
    }
    return status_of(error);
}

ExitStatus print_out(const std::string& text, ExitStatus status) {
    return print_out([&](const TextSink& sink) { return sink(text); }, status);
}

ExitStatus print_out(const std::function<bool(const TextSink&)>& write, ExitStatus status) {
    const bool written = write([](const std::string& piece) {
        return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size() && std::fflush(stdout) == 0;
    });
    if (written) return status;
    if (errno == EPIPE) return status; // `| head` has seen enough
    fmt::print(stderr, "bondtrace: writing to standard output: {}\n", errno_text(errno));
    return ExitStatus::cannot_tell;
}

ReportHeader make_header(std::string attachment) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    return {.version = version,
            .time =
                fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now))),
            .kernel = kernel_release(),
            .attach = std::move(attachment)};
}

unsigned terminal_width() {
    winsize size{};
    if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
        return size.ws_col;
    const char* columns = std::getenv("COLUMNS"); // exported on purpose, or shells keep it to themselves
    unsigned width = 0;
    if (!columns || std::from_chars(columns, columns + std::strlen(columns), width).ec != std::errc{})
        return 0;
    return width;
}

void add_color_option(CLI::App& command, ColorChoice& choice) {
    const std::map<std::string, ColorChoice> names{
        {"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}};
    command.add_option("--color", choice, "Colours: auto, always, never")
        ->type_name("WHEN")
        ->transform(CLI::CheckedTransformer(names).description(""))
        ->default_str("auto");
}

bool wants_color(ColorChoice choice) {
    if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
    const char* no_color = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) != 0 && !(no_color && *no_color) &&
           !(terminal && std::string_view(terminal) == "dumb");
}

bool is_utf8() {
    return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

Result<Fd> open_signals(bool with_resizes) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&signals, signal);
    if (with_resizes) sigaddset(&signals, SIGWINCH);
    if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return fail_errno(errno, "blocking signals");
    Fd fd(signalfd(-1, &signals, SFD_CLOEXEC));
    if (!fd.valid()) return fail_errno(errno, "opening a descriptor for signals");
    return fd;
}

} // namespace bondtrace
