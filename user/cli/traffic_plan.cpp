// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/traffic_plan.h"

#include "user/base/text.h"
#include "user/base/units.h"
#include "user/bond/netlink_reader.h"
#include "user/bond/next_hop.h"
#include "user/bond/peer_path.h"
#include "user/predict/socket_table.h"
#include "user/probe/era_probe.h"
#include "user/trace/flow_dissector.h"
#include "user/traffic/data_header.h"
#include "user/traffic/host_population.h"
#include "user/traffic/option_names.h"
#include "user/traffic/preflight.h"
#include "user/traffic/quantity.h"
#include "user/traffic/socket_address.h"
#include "version.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

namespace bondtrace {
namespace {

using namespace traffic;

constexpr std::uint64_t spare_descriptors = 64; // of the client, beside the flows

Result<IpAddress> resolve(const std::string& host, const NetNs& netns) {
    if (const auto address = parse_ip(host)) return *address;
    return run_in(netns, [&]() -> Result<IpAddress> {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
        if (error != 0)
            return fail(ErrorKind::unavailable,
                        fmt::format("looking up {}: {}", sanitize(host), gai_strerror(error)),
                        "give an address, or see /etc/hosts and /etc/resolv.conf");
        SocketAddress address;
        std::memcpy(&address.storage, found->ai_addr,
                    std::min<std::size_t>(found->ai_addrlen, sizeof(address.storage)));
        freeaddrinfo(found);
        const auto ip = from_socket_address(address);
        if (!ip) return fail(ErrorKind::unavailable, fmt::format("{} has no IP address", sanitize(host)));
        return ip->first;
    });
}

// "none", "busy:1000", "yield", "sleep:100".
Result<Pace> parse_pace(const std::string& text) {
    const auto colon = text.find(':');
    const auto kind = parse_pace_kind(std::string_view(text).substr(0, colon));
    const bool needs_amount = kind == Pace::Kind::busy || kind == Pace::Kind::sleep;
    Pace pace{kind.value_or(Pace::Kind::none), 0};
    bool good = kind.has_value() && needs_amount == (colon != std::string::npos);
    if (good && needs_amount) {
        const char* const begin = text.data() + colon + 1;
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(begin, end, pace.amount);
        good = error == std::errc{} && rest == end && pace.amount > 0 && pace.amount <= 1'000'000'000;
    }
    if (good) return pace;
    return fail(ErrorKind::usage, fmt::format("--pace: \"{}\" is no way to pace", sanitize(text)),
                "none, busy:N (multiplications), yield, sleep:MICROSECONDS");
}

Result<void> read_amounts(const TrafficClientOptions& options, TestOptions& test, std::size_t flows) {
    constexpr std::uint64_t most_length = 67'108'864, most_window = 1U << 30; // 64 MiB, 1 GiB
    const auto amount = [](const char* option, const std::string& text, std::uint64_t most,
                           auto& target) -> Result<void> {
        if (text.empty()) return {};
        const auto value = parse_amount(option, text, most);
        if (!value) return tl::make_unexpected(value.error());
        target = static_cast<std::remove_reference_t<decltype(target)>>(*value);
        return {};
    };
    if (auto done = amount("--bytes", options.bytes, std::uint64_t{1} << 60, test.bytes); !done) return done;
    if (auto done = amount("--length", options.length, most_length, test.length); !done) return done;
    if (auto done = amount("--window", options.window, most_window, test.window); !done) return done;
    const bool udp = test.transport == Transport::udp;
    if (udp && !options.length.empty() && (test.length < datagram_header_size || test.length > 65'000))
        return fail(ErrorKind::usage,
                    fmt::format("--length: {} is not from {} to 65000", test.length, datagram_header_size),
                    "a datagram carries its number and the time");
    if (!udp && !options.length.empty() && test.length == 0)
        return fail(ErrorKind::usage, "--length: 0 bytes at a time send nothing");
    const std::string& text = options.rate.empty() ? options.total_rate : options.rate;
    if (text.empty()) return {};
    const auto rate = parse_rate(options.rate.empty() ? "--total-rate" : "--rate", text);
    if (!rate) return tl::make_unexpected(rate.error());
    test.rate = options.rate.empty() ? *rate / static_cast<double>(std::max<std::size_t>(flows, 1)) : *rate;
    return {};
}

// The bond that the flows leave through, as it is now.
Result<PathBond> read_bond(const TrafficClientOptions& options, const NetNs& netns,
                           std::vector<AddressPair>& pairs) {
    auto era = options.era.empty() ? find_era_for_checking() : Result<EraFinding>{};
    if (!options.era.empty()) {
        const auto given = parse_era(options.era);
        if (!given) return fail(given.error().kind, "--era: " + given.error().what, given.error().advice);
        era = EraFinding{*given, EraSource::given, {}};
    }
    if (!era) return tl::make_unexpected(era.error());
    const auto reader = LinkReader::open(netns);
    if (!reader) return tl::make_unexpected(reader.error());
    const auto bonds = reader->find_bonds({options.bond});
    if (!bonds) return tl::make_unexpected(bonds.error());
    const Bond& bond = bonds->front();
    const auto dissector = flow_dissector_attached(netns);
    for (AddressPair& pair : pairs) {
        const auto hop = find_next_hop(netns, bond, pair.local, pair.remote);
        if (!hop) return tl::make_unexpected(hop.error());
        pair.frame.local_source = hop->local_source;
        pair.frame.src_mac = hop->src_mac;
        pair.frame.dst_mac = hop->dst_mac;
        pair.frame.tci = hop->tci;
        pair.frame.tci_known = hop->tci_known;
        pair.frame.problem = hop->problem;
        pair.frame.advice = hop->advice;
    }
    return path_bond(bond, era->era, dissector.value_or(true));
}

Result<std::vector<AddressPair>> find_pairs(const TrafficClientOptions& options, const NetNs& netns,
                                            const IpAddress& host) {
    std::vector<IpAddress> destinations{host}, sources;
    if (!options.destinations.empty()) {
        auto list = parse_address_list("--destinations", options.destinations);
        if (!list) return tl::make_unexpected(list.error());
        destinations = std::move(*list);
    }
    const bool bound = !options.sources.empty() || !options.bind.empty();
    if (bound) {
        auto list = options.sources.empty() ? parse_address_list("--bind", options.bind)
                                            : parse_address_list("--sources", options.sources);
        if (!list) return tl::make_unexpected(list.error());
        return address_pairs(*list, destinations);
    }
    // What the routing chooses, for each.
    std::vector<AddressPair> pairs;
    for (const IpAddress& destination : destinations) {
        const auto path = read_peer_path(netns, destination);
        IpAddress source{destination.v6, {}};
        if (path && path->source) source = *path->source;
        pairs.push_back({source, destination, {}});
    }
    return pairs;
}

} // namespace

Result<ClientRequest> understand(const TrafficClientOptions& options) {
    ClientRequest request;
    request.port = options.port;
    request.version = version;
    TestOptions& test = request.options;
    test.transport = options.udp ? Transport::udp : Transport::tcp;
    test.direction = options.direction;
    test.threads = options.threads;
    test.cpus = options.cpus;
    test.dscp = options.dscp;
    test.no_copy = options.no_copy;
    test.gso = options.gso;
    test.congestion = options.congestion;
    if (test.congestion.size() > 15)
        return fail(ErrorKind::usage,
                    fmt::format("--congestion: '{}' is no congestion control", sanitize(test.congestion)),
                    "see sysctl net.ipv4.tcp_available_congestion_control");
    if (options.gso && !options.udp)
        return fail(ErrorKind::usage, "--gso is for --udp", "TCP is segmented late anyway");
    const auto duration = parse_duration(options.duration);
    if (!duration) return fail(ErrorKind::usage, "--for: " + duration.error().what, duration.error().advice);
    if (*duration > std::chrono::hours(7 * 24))
        return fail(ErrorKind::usage, "--for: a test takes at most 7 days");
    test.duration = *duration;
    const auto interval = parse_duration(options.interval);
    if (!interval)
        return fail(ErrorKind::usage, "--interval: " + interval.error().what, interval.error().advice);
    if (*interval < std::chrono::milliseconds(10) || *interval > std::chrono::hours(1))
        return fail(ErrorKind::usage,
                    fmt::format("--interval: {} is not from 10 ms to 1 h", format_duration(*interval)));
    test.interval = *interval;
    const auto pace = parse_pace(options.pace);
    if (!pace) return tl::make_unexpected(pace.error());
    test.pace = *pace;
    const auto masked = parse_features(options.masked);
    if (!masked) return fail(ErrorKind::usage, "--without: " + masked.error().what, masked.error().advice);
    request.masked = *masked;
    if (auto read = read_amounts(options, test, 1); !read) return tl::make_unexpected(read.error());
    if (test.bytes != 0 && options.duration == TrafficClientOptions{}.duration)
        test.duration = std::chrono::nanoseconds(0); // the bytes alone end it
    if (test.bytes == 0 && test.duration.count() == 0)
        return fail(ErrorKind::usage, "--for 0 has no end", "give --bytes as well, or a time");
    return request;
}

Result<void> plan_flows(const TrafficClientOptions& options, const NetNs& netns, ClientRequest& request,
                        TrafficReport& report) {
    const auto host = resolve(options.host, netns);
    if (!host) return tl::make_unexpected(host.error());
    request.host = *host;
    PlanRequest plan;
    plan.transport = request.options.transport;
    plan.remote_port = options.port;
    plan.flows = options.flows;
    plan.seed = options.seed;
    plan.per_slave = options.per_slave;
    const auto choice = parse_port_choice(
        options.per_slave != 0 && options.ports == "kernel" ? "balanced" : options.ports, read_port_file);
    if (!choice) return tl::make_unexpected(choice.error());
    plan.ports = *choice;
    auto pairs = find_pairs(options, netns, request.host);
    if (!pairs) return tl::make_unexpected(pairs.error());
    const auto same = std::find_if(pairs->begin(), pairs->end(),
                                   [&](const AddressPair& pair) { return pair.local.v6 == request.host.v6; });
    if ((!options.bind.empty() || !options.sources.empty()) && same != pairs->end())
        request.bind = same->local;
    const bool by_slave =
        plan.ports.pattern == PortPattern::balanced || plan.ports.pattern == PortPattern::reach;
    if (by_slave && options.bond.empty())
        return fail(ErrorKind::usage, fmt::format("--ports {} needs the bond", to_text(plan.ports)),
                    "give --bond BOND");
    if (!options.bond.empty()) {
        auto bond = read_bond(options, netns, *pairs);
        if (!bond) return tl::make_unexpected(bond.error());
        plan.bond = std::move(*bond);
    }
    plan.pairs = std::move(*pairs);
    auto ports = read_host_ports(netns, plan.transport);
    if (!ports) return tl::make_unexpected(ports.error());
    plan.range = ports->range;
    Result<PortPlan> planned;
    if (options.like_host) {
        constexpr std::uint8_t tcp = 6, udp = 17;
        const auto sockets = read_sockets(netns, plan.transport == Transport::tcp ? tcp : udp);
        if (!sockets) return tl::make_unexpected(sockets.error());
        planned = plan_like_host(plan, *sockets, ports->avoid);
    } else {
        planned = plan_ports(plan, ports->avoid);
    }
    if (!planned) return tl::make_unexpected(planned.error());
    if (planned->flows.empty())
        return fail(ErrorKind::unavailable, "no flow can be planned",
                    planned->notes.empty() ? "" : planned->notes.front());
    if (planned->flows.size() > max_flows)
        return fail(ErrorKind::usage,
                    fmt::format("{} flows are more than {}", planned->flows.size(), max_flows));
    if (const auto finding = port_finding(plan, *planned)) report.findings.push_back(*finding);
    const auto files = raise_file_limit(planned->flows.size() + spare_descriptors);
    if (!files) return tl::make_unexpected(files.error());
    if (const auto finding = fd_limit_finding(*files)) report.findings.push_back(*finding);
    request.flows = planned->flows;
    report.ports = plan.ports;
    report.seed = plan.seed;
    report.plan = std::move(*planned);
    // A total is divided by what there is.
    return read_amounts(options, request.options, request.flows.size());
}

} // namespace bondtrace
