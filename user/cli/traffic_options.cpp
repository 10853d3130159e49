// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/traffic_options.h"

#include "user/base/units.h"

#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace bondtrace {

using namespace traffic;

ProgressLine::ProgressLine(bool wanted, const TestOptions& options)
    : wanted_(wanted), terminal_(isatty(STDERR_FILENO) != 0), options_(options) {}

ProgressLine::~ProgressLine() {
    if (shown_ && terminal_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressLine::show(const Progress& progress) {
    if (!wanted_) return;
    shown_ = true;
    const Interval& interval = progress.interval;
    const double seconds = static_cast<double>(interval.end_ns - interval.begin_ns) / 1e9;
    std::string text =
        fmt::format("{:6.1f} s  {} flows", static_cast<double>(interval.end_ns) / 1e9, progress.flows);
    const auto rate = [&](const char* verb, std::uint64_t bytes, std::uint64_t packets) {
        text += fmt::format("  {} {}", verb, format_bit_rate(static_cast<double>(bytes) * 8 / seconds));
        if (options_.transport == Transport::udp)
            text += fmt::format(
                " ({}/s)", format_count(static_cast<std::uint64_t>(static_cast<double>(packets) / seconds)));
    };
    if (options_.direction != Direction::down) rate("sends", interval.sent_bytes, interval.sent_packets);
    if (options_.direction != Direction::up)
        rate("receives", interval.received_bytes, interval.received_packets);
    if (terminal_)
        fmt::print(stderr, "\r{}\x1b[K", text);
    else
        fmt::print(stderr, "{}\n", text);
    std::fflush(stderr);
}

void add_tuples(CLI::App& command, TrafficClientOptions& options) {
    constexpr const char* group = "Which flows";
    auto* udp = command.add_flag("--udp", options.udp, "Datagrams, numbered and timed")->group(group);
    command.add_flag("--tcp", options.tcp, "Connections (the default)")->excludes(udp)->group(group);
    auto* bind =
        command.add_option("--bind", options.bind, "The source address")->type_name("ADDRESS")->group(group);
    command.add_option("--sources", options.sources, "Several: every one with every destination")
        ->type_name("A,B,...")
        ->excludes(bind)
        ->group(group);
    command.add_option("--destinations", options.destinations, "Several addresses of the server")
        ->type_name("A,B,...")
        ->group(group);
    command.add_option("--seed", options.seed, "Of everything random")
        ->type_name("N")
        ->capture_default_str()
        ->group(group);
}

void add_how_driven(CLI::App& command, TrafficClientOptions& options) {
    constexpr const char* group = "How they are driven";
    const std::map<std::string, traffic::Direction> directions{{"up", traffic::Direction::up},
                                                               {"down", traffic::Direction::down},
                                                               {"both", traffic::Direction::both}};
    command.add_option("--direction", options.direction, "up (to HOST), down, both on each flow")
        ->type_name("WAY")
        ->transform(CLI::CheckedTransformer(directions).description(""))
        ->default_str("up")
        ->group(group);
    command.add_option("--for", options.duration, "How long: 10s, 500ms, 2m")
        ->type_name("DURATION")
        ->capture_default_str()
        ->group(group);
    command.add_option("--bytes", options.bytes, "Until so much was sent on each flow: 100M, 4Gi")
        ->type_name("AMOUNT")
        ->group(group);
    command.add_option("--length", options.length, "Bytes a send; UDP: of a datagram's payload")
        ->type_name("AMOUNT")
        ->group(group);
    command.add_option("--window", options.window, "Socket buffers (SO_SNDBUF, SO_RCVBUF) to ask for")
        ->type_name("AMOUNT")
        ->group(group);
    auto* rate = command.add_option("--rate", options.rate, "Payload of each flow and direction: 100M, 2.5G")
                     ->type_name("BIT/S")
                     ->group(group);
    command.add_option("--total-rate", options.total_rate, "The same for all flows together")
        ->type_name("BIT/S")
        ->excludes(rate)
        ->group(group);
    command
        .add_option("--pace", options.pace,
                    "Between two sends of a flow: none, busy:N (multiplications), yield, sleep:MICROSECONDS")
        ->type_name("HOW")
        ->capture_default_str()
        ->group(group);
    command.add_option("--threads", options.threads, "Threads at each end; one for each CPU without it")
        ->type_name("N")
        ->check(CLI::Range(1U, 1024U))
        ->group(group);
    command.add_option("--cpu", options.cpus, "CPUs for this end's threads")
        ->type_name("N,...")
        ->delimiter(',')
        ->group(group);
    command
        .add_option("--congestion", options.congestion, "TCP congestion control, set before the connection")
        ->type_name("NAME")
        ->group(group);
    command.add_option("--dscp", options.dscp, "DSCP of the packets, 0 to 63")
        ->type_name("N")
        ->check(CLI::Range(0, 63))
        ->group(group);
    command
        .add_flag("--no-copy", options.no_copy,
                  "Send constant pages without copying them, and discard at the receiver without reading")
        ->group(group);
    command
        .add_flag("--gso", options.gso,
                  "UDP: let the kernel cut and join datagrams (UDP_SEGMENT, UDP_GRO): faster, and no "
                  "measure of the price of a packet")
        ->group(group);
    command
        .add_option("--without", options.masked, "Features not to be used, for tests: see --json's features")
        ->type_name("FEATURE,...")
        ->group(group);
}

} // namespace bondtrace
