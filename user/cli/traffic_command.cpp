// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/traffic_command.h"

#include "user/cli/traffic_options.h"
#include "user/cli/traffic_plan.h"
#include "user/cli/traffic_server.h"
#include "user/report/traffic_report.h"
#include "user/traffic/client.h"
#include "user/traffic/preflight.h"

#include <algorithm>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

ExitStatus status_of_test(const TrafficReport& report, const TestOutcome& outcome) {
    if (outcome.broken) return ExitStatus::cannot_tell;
    const bool partial = outcome.established < outcome.asked ||
                         report.plan.flows.size() < report.plan.wanted || !outcome.stopped_by_server.empty();
    const bool found = std::any_of(report.findings.begin(), report.findings.end(),
                                   [](const Finding& finding) { return finding.severity != Severity::info; });
    return partial || found ? ExitStatus::findings : ExitStatus::fine;
}

ExitStatus run_traffic_client(const TrafficClientOptions& options) {
    const auto netns = open_netns(options.common);
    if (!netns) return report_error(netns.error());
    auto request = understand(options);
    if (!request) return report_error(request.error());
    TrafficReport report;
    report.header = make_header("none");
    report.title = options.title;
    report.host = options.host;
    report.port = options.port;
    report.verbose = options.common.verbose;
    if (const auto planned = plan_flows(options, *netns, *request, report); !planned)
        return report_error(planned.error());
    const auto signals = open_signals();
    if (!signals) return report_error(signals.error());
    auto outcome = Result<TestOutcome>{};
    {
        ProgressLine line(!options.json || options.common.verbose, request->options);
        outcome = run_in(*netns, [&] {
            return run_client(*request, [&](const Progress& progress) { line.show(progress); },
                              {signals->get()});
        });
    }
    if (!outcome) return report_error(outcome.error());
    report.options = request->options;
    report.client = outcome->client;
    report.server = outcome->server;
    report.summary = summarize(report.options, report.client, report.server ? &*report.server : nullptr);
    report.interrupted = outcome->stopped;
    report.stopped_by_server = outcome->stopped_by_server;
    if (outcome->broken) report.broken = outcome->broken->what;
    report.findings.insert(report.findings.end(), outcome->findings.begin(), outcome->findings.end());
    if (report.server)
        for (Finding& finding : window_findings(report.options, report.client, *report.server))
            report.findings.push_back(std::move(finding));
    if (auto warning = pacing_warning(report.options, report.client); !warning.empty())
        report.notes.push_back(std::move(warning));
    const ExitStatus status = status_of_test(report, *outcome);
    if (options.json) return print_out(traffic_json(report), status);
    const TextOptions text{
        .width = terminal_width(), .ascii = !is_utf8(), .colour = wants_color(options.color)};
    return print_out(traffic_text(report, text), status);
}

void add_which_flows(CLI::App& command, TrafficClientOptions& options) {
    constexpr const char* group = "Which flows";
    command.add_option("-n,--flows", options.flows, "How many; without it as many as --ports lists, or one")
        ->type_name("N")
        ->check(CLI::Range(std::size_t{1}, max_flows))
        ->group(group);
    command
        .add_option("--ports", options.ports,
                    "Source ports: kernel, random, sequential[:STEP], even, 40000-40063,41000, a FILE of "
                    "such; with --bond: balanced, reach:SLAVE")
        ->type_name("PORTS")
        ->capture_default_str()
        ->group(group);
    auto* bond = command.add_option("--bond", options.bond, "The bond that the flows leave through")
                     ->type_name("BOND")
                     ->group(group);
    command.add_option("--per-slave", options.per_slave, "So many flows on each usable slave of --bond")
        ->type_name("K")
        ->check(CLI::Range(std::size_t{1}, max_flows))
        ->needs(bond)
        ->group(group);
    command.add_option("--era", options.era, "The kernel's hash: a release (6.1, 5.10), or traits")
        ->type_name("ERA")
        ->needs(bond)
        ->group(group);
    command
        .add_flag("--like-host", options.like_host,
                  "Source ports like those of this host's own connections at the moment")
        ->group(group);
    add_tuples(command, options);
}

void add_client(CLI::App& parent, ExitStatus& status) {
    const auto options = std::make_shared<TrafficClientOptions>();
    CLI::App* command =
        parent.add_subcommand("client", "Ask a server for a test, drive it, report both ends");
    command->add_option("HOST", options->host, "The server: an address or a name")->required();
    command->add_option("-p,--port", options->port, "Its port, for control and data")
        ->type_name("PORT")
        ->check(CLI::Range(1, 65535))
        ->capture_default_str();
    add_which_flows(*command, *options);
    add_how_driven(*command, *options);
    command->add_option("-i,--interval", options->interval, "Time between progress lines: 1s, 100ms")
        ->type_name("DURATION")
        ->capture_default_str();
    command->add_option("--title", options->title, "Stands at the top of the report")->type_name("TEXT");
    command->add_flag("--json", options->json, "A JSON document (docs/schema/traffic.schema.json)");
    add_color_option(*command, options->color);
    command
        ->add_option("--netns", options->common.netns,
                     "Send from this network namespace: a name, a PID or a path")
        ->type_name("NAME|PID|PATH");
    command->add_flag("-v,--verbose", options->common.verbose,
                      "Show the features in use, and progress with --json");
    command->footer(
        "Examples:\n"
        "  bondtrace traffic client 10.0.0.2                         one connection, 10 s\n"
        "  bondtrace traffic client 10.0.0.2 --flows 8 --ports even  as iperf opens them\n"
        "  bondtrace traffic client 10.0.0.2 --bond bond0 --per-slave 4\n"
        "  bondtrace traffic client 10.0.0.2 --bond bond0 --ports reach:eth1 --flows 4 --direction both\n"
        "  bondtrace traffic client 10.0.0.2 --udp --flows 100 --total-rate 1G\n"
        "  bondtrace traffic client 10.0.0.2 --flows 10000 --for 1m --json > result.json\n"
        "Ctrl-C ends the test early, with the result so far, at both ends.\n"
        "Exit status: 0 fine, 1 some flows failed or the server ended it, 3 nothing was measured or\n"
        "the server was lost, 64 wrong usage.");
    command->callback([options, &status] { status = run_traffic_client(*options); });
}

} // namespace

void add_traffic_command(CLI::App& app, ExitStatus& status) {
    CLI::App* command = app.add_subcommand("traffic", "Many flows between two hosts, chosen and measured");
    command->require_subcommand(1);
    add_traffic_server(*command, status);
    add_client(*command, status);
    command->footer("Examples:\n"
                    "  bondtrace traffic server --allow 10.0.0.0/24      on one host\n"
                    "  bondtrace traffic client 10.0.0.2 --flows 64      on the other\n"
                    "Neither needs privileges. See bondtrace traffic server --help, client --help.");
}

} // namespace bondtrace
