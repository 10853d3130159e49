// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/preflight.h"

#include "user/base/units.h"
#include "user/hash/wire.h"
#include "user/predict/used_ports.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <sys/resource.h>

namespace bondtrace::traffic {
namespace {

std::uint64_t number_of(rlim_t limit) {
    return limit == RLIM_INFINITY ? UINT64_MAX : limit;
}

std::uint64_t read_nr_open() {
    std::ifstream file("/proc/sys/fs/nr_open");
    std::uint64_t number = 0;
    return file >> number ? number : 0;
}

} // namespace

Result<FdFacts> raise_file_limit(std::uint64_t needed) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return fail_errno(errno, "reading the limit of open files");
    FdFacts facts;
    facts.needed = needed;
    facts.nr_open = read_nr_open();
    if (needed > number_of(limit.rlim_cur)) {
        rlimit raised = limit;
        raised.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(needed, limit.rlim_max));
        if (needed > number_of(limit.rlim_max)) {
            const std::uint64_t possible = facts.nr_open == 0 ? needed : std::min(needed, facts.nr_open);
            const rlimit both{std::max<rlim_t>(possible, limit.rlim_max),
                              std::max<rlim_t>(possible, limit.rlim_max)};
            if (::setrlimit(RLIMIT_NOFILE, &both) == 0) raised = both;
        }
        // Refused without the right; the finding then says how.
        if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    facts.soft = number_of(limit.rlim_cur);
    facts.hard = number_of(limit.rlim_max);
    return facts;
}

Result<HostPorts> read_host_ports(const NetNs& netns, Transport transport) {
    HostPorts ports;
    ports.range = ephemeral_ports(netns);
    auto used = used_ports(netns, transport == Transport::tcp ? ipproto::tcp : ipproto::udp);
    if (!used) return tl::make_unexpected(used.error());
    ports.avoid = [held = std::make_shared<const PortSet>(*used)](std::uint16_t port) {
        return held->test(port);
    };
    return ports;
}

std::optional<Finding> port_finding(const PlanRequest& request, const PortPlan& plan) {
    if (request.ports.pattern == PortPattern::list || plan.flows.size() >= plan.wanted) return std::nullopt;
    PortFacts facts;
    facts.range = request.range;
    facts.free = plan.ports_per_pair;
    facts.pairs = request.pairs.size();
    facts.wanted = plan.wanted;
    return port_range_finding(facts);
}

std::vector<Finding> window_findings(const TestOptions& options, const EndResult& client,
                                     const EndResult& server) {
    std::vector<Finding> findings;
    const auto add = [&](const EndResult& end, const char* name) {
        if (auto finding = socket_buffer_finding({options.window, end.send_buffer, end.receive_buffer, name}))
            findings.push_back(std::move(*finding));
    };
    add(client, "this host");
    add(server, "the server");
    return findings;
}

std::string pacing_warning(const TestOptions& options, const EndResult& end) {
    if (!end.pacing || !options.congestion.empty() || options.rate > 0) return {};
    std::uint32_t shortest = UINT32_MAX;
    for (const FlowResult& flow : end.flows)
        if (flow.tcp && flow.tcp->rtt_min_us > 0) shortest = std::min(shortest, flow.tcp->rtt_min_us);
    if (shortest >= short_path_us) return {};
    return fmt::format(
        "the default congestion control {} paces its packets, on a path of {}: that measures the "
        "pacing; --congestion cubic does not",
        end.congestion, format_duration(std::chrono::microseconds(shortest)));
}

} // namespace bondtrace::traffic
