// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/traffic_command.h"

#include "user/base/units.h"
#include "user/traffic/client.h"
#include "user/traffic/option_names.h"
#include "user/traffic/server.h"
#include "version.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <unistd.h>

namespace bondtrace {
namespace {

using namespace traffic;

struct ServerOptions {
    CommonOptions common;
    std::string listen;
    std::uint16_t port = default_port;
    std::vector<std::string> allow;
    bool once = false;
};

struct ClientOptions {
    CommonOptions common;
    std::string host;
    std::uint16_t port = default_port;
    std::size_t flows = 1;
    bool udp = false;
    std::string direction = "up";
    std::string duration = "10s";
    std::uint64_t bytes = 0;
    std::uint32_t length = 0, window = 0;
    double rate = 0;
    std::string pace = "none";
    unsigned threads = 0;
    std::vector<unsigned> cpus;
    std::string congestion;
    bool no_copy = false, gso = false, json = false;
    std::string mask;
};

ExitStatus run_server_command(const ServerOptions& options) {
    ServerConfig config;
    config.port = options.port;
    config.once = options.once;
    config.version = version;
    if (!options.listen.empty()) config.listen = parse_ip(options.listen);
    const auto signals = open_signals();
    if (!signals) return report_error(signals.error());
    const auto report =
        run_server(config,
                   [](const ServerEvent& event) {
                       fmt::print(stderr, "{} {} {}\n", static_cast<int>(event.kind), event.peer, event.text);
                   },
                   {signals->get()});
    if (!report) return report_error(report.error());
    return report->partial != 0 ? ExitStatus::findings : ExitStatus::fine;
}

ExitStatus run_client_command(const ClientOptions& options) {
    ClientRequest request;
    request.host = parse_ip(options.host).value_or(IpAddress{});
    request.port = options.port;
    request.version = version;
    request.options.transport = options.udp ? Transport::udp : Transport::tcp;
    request.options.direction = parse_direction(options.direction).value_or(Direction::up);
    request.options.duration = parse_duration(options.duration).value_or(std::chrono::seconds(10));
    request.options.bytes = options.bytes;
    request.options.length = options.length;
    request.options.window = options.window;
    request.options.rate = options.rate;
    request.options.threads = options.threads;
    request.options.cpus = options.cpus;
    request.options.congestion = options.congestion;
    request.options.no_copy = options.no_copy;
    request.options.gso = options.gso;
    const auto colon = options.pace.find(':');
    request.options.pace.kind = parse_pace_kind(options.pace.substr(0, colon)).value_or(Pace::Kind::none);
    if (colon != std::string::npos) request.options.pace.amount = std::stoull(options.pace.substr(colon + 1));
    request.masked = parse_features(options.mask).value_or(FeatureSet{});
    request.flows.assign(options.flows,
                         FlowAddress{IpAddress{request.host.v6, {}}, request.host, 0, options.port});
    const auto signals = open_signals();
    if (!signals) return report_error(signals.error());
    const auto outcome = run_client(request, {}, {signals->get()});
    if (!outcome) return report_error(outcome.error());
    const auto show = [](const char* name, const EndResult& end) {
        std::uint64_t sent = 0, received = 0, stalled = 0, sent_packets = 0, received_packets = 0;
        for (const FlowResult& flow : end.flows) {
            sent += flow.sent_bytes;
            received += flow.received_bytes;
            sent_packets += flow.sent_packets;
            received_packets += flow.received_packets;
            stalled += flow.stalled_intervals;
        }
        const double seconds = static_cast<double>(end.elapsed_ns) / 1e9;
        const double both = static_cast<double>(sent + received);
        fmt::print(
            "{}: {:.3f} s, sent {} ({}), received {} ({}), packets {} {}, CPU {:.3f} + {:.3f} s, {:.4f} "
            "us/KB, "
            "stalled {}, buffers {} {}, {} [{}] {}\n",
            name, seconds, format_bytes(sent), format_bit_rate(static_cast<double>(sent) * 8 / seconds),
            format_bytes(received), format_bit_rate(static_cast<double>(received) * 8 / seconds),
            sent_packets, received_packets, static_cast<double>(end.user_ns) / 1e9,
            static_cast<double>(end.system_ns) / 1e9,
            static_cast<double>(end.user_ns + end.system_ns) / 1e3 / (both / 1024), stalled, end.send_buffer,
            end.receive_buffer, end.congestion, fmt::join(end.features, ","), fmt::join(end.notes, "; "));
    };
    show("client", outcome->client);
    if (outcome->server) show("server", *outcome->server);
    if (outcome->broken) return report_error(*outcome->broken);
    return outcome->established == outcome->asked ? ExitStatus::fine : ExitStatus::findings;
}

} // namespace

void add_traffic_command(CLI::App& app, ExitStatus& status) {
    CLI::App* command = app.add_subcommand("traffic", "Many flows between two hosts, chosen and measured");
    command->require_subcommand(1);
    const auto server = std::make_shared<ServerOptions>();
    CLI::App* serve = command->add_subcommand("server", "The end that answers");
    serve->add_option("--listen", server->listen, "");
    serve->add_option("--port", server->port, "");
    serve->add_flag("--once", server->once, "");
    serve->callback([server, &status] { status = run_server_command(*server); });
    const auto client = std::make_shared<ClientOptions>();
    CLI::App* ask = command->add_subcommand("client", "The end that asks for a test");
    ask->add_option("HOST", client->host, "")->required();
    ask->add_option("--port", client->port, "");
    ask->add_option("--flows", client->flows, "");
    ask->add_flag("--udp", client->udp, "");
    ask->add_option("--direction", client->direction, "");
    ask->add_option("--for", client->duration, "");
    ask->add_option("--bytes", client->bytes, "");
    ask->add_option("--length", client->length, "");
    ask->add_option("--window", client->window, "");
    ask->add_option("--rate", client->rate, "");
    ask->add_option("--pace", client->pace, "");
    ask->add_option("--threads", client->threads, "");
    ask->add_option("--cpu", client->cpus, "")->delimiter(',');
    ask->add_option("--congestion", client->congestion, "");
    ask->add_flag("--no-copy", client->no_copy, "");
    ask->add_flag("--gso", client->gso, "");
    ask->add_option("--mask-features", client->mask, "");
    ask->callback([client, &status] { status = run_client_command(*client); });
}

} // namespace bondtrace
