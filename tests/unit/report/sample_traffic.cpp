// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/report/sample_traffic.h"

#include "user/audit/host_findings.h"

#include <cerrno>

#include <fmt/format.h>

namespace bondtrace::test {
namespace {

using namespace traffic;

constexpr std::uint64_t second = 1'000'000'000;

EndResult make_end(std::size_t flows, bool server, bool v6) {
    EndResult end;
    end.elapsed_ns = 10 * second;
    end.user_ns = server ? second / 5 : second / 10;
    end.system_ns = server ? 8 * second : 9 * second;
    end.congestion = "cubic";
    end.send_buffer = 524288;
    end.receive_buffer = 425984;
    end.features = {"single-issuer", "defer-taskrun", "msg-trunc"};
    const IpAddress here = *parse_ip(v6 ? "fd00::1" : "10.0.0.1"),
                    there = *parse_ip(v6 ? "fd00::2" : "10.0.0.2");
    for (std::size_t i = 0; i < flows; ++i) {
        FlowResult flow;
        flow.established = true;
        const auto port = static_cast<std::uint16_t>(40000 + i % 20000);
        flow.address = server ? FlowAddress{there, here, default_port, port}
                              : FlowAddress{here, there, port, default_port};
        end.flows.push_back(flow);
    }
    return end;
}

TrafficReport base(std::size_t flows, bool v6 = false) {
    TrafficReport report;
    report.header = {"0.1.0", "2026-03-01T12:00:00Z", "6.1.0-30-amd64", "none"};
    report.host = v6 ? "fd00::2" : "10.0.0.2";
    report.client = make_end(flows, false, v6);
    report.server = make_end(flows, true, v6);
    report.plan.wanted = flows;
    report.plan.ports_per_pair = 28232;
    for (std::size_t i = 0; i < flows; ++i)
        report.plan.flows.push_back(report.client.flows[i].address);
    return report;
}

void add_intervals(EndResult& end, std::uint64_t bytes, bool sent) {
    for (std::uint64_t i = 0; i < 10; ++i) {
        Interval interval{i * second, (i + 1) * second, 0, 0, 0, 0};
        (sent ? interval.sent_bytes : interval.received_bytes) = bytes / 10 + i * 1000;
        end.intervals.push_back(interval);
    }
}

TrafficReport tcp() {
    TrafficReport report = base(12);
    report.title = "twelve \"flows\" of a sample";
    report.ports.pattern = PortPattern::balanced;
    report.plan.slaves = {"eth0", "eth1", "eth2"};
    for (std::size_t i = 0; i < 12; ++i) {
        report.plan.slave_of.push_back(static_cast<std::uint32_t>(i % 3));
        FlowResult& sender = report.client.flows[i];
        sender.sent_bytes = 1'250'000'000 + i * 1000;
        sender.tcp = TcpFacts{i, 40, 55, 120, i == 3 ? 2U : 0U};
        report.server->flows[i].received_bytes = 1'250'000'000;
        report.server->flows[i].tcp = TcpFacts{0, 42, 60, 90, 0};
    }
    add_intervals(report.client, 15'000'000'000, true);
    add_intervals(*report.server, 15'000'000'000, false);
    return report;
}

TrafficReport many() {
    TrafficReport report = base(10'000, true);
    report.options.direction = Direction::both;
    report.options.no_copy = true;
    report.options.window = 524288;
    report.options.congestion = "cubic";
    report.options.dscp = 46;
    report.options.cpus = {0, 1};
    report.ports.pattern = PortPattern::random;
    for (std::size_t i = 0; i < 10'000; ++i) {
        FlowResult& here = report.client.flows[i];
        FlowResult& there = report.server->flows[i];
        if (i % 100 == 7) {
            here.established = there.established = false;
            here.failure = i < 5000 ? "nobody listens on fd00::2 port 5477 (ECONNREFUSED)"
                                    : "the process may not open more files (EMFILE)";
            continue;
        }
        here.sent_bytes = there.received_bytes = 1000 * (i + 1);
        there.sent_bytes = here.received_bytes = 500 * (i + 1);
        here.tcp = there.tcp = TcpFacts{1, 40, 55, 120, 0};
        here.stalled_intervals = i == 4 ? 3 : 0;
    }
    report.interrupted = true;
    report.verbose = true;
    report.stopped_by_server = "it was stopped";
    report.notes = {"a note with \x1b[31mcolour and \xff bytes"};
    report.client.notes = {"the window was cut"};
    report.server->notes = {"the window was cut there"};
    report.findings = {*socket_buffer_finding({524288, 425984, 425984, "the server"}),
                       *fd_limit_finding({10100, 1024, 4096, 1048576})};
    return report;
}

TrafficReport udp() {
    TrafficReport report = base(3);
    report.options.transport = Transport::udp;
    report.options.direction = Direction::both;
    report.options.length = 64;
    report.options.rate = 1e8;
    report.options.gso = true;
    report.client.congestion = report.server->congestion = "";
    for (std::size_t i = 0; i < 3; ++i) {
        for (FlowResult* flow : {&report.client.flows[i], &report.server->flows[i]}) {
            flow->sent_packets = 1000;
            flow->sent_bytes = 64'000;
            flow->received_packets = 990 - i;
            flow->received_bytes = flow->received_packets * 64;
            flow->udp = UdpFacts{10 + i, 3, 1, 12.5};
        }
    }
    return report;
}

TrafficReport alone() {
    TrafficReport report = tcp();
    report.server.reset();
    report.broken = "the server was not heard of for 10 s";
    report.findings = {reject_finding({*parse_ip("10.0.0.2"), 5477, false, EHOSTUNREACH, "bond0",
                                       *parse_ip("10.0.0.2"), false, "REACHABLE", std::nullopt})};
    return report;
}

} // namespace

TrafficReport sample_traffic(std::string_view which) {
    TrafficReport report = which == "many"    ? many()
                           : which == "udp"   ? udp()
                           : which == "alone" ? alone()
                                              : tcp();
    report.summary = summarize(report.options, report.client, report.server ? &*report.server : nullptr);
    return report;
}

} // namespace bondtrace::test
