// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/flows_command.h"

#include "user/base/units.h"
#include "user/cli/window.h"
#include "user/flow/filter.h"
#include "user/flow/sort.h"
#include "user/probe/era_probe.h"
#include "user/report/csv_writer.h"
#include "user/report/flows_build.h"
#include "user/report/json_writer.h"
#include "user/report/losses_text.h"
#include "user/report/text_writer.h"
#include "user/trace/flow_dissector.h"
#include "user/trace/observation.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace bondtrace {
namespace {

using std::chrono::nanoseconds;

struct FlowsOptions {
    CommonOptions common;
    std::vector<std::string> bonds;
    std::string duration = "10s";
    std::string sort = "bytes";
    std::optional<std::size_t> top;
    std::string filter;
    std::uint32_t max_flows = TraceConfig{}.max_flows;
    std::string era;
    bool json = false;
    bool csv = false;
    ColorChoice color = ColorChoice::automatic;
};

// The options that are more than words, understood.
struct FlowsRequest {
    nanoseconds duration{};
    SortKey sort = SortKey::bytes;
    Filter filter;
    std::optional<EraFinding> era; // given by the user
};

Result<FlowsRequest> understand(const FlowsOptions& options) {
    FlowsRequest request;
    const auto duration = parse_duration(options.duration);
    if (!duration) return fail(ErrorKind::usage, "--for: " + duration.error().what, duration.error().advice);
    request.duration = *duration;
    const auto sort = parse_sort_key(options.sort);
    if (!sort) return fail(ErrorKind::usage, "--sort: " + sort.error().what, sort.error().advice);
    request.sort = *sort;
    if (!options.era.empty()) {
        const auto era = parse_era(options.era);
        if (!era) return fail(ErrorKind::usage, "--era: " + era.error().what, era.error().advice);
        request.era = {*era, EraSource::given, {}};
    }
    if (options.filter.empty()) return request;
    auto filter = parse_filter(options.filter);
    if (!filter) return tl::make_unexpected(filter.error());
    request.filter = std::move(*filter);
    return request;
}

ExitStatus run_flows(const FlowsOptions& options) {
    const auto request = understand(options);
    if (!request) return report_error(request.error());
    if (const auto links = check_links(options.common, options.bonds); !links)
        return report_error(links.error());
    const auto netns = open_netns(options.common);
    if (!netns) return report_error(netns.error());
    const auto signals = open_signals();
    if (!signals) return report_error(signals.error());
    const auto there = await_bonds(options.common, options.bonds, *netns, *signals);
    if (!there) return report_error(there.error());
    if (!*there) return ExitStatus::cannot_tell;
    // Where it cannot be seen, encap policies are taken to be unpredictable, and the flows say why.
    const auto dissector = flow_dissector_attached(*netns);
    const auto era = request->era ? *request->era : find_era_for_checking();
    if (!era) return report_error(era.error());

    auto observation =
        Observation::start(*netns, options.bonds, trace_config(options.common, options.max_flows));
    if (!observation) return report_error(observation.error());
    if (const auto named =
            check_names(request->filter, observation->bond_names(), observation->slave_names());
        !named)
        return report_error(named.error());
    if (const auto dropped = drop_privileges(*netns); !dropped) return report_error(dropped.error());
    if (options.common.verbose) say_attachment(*observation);
    const auto interrupted = watch(&*observation, *signals, request->duration, observation->bond_names());
    if (!interrupted) return report_error(interrupted.error());
    const auto observed = observation->finish();
    if (!observed) return report_error(observed.error());

    FlowsReport report =
        build_flows_report(*observed, make_header(observed->attachment), options.common.netns);
    report.interrupted = *interrupted;
    add_predictions(report, *observed, *era, dissector.value_or(true));
    const Names names = report.names();
    std::erase_if(report.flows,
                  [&](const Conversation& flow) { return !request->filter.matches(flow, names); });
    report.flows_matching = report.flows.size();
    sort_conversations(report.flows, request->sort, names, options.top);

    const ExitStatus status = report.flows_total > 0 ? ExitStatus::fine : ExitStatus::cannot_tell;
    const TextOptions text{
        .width = terminal_width(), .ascii = !is_utf8(), .colour = wants_color(options.color)};
    if (options.json)
        return print_out([&](const TextSink& sink) { return write_flows_json(report, sink); }, status);
    if (options.csv) {
        fmt::print(stderr, "{}", losses_text(report, text));
        return print_out(flows_csv(report), status);
    }
    return print_out(flows_text(report, text), status);
}

} // namespace

void add_flows_command(CLI::App& app, ExitStatus& status) {
    const auto options = std::make_shared<FlowsOptions>();
    CLI::App* command = app.add_subcommand("flows", "Which flow is on which slave, over a window of time");
    command->add_option("BOND", options->bonds, "The bonds; all of the network namespace without any");
    command->add_option("--for", options->duration, "How long to watch: 10s, 500ms, 2m")
        ->type_name("DURATION")
        ->capture_default_str();
    command
        ->add_option("--sort", options->sort,
                     "bytes, packets, tx, rx, moves, age, local, remote, port, proto, slave")
        ->type_name("KEY")
        ->capture_default_str();
    command->add_option("--top", options->top, "Show only the first N flows")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    command
        ->add_option("--filter", options->filter,
                     "Show only the flows that match, such as 'host 10.0.0.1 and not port 22', "
                     "'net fd00::/8', 'port 5000-5100', 'proto udp', 'tx slave eth0', 'vlan 100'")
        ->type_name("EXPR");
    command
        ->add_option("--max-flows", options->max_flows,
                     "Size of the flow table: one entry a flow, direction and slave. Totals stay exact when "
                     "it is full")
        ->type_name("N")
        ->check(CLI::Range(1U, 16U * 1024 * 1024))
        ->capture_default_str();
    command
        ->add_option("--era", options->era,
                     "The kernel's hash to check flows against: a release (6.1, 5.10), or traits")
        ->type_name("ERA");
    auto* json =
        command->add_flag("--json", options->json, "A JSON document (docs/schema/flows.schema.json)");
    command->add_flag("--csv", options->csv, "One line a flow; what was lost goes to standard error")
        ->excludes(json);
    add_color_option(*command, options->color);
    add_common_options(*command, options->common);
    add_attach_options(*command, options->common, true);
    add_wait_option(*command, options->common);
    command->footer("Examples:\n"
                    "  bondtrace flows bond0 --for 10s\n"
                    "  bondtrace flows bond0 --for 1m --sort packets --top 20\n"
                    "  bondtrace flows --filter 'proto tcp and port 3260' --json\n"
                    "  bondtrace flows --links eth0,eth1        the two next hops of an ECMP route\n"
                    "Ctrl-C ends the window early, with the result so far.\n"
                    "Exit status: 0 fine, 3 no traffic or could not attach, 64 wrong usage.");
    command->callback([options, &status] { status = run_flows(*options); });
}

} // namespace bondtrace
