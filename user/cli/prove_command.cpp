// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/prove_command.h"

#include "user/audit/audit.h"
#include "user/audit/statistics.h"
#include "user/bond/device_reader.h"
#include "user/bond/manager.h"
#include "user/bond/netlink_reader.h"
#include "user/bond/next_hop.h"
#include "user/cli/far_tracer.h"
#include "user/cli/followed_observation.h"
#include "user/cli/traffic_options.h"
#include "user/cli/traffic_plan.h"
#include "user/cli/window.h"
#include "user/probe/era_probe.h"
#include "user/prove/match.h"
#include "user/report/flows_build.h"
#include "user/report/prove_report.h"
#include "user/trace/flow_dissector.h"
#include "user/traffic/preflight.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

constexpr std::size_t flows_per_slave = 32; // enough for a verdict about any number of slaves

struct ProveOptions {
    TrafficClientOptions test; // its bond and host are the proof's
    bool plan = false;
    double tolerance = 10, confidence = 95; // percent
};

// Everything that is there before the first packet.
struct Preparation {
    ClientRequest request;
    Bond before;
    EraFinding era;
    bool dissector = true;
};

// The flows must leave through the bond, or nothing of them will be seen on it.
Result<void> check_route(const NetNs& netns, const Bond& bond, const ClientRequest& request) {
    const FlowAddress& flow = request.flows.front();
    const auto hop = find_next_hop(netns, bond, flow.local, flow.remote);
    if (!hop) return tl::make_unexpected(hop.error());
    // With a source MAC address it is this bond's way; a peer that has not been heard of is asked for by the
    // first packet.
    if (hop->problem.empty() || hop->src_mac) return {};
    return fail(ErrorKind::unavailable, hop->problem, hop->advice);
}

Result<Preparation> prepare(ProveOptions& options, const NetNs& netns, TrafficReport& report) {
    auto request = understand(options.test);
    if (!request) return tl::make_unexpected(request.error());
    const auto choice = parse_port_choice(options.test.ports, read_port_file);
    if (!choice) return tl::make_unexpected(choice.error());
    if (choice->pattern == PortPattern::reach)
        return fail(ErrorKind::usage, "--ports reach puts every flow on one slave, which proves no balance",
                    "use bondtrace traffic client for that, or --ports balanced");
    const auto reader = LinkReader::open(netns);
    if (!reader) return tl::make_unexpected(reader.error());
    const auto bonds = reader->find_bonds({options.test.bond});
    if (!bonds) return tl::make_unexpected(bonds.error());
    Preparation ready{std::move(*request), bonds->front(), {}, true};
    if (!options.test.flows && choice->pattern != PortPattern::list)
        options.test.flows = flows_per_slave * std::max<std::size_t>(ready.before.slaves.size(), 2);
    if (const auto planned = plan_flows(options.test, netns, ready.request, report); !planned)
        return tl::make_unexpected(planned.error());
    if (const auto routed = check_route(netns, ready.before, ready.request); !routed)
        return tl::make_unexpected(routed.error());
    ready.dissector = flow_dissector_attached(netns).value_or(true);
    const auto era = find_era_for_checking();
    if (!era) return tl::make_unexpected(era.error());
    ready.era = *era;
    return ready;
}

// What this end saw, as far as it is about the test.
void add_trace(ProofInput& input, FlowsReport& traffic, Transport transport) {
    const auto matches = match_flows(traffic, 0, transport, input.plan.flows);
    input.near = trace_of(traffic, 0, matches);
    input.predictions.resize(matches.size());
    std::vector<Conversation> of_test;
    for (std::size_t i = 0; i < matches.size(); ++i)
        for (const std::size_t position : matches[i]) {
            if (!input.predictions[i]) input.predictions[i] = traffic.flows[position].prediction;
            of_test.push_back(traffic.flows[position]);
        }
    traffic.flows = std::move(of_test);
    traffic.flows_total = traffic.flows_matching = traffic.flows.size();
}

// The state and the balance of the bond, judged by the test's flows alone.
Result<void> add_audit(ProofInput& input, FlowsReport traffic, const Preparation& ready, const NetNs& netns) {
    const auto reader = LinkReader::open(netns);
    if (!reader) return tl::make_unexpected(reader.error());
    auto bonds = reader->read_bonds();
    if (!bonds) return tl::make_unexpected(bonds.error());
    AuditInput audited;
    audited.before = {ready.before};
    audited.era = ready.era.era;
    for (Bond& bond : *bonds)
        if (bond.ifindex == ready.before.ifindex) audited.bonds.push_back(std::move(bond));
    if (audited.bonds.empty()) {
        input.broken = fmt::format("{} was removed while it was traced", ready.before.name);
        return {};
    }
    Bond& bond = audited.bonds.front();
    if (netns.is_current()) bond.manager = find_manager("/", bond.name, bond.ifindex);
    // A proof stands without them.
    (void)add_device_facts(netns, bond);
    audited.traffic = std::move(traffic);
    AuditResult result = audit(audited, {});
    input.tx = std::move(result.bonds.front().tx);
    input.rx = std::move(result.bonds.front().rx);
    // The checks say that, with the numbers.
    std::erase_if(result.findings, [](const Finding& finding) { return finding.id == "hash.too-few-flows"; });
    std::move(result.findings.begin(), result.findings.end(), std::back_inserter(input.findings));
    return {};
}

void add_test(ProofInput& input, TrafficReport& report, const TestOutcome& outcome) {
    input.host = report.host;
    input.options = report.options;
    input.ports = report.ports;
    input.plan = report.plan;
    input.client = report.client;
    input.server = report.server;
    input.summary = report.summary;
    input.far = outcome.far;
    input.untraced = outcome.untraced;
    if (!outcome.stopped_by_server.empty()) // what was asked for was not tested
        input.broken = "the server ended the test: " + outcome.stopped_by_server;
    if (outcome.broken) input.broken = outcome.broken->what;
    // With the ports that the kernel chose.
    for (std::size_t i = 0; i < input.plan.flows.size() && i < report.client.flows.size(); ++i)
        if (report.client.flows[i].address.local_port != 0)
            input.plan.flows[i] = report.client.flows[i].address;
}

ExitStatus print_plan(const ProveOptions& options, std::size_t slaves) {
    const auto permille =
        static_cast<unsigned>(1000.0 / static_cast<double>(slaves) * (1 + options.tolerance / 100));
    const auto needed = flows_needed(static_cast<unsigned>(slaves), permille, options.confidence / 100);
    if (!needed)
        return report_error(
            {ErrorKind::unavailable,
             fmt::format("no number of flows up to a million is that even over {} slaves", slaves),
             "allow more tolerance or less confidence"});
    return print_out(
        fmt::format("{} flows over {} slaves: with them no slave gets more than {:.4g} % of the flows "
                    "(its share and {:.4g} % of it) with a probability of {:.4g} %\n",
                    *needed, slaves, static_cast<double>(permille) / 10, options.tolerance,
                    options.confidence),
        ExitStatus::fine);
}

ExitStatus run_plan(const ProveOptions& options, const NetNs& netns) {
    const auto reader = LinkReader::open(netns);
    if (!reader) return report_error(reader.error());
    const auto bonds = reader->find_bonds({options.test.bond});
    if (!bonds) return report_error(bonds.error());
    const std::size_t slaves = path_bond(bonds->front(), newest_era, false).usable.size();
    if (slaves < 2)
        return report_error({ErrorKind::unavailable,
                             fmt::format("{} has {} usable slaves: there is nothing to spread over",
                                         options.test.bond, slaves),
                             "see bondtrace audit " + options.test.bond});
    return print_plan(options, slaves);
}

ExitStatus run_prove(ProveOptions options) {
    const auto netns = open_netns(options.test.common);
    if (!netns) return report_error(netns.error());
    if (options.plan) return run_plan(options, *netns);
    if (options.test.host.empty())
        return report_error({ErrorKind::usage, "--peer is missing",
                             "give the host on which `bondtrace traffic server --trace BOND` runs"});
    ProveReport report;
    TrafficReport& test = report.test;
    test.header = make_header("none");
    test.title = options.test.title;
    test.host = options.test.host;
    test.port = options.test.port;
    test.verbose = options.test.common.verbose;
    auto ready = prepare(options, *netns, test);
    if (!ready) return report_error(ready.error());
    const auto signals = open_signals();
    if (!signals) return report_error(signals.error());
    TraceConfig tracing = trace_config(options.test.common, TraceConfig{}.max_flows);
    tracing.max_flows = std::max(tracing.max_flows, entries_for(ready->request.flows.size()));
    auto observation = FollowedObservation::start(*netns, {options.test.bond}, tracing);
    if (!observation) return report_error(observation.error());
    if (const auto dropped = drop_privileges(*netns); !dropped) return report_error(dropped.error());
    (*observation)->follow();
    if (options.test.common.verbose) say_attachment((*observation)->observation());

    std::optional<Result<Observed>> observed;
    ready->request.trace = true;
    ready->request.collected = [&] { observed = (*observation)->finish(); };
    auto outcome = Result<TestOutcome>{};
    {
        ProgressLine line(!options.test.json || options.test.common.verbose, ready->request.options);
        outcome = run_in(*netns, [&] {
            return run_client(ready->request, [&](const Progress& progress) { line.show(progress); },
                              {signals->get()});
        });
    }
    if (!outcome) return report_error(outcome.error());
    if (!observed) observed = (*observation)->finish();
    if (!*observed) return report_error(observed->error());

    test.header.attach = (*observed)->attachment;
    test.options = ready->request.options;
    test.client = outcome->client;
    test.server = outcome->server;
    test.summary = summarize(test.options, test.client, test.server ? &*test.server : nullptr);
    test.interrupted = outcome->stopped;
    test.stopped_by_server = outcome->stopped_by_server;
    if (outcome->broken) test.broken = outcome->broken->what;
    ProofInput& input = report.input;
    input.findings = std::move(test.findings);
    test.findings.clear();
    std::move(outcome->findings.begin(), outcome->findings.end(), std::back_inserter(input.findings));
    if (test.server)
        for (Finding& finding : window_findings(test.options, test.client, *test.server))
            input.findings.push_back(std::move(finding));
    add_test(input, test, *outcome);
    const auto mtu = run_in(*netns, [&]() -> Result<std::uint32_t> { return path_mtu(ready->request.host); });
    if (mtu) input.mtu = *mtu; // else Ethernet's: it is only for what the slaves could carry
    FlowsReport traffic = build_flows_report(**observed, test.header, options.test.common.netns);
    add_predictions(traffic, **observed, ready->era, ready->dissector);
    add_trace(input, traffic, test.options.transport);
    if (const auto audited = add_audit(input, std::move(traffic), *ready, *netns); !audited)
        return report_error(audited.error());
    report.proof = prove(input);
    const TextOptions text{
        .width = terminal_width(), .ascii = !is_utf8(), .colour = wants_color(options.test.color)};
    return print_out(options.test.json ? prove_json(report) : prove_text(report, text), report.proof.status);
}

void add_flow_options(CLI::App& command, TrafficClientOptions& test) {
    constexpr const char* group = "Which flows";
    command.add_option("-n,--flows", test.flows, "How many; 32 for each slave without it")
        ->type_name("N")
        ->check(CLI::Range(std::size_t{1}, max_flows))
        ->group(group);
    command
        .add_option(
            "--ports", test.ports,
            "Source ports: random, sequential[:STEP], even (as connect() gives them), balanced (as many "
            "flows on each slave), kernel, 40000-40063,41000, a FILE of such")
        ->type_name("PORTS")
        ->capture_default_str()
        ->group(group);
    add_tuples(command, test);
}

} // namespace

void add_prove_command(CLI::App& app, ExitStatus& status) {
    const auto options = std::make_shared<ProveOptions>();
    options->test.ports = "random";
    CLI::App* command = app.add_subcommand(
        "prove", "Generate flows, trace them at both ends, hold them against the prediction");
    command->add_option("BOND", options->test.bond, "The bond that the flows leave through")->required();
    command->add_option("--peer", options->test.host, "Where `bondtrace traffic server --trace BOND` runs")
        ->type_name("HOST");
    command->add_option("-p,--port", options->test.port, "The server's port")
        ->type_name("PORT")
        ->check(CLI::Range(1, 65535))
        ->capture_default_str();
    add_flow_options(*command, options->test);
    add_how_driven(*command, options->test);
    auto* plan = command->add_flag("--plan", options->plan, "Only say how many flows a verdict needs");
    command
        ->add_option("--tolerance", options->tolerance, "Of --plan: how much more than its share, in percent")
        ->type_name("PERCENT")
        ->check(CLI::Range(0.1, 900.0))
        ->capture_default_str()
        ->needs(plan);
    command->add_option("--confidence", options->confidence, "Of --plan: how sure, in percent")
        ->type_name("PERCENT")
        ->check(CLI::Range(50.0, 99.9999))
        ->capture_default_str()
        ->needs(plan);
    command->add_option("-i,--interval", options->test.interval, "Time between progress lines: 1s, 100ms")
        ->type_name("DURATION")
        ->capture_default_str();
    command->add_option("--title", options->test.title, "Stands at the top of the report")->type_name("TEXT");
    command->add_flag("--json", options->test.json, "A JSON document (docs/schema/prove.schema.json)");
    add_color_option(*command, options->test.color);
    add_common_options(*command, options->test.common);
    add_attach_options(*command, options->test.common, false);
    command->footer(
        "Examples:\n"
        "  bondtrace traffic server --allow 10.0.0.0/24 --trace bond0       on 10.0.0.2\n"
        "  bondtrace prove bond0 --peer 10.0.0.2                            here\n"
        "  bondtrace prove bond0 --peer 10.0.0.2 --ports balanced --flows 8\n"
        "  bondtrace prove bond0 --peer 10.0.0.2 --direction both --for 30s --json\n"
        "  bondtrace prove bond0 --plan --tolerance 10 --confidence 95\n"
        "Ctrl-C ends the test early, with the result so far.\n"
        "Exit status: 0 PASS, 1 FAIL, 2 FAIL with critical findings, 3 cannot tell (no server, nothing\n"
        "predictable, the test broke), 64 wrong usage.");
    command->callback([options, &status] { status = run_prove(*options); });
}

} // namespace bondtrace
