// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/live_command.h"

#include "user/base/units.h"
#include "user/cli/window.h"
#include "user/live/session.h"
#include "user/probe/era_probe.h"
#include "user/trace/flow_dissector.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace bondtrace {
namespace {

struct LiveOptions {
    CommonOptions common;
    std::vector<std::string> bonds;
    std::string interval = "1s";
    std::string sort = "rate";
    std::string filter;
    std::string replay;
    std::string era;
    std::optional<std::size_t> count, top;
    std::uint32_t max_flows = TraceConfig{}.max_flows;
    bool plain = false;
    bool json = false;
    bool names = false;
    ColorChoice color = ColorChoice::automatic;
};

// The options that are more than words, understood.
struct LiveRequest {
    std::chrono::milliseconds interval{};
    ViewSettings view;
    std::optional<EraFinding> era; // given by the user
};

Result<LiveRequest> understand(const LiveOptions& options) {
    constexpr std::chrono::milliseconds shortest{50};
    LiveRequest request;
    const auto interval = parse_duration(options.interval);
    if (!interval)
        return fail(ErrorKind::usage, "--interval: " + interval.error().what, interval.error().advice);
    request.interval = std::chrono::duration_cast<std::chrono::milliseconds>(*interval);
    if (request.interval < shortest || request.interval > std::chrono::hours(1))
        return fail(ErrorKind::usage,
                    fmt::format("--interval: {} is not from 50 ms to 1 h", format_duration(*interval)));
    const auto sort = parse_live_sort(options.sort);
    if (!sort) return fail(ErrorKind::usage, "--sort: " + sort.error().what, sort.error().advice);
    request.view.sort = *sort;
    if (!options.era.empty()) {
        const auto era = parse_era(options.era);
        if (!era) return fail(ErrorKind::usage, "--era: " + era.error().what, era.error().advice);
        request.era = {*era, EraSource::given, {}};
    }
    if (options.filter.empty()) return request;
    auto filter = parse_filter(options.filter);
    if (!filter) return tl::make_unexpected(filter.error());
    request.view.filter = std::move(*filter);
    return request;
}

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "?";
    return name.data();
}

// Null when a signal came while it waited for a bond.
Result<std::unique_ptr<LiveSource>> open_kernel(const LiveOptions& options, const LiveRequest& request,
                                                const Fd& signals) {
    if (const auto links = check_links(options.common, options.bonds); !links)
        return tl::make_unexpected(links.error());
    const auto netns = open_netns(options.common);
    if (!netns) return tl::make_unexpected(netns.error());
    const auto there = await_bonds(options.common, options.bonds, *netns, signals);
    if (!there) return tl::make_unexpected(there.error());
    if (!*there) return nullptr;
    // Where it cannot be seen, encap policies are taken to be unpredictable, and the flows say why.
    const auto dissector = flow_dissector_attached(*netns);
    auto era = request.era ? *request.era : find_era_for_checking();
    if (!era) return tl::make_unexpected(era.error());
    auto observation =
        Observation::start(*netns, options.bonds, trace_config(options.common, options.max_flows));
    if (!observation) return tl::make_unexpected(observation.error());
    if (const auto named =
            check_names(request.view.filter, observation->bond_names(), observation->slave_names());
        !named)
        return tl::make_unexpected(named.error());
    // Without it the table lacks a number, no more.
    if (const auto measured = observation->measure_cost(); !measured && options.common.verbose)
        fmt::print(stderr, "bondtrace: {}\n", measured.error().what);
    if (const auto dropped = drop_privileges(*netns); !dropped) return tl::make_unexpected(dropped.error());
    return std::make_unique<KernelSource>(std::move(*observation), make_header, options.common.netns,
                                          host_name(),
                                          KernelSource::Hash{std::move(*era), dissector.value_or(true)});
}

Result<std::unique_ptr<LiveSource>> open_source(const LiveOptions& options, const LiveRequest& request,
                                                const Fd& signals) {
    if (options.replay.empty()) return open_kernel(options, request, signals);
    auto recording = Recording::open(options.replay);
    if (!recording) return tl::make_unexpected(recording.error());
    return std::make_unique<RecordedSource>(std::move(*recording));
}

// The Linux console's font has neither eighths of blocks nor a check mark.
Symbols choose_symbols() {
    const char* const terminal = std::getenv("TERM");
    const bool console = terminal && std::string_view(terminal) == "linux";
    return is_utf8() && !console ? unicode_symbols() : ascii_symbols();
}

Result<void> run(const LiveOptions& options) {
    const auto request = understand(options);
    if (!request) return tl::make_unexpected(request.error());
    const bool on_screen = !options.plain && !options.json && !options.count && isatty(STDIN_FILENO) != 0 &&
                           isatty(STDOUT_FILENO) != 0;
    const auto signals = open_signals(on_screen);
    if (!signals) return tl::make_unexpected(signals.error());
    auto source = open_source(options, *request, *signals);
    if (!source) return tl::make_unexpected(source.error());
    if (!*source) return {};
    if (on_screen) {
        ScreenOptions screen;
        screen.ui.view = request->view;
        screen.ui.filter_text = options.filter;
        screen.ui.interval = request->interval;
        screen.ui.names = options.names;
        screen.symbols = choose_symbols();
        screen.colour = wants_color(options.color);
        screen.signals = signals->get();
        return run_on_screen(**source, std::move(screen));
    }
    LineOptions lines;
    lines.view = request->view;
    lines.interval = request->interval;
    lines.count = options.count;
    lines.most = options.top;
    lines.json = options.json;
    lines.names = options.names;
    lines.symbols = is_utf8() ? unicode_symbols() : ascii_symbols();
    lines.signals = signals->get();
    std::optional<Error> write_error;
    lines.write = [&](const std::string& text) {
        if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
            return true;
        if (errno != EPIPE) // `| head` has seen enough
            write_error =
                Error{ErrorKind::unavailable, "writing to standard output: " + errno_text(errno), {}};
        return false;
    };
    const auto done = run_as_lines(**source, lines);
    if (write_error) return tl::make_unexpected(*write_error);
    return done;
}

} // namespace

void add_live_command(CLI::App& app, ExitStatus& status) {
    const auto options = std::make_shared<LiveOptions>();
    CLI::App* command = app.add_subcommand("live", "The conversations and slaves of bonds as they are now");
    command->add_option("BOND", options->bonds, "The bonds; all of the network namespace without any");
    command->add_option("-i,--interval", options->interval, "Time between readings: 1s, 500ms")
        ->type_name("DURATION")
        ->capture_default_str();
    command
        ->add_option("--sort", options->sort,
                     "rate, packets, total, age, moves, proto, local, remote, tx-slave, rx-slave")
        ->type_name("KEY")
        ->capture_default_str();
    command->add_option("--filter", options->filter, "Only the flows that match, as for bondtrace flows")
        ->type_name("EXPR");
    command
        ->add_option("--max-flows", options->max_flows,
                     "Size of the flow table: one entry a flow, direction and slave")
        ->type_name("N")
        ->check(CLI::Range(1U, 16U * 1024 * 1024))
        ->capture_default_str();
    command
        ->add_option("--era", options->era,
                     "The kernel's hash to check flows against: a release (6.1, 5.10), or traits")
        ->type_name("ERA");
    command->add_option("--count", options->count, "Write N readings as text, without a screen, and end")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    command->add_option("--top", options->top, "Write at most N flows of each reading (text: 10)")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    auto* plain_flag = command->add_flag("--plain", options->plain,
                                         "Text that is never overwritten, a reading after the other: for "
                                         "screen readers and logs. The default without a terminal");
    auto* json_flag =
        command
            ->add_flag("--json", options->json,
                       "JSON lines, one a reading (docs/schema/live.schema.json); what --replay plays")
            ->excludes(plain_flag);
    command
        ->add_flag("-n,--names", options->names,
                   "Names of hosts as this system resolves them, looked up beside the work (key: n)")
        ->excludes(json_flag);
    command
        ->add_option("--replay", options->replay,
                     "Play what --json has written; needs no privileges and no bond")
        ->type_name("FILE");
    add_color_option(*command, options->color);
    add_common_options(*command, options->common);
    add_attach_options(*command, options->common, true);
    add_wait_option(*command, options->common);
    command->footer("Examples:\n"
                    "  bondtrace                                  every bond here; h shows the keys\n"
                    "  bondtrace live bond0 --filter 'port 3260'\n"
                    "  bondtrace live --json > record.jsonl       for later, or for somebody else\n"
                    "  bondtrace --replay record.jsonl\n"
                    "  bondtrace live --plain --interval 10s | tee log\n"
                    "Exit status: 0 fine, 3 could not attach, 64 wrong usage.");
    command->callback([options, &status] {
        const auto done = run(*options);
        status = done ? ExitStatus::fine : report_error(done.error());
    });
}

} // namespace bondtrace
