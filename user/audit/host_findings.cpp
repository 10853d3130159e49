// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/audit/host_findings.h"

#include "user/base/result.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::uint64_t kernel_doubles = 2; // socket(7), SO_SNDBUF
constexpr std::size_t widest_range = 65535 - 1024 + 1;

Finding warning(std::string id, std::string summary) {
    Finding finding;
    finding.id = std::move(id);
    finding.severity = Severity::warning;
    finding.summary = std::move(summary);
    return finding;
}

std::string limit_text(std::uint64_t limit) {
    return limit == UINT64_MAX ? "unlimited" : std::to_string(limit);
}

} // namespace

Finding reject_finding(const RejectFacts& facts) {
    const std::string peer = to_text(facts.peer), hop = to_text(facts.next_hop);
    const char* const protocol = facts.udp ? "udp" : "tcp";
    Finding finding =
        warning("host.no-route-vs-reject",
                facts.gateway ? fmt::format("{} is rejected beyond the gateway {}, which answers", peer, hop)
                              : fmt::format("the firewall of {} rejects the flows", peer));
    finding.seen = fmt::format(
        "{} on {} port {}; next hop {} dev {}{} {}", errno_text(facts.error), peer, facts.port, hop,
        facts.device, facts.mac ? " lladdr " + to_text(*facts.mac) : std::string(), facts.neighbour_state);
    finding.why = facts.gateway
                      ? "There is a route and its gateway answers: the error is an ICMP message of a router "
                        "that cannot reach the host, or of a firewall that rejects."
                      : "The host answers ARP or neighbour solicitations, so it is there and the cable is "
                        "good: the error is an ICMP message of its firewall's REJECT, not of the routing.";
    finding.fixes = {
        {"firewalld", fmt::format("firewall-cmd --add-port={}/{}    # on {}", facts.port, protocol, peer)},
        {"nftables", fmt::format("nft list ruleset | grep -n reject    # on {}: which rule it is", peer)},
        {"iptables", fmt::format("{} -I INPUT -p {} --dport {} -j ACCEPT    # on {}",
                                 facts.peer.v6 ? "ip6tables" : "iptables", protocol, facts.port, peer)}};
    return finding;
}

std::optional<Finding> socket_buffer_finding(const BufferFacts& facts) {
    const auto cut = [&](std::uint64_t got) { return got != 0 && got < kernel_doubles * facts.asked; };
    const bool send = cut(facts.send_got), receive = cut(facts.receive_got);
    if (facts.asked == 0 || (!send && !receive)) return std::nullopt;
    Finding finding = warning(
        "host.socket-buffer",
        fmt::format("{} grants smaller socket buffers than the {} bytes asked for", facts.end, facts.asked));
    std::string commands;
    const auto add = [&](const char* option, const char* limit, std::uint64_t got) {
        finding.seen += fmt::format("{}{}: {} bytes got = {} x {}, which is net.core.{}",
                                    finding.seen.empty() ? "" : "; ", option, got, kernel_doubles,
                                    got / kernel_doubles, limit);
        commands +=
            fmt::format("{}sysctl -w net.core.{}={}", commands.empty() ? "" : "\n", limit, facts.asked);
    };
    if (send) add("SO_SNDBUF", "wmem_max", facts.send_got);
    if (receive) add("SO_RCVBUF", "rmem_max", facts.receive_got);
    finding.why =
        "A window smaller than bandwidth times delay caps each flow's rate; a size that is set also "
        "turns off the kernel's own tuning, which may go beyond it (net.ipv4.tcp_wmem, tcp_rmem).";
    finding.fixes = {{"sysctl", commands}, {"bondtrace", "leave out --window: the kernel tunes the buffers"}};
    return finding;
}

std::optional<Finding> fd_limit_finding(const FdFacts& facts) {
    if (facts.needed <= facts.soft) return std::nullopt;
    Finding finding = warning("host.fd-limit", fmt::format("{} open files are needed, {} are allowed",
                                                           facts.needed, limit_text(facts.soft)));
    finding.seen =
        fmt::format("RLIMIT_NOFILE: soft {}, hard {}", limit_text(facts.soft), limit_text(facts.hard));
    if (facts.nr_open != 0) finding.seen += fmt::format("; fs.nr_open {}", facts.nr_open);
    finding.why = "Each flow is a socket, and each socket an open file: beyond the limit flows do not start "
                  "(EMFILE).";
    const bool below_nr_open = facts.nr_open == 0 || facts.needed <= facts.nr_open;
    if (!below_nr_open)
        finding.fixes.push_back({"sysctl", fmt::format("sysctl -w fs.nr_open={}", facts.needed)});
    if (facts.needed <= facts.hard)
        finding.fixes.push_back({"shell", fmt::format("ulimit -n {}", facts.needed)});
    else
        finding.fixes.push_back(
            {"root", fmt::format("prlimit --pid $$ --nofile={0}:{0}    # this shell and what it starts",
                                 facts.needed)});
    finding.fixes.push_back(
        {"limits.conf",
         fmt::format("* - nofile {}    # /etc/security/limits.conf, from the next login on", facts.needed)});
    return finding;
}

std::optional<Finding> port_range_finding(const PortFacts& facts) {
    const std::size_t ceiling = facts.free * facts.pairs;
    if (facts.wanted <= ceiling) return std::nullopt;
    Finding finding = warning(
        "host.port-range",
        fmt::format("{} flows need more source ports than there are: {} can be had", facts.wanted, ceiling));
    finding.seen = fmt::format(
        "net.ipv4.ip_local_port_range {} {}: {} ports free, for {} pair{} of addresses", facts.range.first,
        facts.range.second, facts.free, facts.pairs, facts.pairs == 1 ? "" : "s");
    finding.why =
        "Between two addresses, with one port on the server, each flow needs a source port of its own; "
        "beyond that connect() fails with EADDRNOTAVAIL.";
    const std::size_t each = (facts.wanted + facts.pairs - 1) / facts.pairs;
    if (each <= widest_range)
        finding.fixes.push_back({"sysctl", "sysctl -w net.ipv4.ip_local_port_range='1024 65535'"});
    const std::size_t ports = std::max<std::size_t>(facts.free, 1);
    finding.fixes.push_back(
        {"bondtrace", fmt::format("more addresses with --sources or --destinations: {} pairs suffice",
                                  (facts.wanted + ports - 1) / ports)});
    return finding;
}

} // namespace bondtrace
