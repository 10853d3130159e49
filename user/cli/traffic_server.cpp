// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/traffic_server.h"

#include "user/base/privileges.h"
#include "user/base/text.h"
#include "user/base/units.h"
#include "user/bond/netlink_reader.h"
#include "user/cli/far_tracer.h"
#include "user/traffic/option_names.h"
#include "user/traffic/preflight.h"
#include "user/traffic/server.h"
#include "version.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace traffic;

struct TrafficServerOptions {
    CommonOptions common;
    std::string listen, masked, trace;
    std::uint16_t port = default_port;
    std::vector<std::string> allow;
    bool once = false;
};

Result<ServerConfig> understand(const TrafficServerOptions& options) {
    ServerConfig config;
    config.port = options.port;
    config.once = options.once;
    config.version = version;
    if (!options.listen.empty()) {
        config.listen = parse_ip(options.listen);
        if (!config.listen)
            return fail(ErrorKind::usage,
                        fmt::format("--listen: \"{}\" is no IP address", sanitize(options.listen)),
                        "give one of this host's addresses, 0.0.0.0 for all of IPv4, :: for all");
    }
    for (const std::string& text : options.allow) {
        const auto prefix = parse_prefix(text);
        if (!prefix)
            return fail(ErrorKind::usage, fmt::format("--allow: \"{}\" is no prefix", sanitize(text)),
                        "write it like 10.0.0.0/8, 2001:db8::/32 or 192.0.2.7");
        config.allow.push_back(*prefix);
    }
    const auto masked = parse_features(options.masked);
    if (!masked) return fail(ErrorKind::usage, "--without: " + masked.error().what, masked.error().advice);
    config.masked = *masked;
    return config;
}

std::string asked_for(const ServerEvent& event) {
    const bool timed = event.options.duration.count() != 0;
    return fmt::format("{} {} flows {} for {}", event.flows, name_of(event.options.transport),
                       name_of(event.options.direction),
                       timed ? format_duration(event.options.duration)
                             : format_bytes(event.options.bytes) + " each");
}

std::string measured(const EndResult& result) {
    std::uint64_t sent = 0, received = 0;
    for (const FlowResult& flow : result.flows) {
        sent += flow.sent_bytes;
        received += flow.received_bytes;
    }
    const double seconds = static_cast<double>(result.elapsed_ns) / 1e9;
    std::string text;
    const auto part = [&](const char* verb, std::uint64_t bytes) {
        if (bytes == 0) return;
        text += fmt::format("{} {}", verb, format_bytes(bytes));
        if (seconds > 0)
            text += fmt::format(" ({})", format_bit_rate(static_cast<double>(bytes) * 8 / seconds));
        text += ", ";
    };
    part("sent", sent);
    part("received", received);
    return text + fmt::format("CPU {:.2f} s user, {:.2f} s system", static_cast<double>(result.user_ns) / 1e9,
                              static_cast<double>(result.system_ns) / 1e9);
}

void say(const ServerEvent& event, bool verbose, bool restricted) {
    const std::string text = sanitize(event.text);
    switch (event.kind) {
    case ServerEvent::Kind::listening:
        fmt::print(stderr, "listening on {} for control and data (TCP, UDP)\n", event.peer);
        if (!restricted)
            fmt::print(stderr,
                       "  every host that reaches this port can have traffic sent to and from here: limit it "
                       "with --listen and --allow\n");
        break;
    case ServerEvent::Kind::refused:
        fmt::print(stderr, "{}: refused: {}\n", event.peer, text);
        break;
    case ServerEvent::Kind::began:
        fmt::print(stderr, "{}: {}\n", event.peer, asked_for(event));
        break;
    case ServerEvent::Kind::progress: {
        if (!verbose) break;
        const Interval& interval = event.interval;
        const double seconds = static_cast<double>(interval.end_ns - interval.begin_ns) / 1e9;
        fmt::print(stderr, "{}: {:6.1f} s  sends {}  receives {}\n", event.peer,
                   static_cast<double>(interval.end_ns) / 1e9,
                   format_bit_rate(static_cast<double>(interval.sent_bytes) * 8 / seconds),
                   format_bit_rate(static_cast<double>(interval.received_bytes) * 8 / seconds));
        break;
    }
    case ServerEvent::Kind::finished:
        fmt::print(stderr, "{}: {}{}\n", event.peer, measured(*event.result),
                   text.empty() ? "" : "; partial: " + text);
        break;
    }
}

// What attaching takes stays for the tests to come; everything else goes before a peer is heard.
Result<void> prepare_tracing(ServerConfig& config, const TrafficServerOptions& options, const NetNs& netns) {
    if (options.trace.empty()) return {};
    const auto reader = LinkReader::open(netns);
    if (!reader) return tl::make_unexpected(reader.error());
    if (const auto bonds = reader->find_bonds({options.trace}); !bonds)
        return tl::make_unexpected(bonds.error());
    const TraceConfig tracing = trace_config(options.common, TraceConfig{}.max_flows);
    config.trace = bond_tracer(netns, options.trace, tracing);
    // Once, so that what is missing is known now and not when a client comes.
    if (const auto tried = config.trace(1); !tried) return tl::make_unexpected(tried.error());
    std::vector<cap_value_t> keep{CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN};
    if (!netns.is_current()) keep.push_back(CAP_SYS_ADMIN);
    return drop_capabilities_except(keep);
}

ExitStatus run_traffic_server(const TrafficServerOptions& options) {
    const auto netns = open_netns(options.common);
    if (!netns) return report_error(netns.error());
    auto config = understand(options);
    if (!config) return report_error(config.error());
    constexpr std::uint64_t spare_descriptors = 2'000; // greetings, control connections, rings
    // As many as may be had: a test that wants more is refused with the reason.
    if (const auto files = raise_file_limit(max_flows + spare_descriptors); !files)
        return report_error(files.error());
    const auto signals = open_signals();
    if (!signals) return report_error(signals.error());
    if (const auto prepared = prepare_tracing(*config, options, *netns); !prepared)
        return report_error(prepared.error());
    const bool restricted = config->listen || !config->allow.empty();
    const auto report = run_in(*netns, [&] {
        return run_server(*config,
                          [&](const ServerEvent& event) { say(event, options.common.verbose, restricted); },
                          {signals->get()});
    });
    if (!report) return report_error(report.error());
    if (report->strays + report->disallowed != 0)
        fmt::print(stderr, "{} connections were dropped that were no flow of a test, {} by --allow\n",
                   report->strays, report->disallowed);
    return report->partial != 0 ? ExitStatus::findings : ExitStatus::fine;
}

} // namespace

void add_traffic_server(CLI::App& traffic, ExitStatus& status) {
    const auto options = std::make_shared<TrafficServerOptions>();
    CLI::App* command = traffic.add_subcommand("server", "Answer clients");
    command
        ->add_option("--listen", options->listen,
                     "The address to listen on. Without it every address of this host: whoever reaches the "
                     "port can have traffic sent to and from here, and nothing else")
        ->type_name("ADDRESS");
    command->add_option("-p,--port", options->port, "TCP and UDP port, for control and data")
        ->type_name("PORT")
        ->check(CLI::Range(1, 65535))
        ->capture_default_str();
    command
        ->add_option("--allow", options->allow,
                     "Only clients within these prefixes: 10.0.0.0/8,2001:db8::/32")
        ->type_name("PREFIX,...")
        ->delimiter(',');
    command->add_flag("--once", options->once, "End after one test");
    command
        ->add_option("--trace", options->trace,
                     "Trace the tests on this bond for clients that ask (bondtrace prove); needs root")
        ->type_name("BOND");
    add_attach_options(*command, options->common, false);
    command->add_option("--without", options->masked, "Features not to be used, for tests")
        ->type_name("FEATURE,...");
    command
        ->add_option("--netns", options->common.netns,
                     "Listen in this network namespace: a name, a PID or a path")
        ->type_name("NAME|PID|PATH");
    command->add_flag("-v,--verbose", options->common.verbose, "A line for each progress interval");
    command->footer(
        "Examples:\n"
        "  bondtrace traffic server --allow 10.0.0.0/24\n"
        "  bondtrace traffic server --listen 10.0.0.2 --once\n"
        "  bondtrace traffic server --allow 10.0.0.0/24 --trace bond0     for bondtrace prove\n"
        "Without --trace it needs no privileges. It connects nowhere and runs nothing. Limits: 16 clients, "
        "50000 flows, one "
        "UDP\n"
        "test at a time, 5 s to say what a connection is for. Ctrl-C ends it; tests under way get their\n"
        "result so far.\n"
        "Exit status: 0 fine, 1 a test was cut short, 3 could not listen, 64 wrong usage.");
    command->callback([options, &status] { status = run_traffic_server(*options); });
}

} // namespace bondtrace
