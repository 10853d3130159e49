// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace bondtrace::traffic {
namespace {

constexpr double kb = 1024; // netperf's

std::optional<double> per_second(std::uint64_t amount, std::uint64_t elapsed_ns) {
    if (elapsed_ns == 0) return std::nullopt;
    return static_cast<double>(amount) * 1e9 / static_cast<double>(elapsed_ns);
}

std::optional<double> bit_rate(std::uint64_t bytes, std::uint64_t elapsed_ns) {
    const auto rate = per_second(bytes, elapsed_ns);
    return rate ? std::optional(*rate * 8) : std::nullopt;
}

std::optional<double> microseconds_per_kb(std::uint64_t cpu_ns, std::uint64_t bytes) {
    if (bytes == 0 || cpu_ns == 0) return std::nullopt;
    return static_cast<double>(cpu_ns) / 1e3 / (static_cast<double>(bytes) / kb);
}

template<typename Member> std::uint64_t sum(const EndResult& end, Member member) {
    return std::accumulate(end.flows.begin(), end.flows.end(), std::uint64_t{0},
                           [&](std::uint64_t total, const FlowResult& flow) { return total + flow.*member; });
}

EndSummary summarize_end(const EndResult& end) {
    EndSummary summary{end.elapsed_ns, end.user_ns, end.system_ns, {}, {}};
    const std::uint64_t cpu = end.user_ns + end.system_ns;
    if (end.elapsed_ns > 0) summary.cpus = static_cast<double>(cpu) / static_cast<double>(end.elapsed_ns);
    summary.us_per_kb =
        microseconds_per_kb(cpu, sum(end, &FlowResult::sent_bytes) + sum(end, &FlowResult::received_bytes));
    return summary;
}

std::optional<double> jain(const EndResult& receiver) {
    double total = 0, squares = 0, count = 0;
    for (const FlowResult& flow : receiver.flows) {
        if (!flow.established) continue;
        const auto bytes = static_cast<double>(flow.received_bytes);
        total += bytes;
        squares += bytes * bytes;
        ++count;
    }
    if (squares <= 0) return std::nullopt;
    return total * total / (count * squares);
}

DirectionSummary summarize_direction(bool upward, const EndResult* sender, const EndResult* receiver) {
    DirectionSummary summary;
    summary.upward = upward;
    if (sender) {
        summary.sent_bytes = sum(*sender, &FlowResult::sent_bytes);
        summary.sent_packets = sum(*sender, &FlowResult::sent_packets);
        summary.sent_rate = bit_rate(summary.sent_bytes, sender->elapsed_ns);
        summary.sent_pps = per_second(summary.sent_packets, sender->elapsed_ns);
        for (const FlowResult& flow : sender->flows)
            if (flow.tcp) {
                summary.retransmits += flow.tcp->retransmits;
                summary.reordering += flow.tcp->reordering;
            }
    }
    if (!receiver) return summary;
    summary.received_bytes = sum(*receiver, &FlowResult::received_bytes);
    summary.received_packets = sum(*receiver, &FlowResult::received_packets);
    summary.received_rate = bit_rate(summary.received_bytes, receiver->elapsed_ns);
    summary.received_pps = per_second(summary.received_packets, receiver->elapsed_ns);
    summary.fairness = jain(*receiver);
    double jitter = 0, count = 0;
    for (const FlowResult& flow : receiver->flows)
        if (flow.udp) {
            summary.lost += flow.udp->lost;
            summary.reordered += flow.udp->reordered;
            summary.duplicated += flow.udp->duplicated;
            jitter += flow.udp->jitter_us;
            ++count;
        }
    if (count > 0) summary.jitter_us = jitter / count;
    return summary;
}

struct Ends {
    const EndResult* client = nullptr;
    const EndResult* server = nullptr;
    Direction direction = Direction::up;

    [[nodiscard]] bool up() const { return direction != Direction::down; }
    [[nodiscard]] bool down() const { return direction != Direction::up; }
};

// Rates of the intervals of one end's received bytes, or, when `sent`, of what it sent.
std::vector<double> interval_rates(const EndResult& end, bool sent) {
    std::vector<std::uint64_t> lengths;
    for (const Interval& interval : end.intervals)
        if (interval.end_ns > interval.begin_ns) lengths.push_back(interval.end_ns - interval.begin_ns);
    if (lengths.empty()) return {};
    std::nth_element(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2),
                     lengths.end());
    const std::uint64_t usual = lengths[lengths.size() / 2];
    std::vector<double> rates;
    for (const Interval& interval : end.intervals) {
        if (interval.end_ns <= interval.begin_ns || interval.end_ns - interval.begin_ns < usual / 2) continue;
        rates.push_back(*bit_rate(sent ? interval.sent_bytes : interval.received_bytes,
                                  interval.end_ns - interval.begin_ns));
    }
    return rates;
}

std::optional<SpreadOverTime> spread_over_time(const Ends& ends) {
    std::vector<double> rates;
    if (ends.up())
        rates = ends.server ? interval_rates(*ends.server, false) : interval_rates(*ends.client, true);
    if (ends.down()) {
        const auto down = interval_rates(*ends.client, false);
        // The ends' intervals are of the same length and begin together, to a round trip.
        if (rates.empty())
            rates = down;
        else
            rates.resize(std::min(rates.size(), down.size()));
        if (ends.up())
            for (std::size_t i = 0; i < rates.size() && i < down.size(); ++i)
                rates[i] += down[i];
    }
    if (rates.empty()) return std::nullopt;
    SpreadOverTime spread;
    spread.intervals = rates.size();
    const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
    spread.least = *least;
    spread.most = *most;
    const auto count = static_cast<double>(rates.size());
    spread.mean = std::accumulate(rates.begin(), rates.end(), 0.0) / count;
    double squares = 0;
    for (const double rate : rates)
        squares += (rate - spread.mean) * (rate - spread.mean);
    if (rates.size() > 1) spread.deviation = std::sqrt(squares / (count - 1));
    return spread;
}

std::uint64_t elapsed_of(const EndResult* end) {
    return end ? end->elapsed_ns : 0;
}

FlowRow join(std::size_t index, const Ends& ends) {
    static const FlowResult nothing;
    const FlowResult& client = index < ends.client->flows.size() ? ends.client->flows[index] : nothing;
    const bool reported = ends.server && index < ends.server->flows.size();
    const FlowResult& server = reported ? ends.server->flows[index] : nothing;
    FlowRow row;
    row.index = index;
    row.address = client.address;
    row.established = client.established && (!ends.server || server.established);
    row.failure = !client.failure.empty()   ? client.failure
                  : !server.failure.empty() ? "the server: " + server.failure
                                            : "";
    if (row.failure.empty() && client.established && !row.established)
        row.failure = "the server knows nothing of it";
    row.up_sent = client.sent_bytes;
    row.up_received = server.received_bytes;
    row.down_sent = server.sent_bytes;
    row.down_received = client.received_bytes;
    row.up_sent_packets = client.sent_packets;
    row.up_received_packets = server.received_packets;
    row.down_sent_packets = server.sent_packets;
    row.down_received_packets = client.received_packets;
    // Where the receiver has not reported, what was sent is all that is known.
    if (ends.up())
        row.goodput += (ends.server ? bit_rate(row.up_received, elapsed_of(ends.server))
                                    : bit_rate(row.up_sent, elapsed_of(ends.client)))
                           .value_or(0);
    if (ends.down()) row.goodput += bit_rate(row.down_received, elapsed_of(ends.client)).value_or(0);
    if (client.tcp || server.tcp) {
        const TcpFacts none;
        const TcpFacts& here = client.tcp ? *client.tcp : none;
        const TcpFacts& there = server.tcp ? *server.tcp : none;
        row.retransmits = here.retransmits + there.retransmits;
        row.reordering = here.reordering + there.reordering;
        const auto& sender = ends.up() ? client.tcp : server.tcp;
        if (sender) {
            row.rtt_min_us = sender->rtt_min_us;
            row.rtt_avg_us = sender->rtt_avg_us;
            row.rtt_max_us = sender->rtt_max_us;
        }
    }
    if (ends.up()) row.up_udp = server.udp;
    if (ends.down()) row.down_udp = client.udp;
    row.stalled_intervals = std::max(client.stalled_intervals, server.stalled_intervals);
    return row;
}

// The server's own addresses of a flow, as the client would name them.
bool translated(const FlowResult& client, const FlowResult& server) {
    if (!client.established || !server.established || server.address.remote_port == 0) return false;
    return client.address.local != server.address.remote ||
           client.address.local_port != server.address.remote_port;
}

} // namespace

TrafficSummary summarize(const TestOptions& options, const EndResult& client, const EndResult* server) {
    const Ends ends{&client, server, options.direction};
    TrafficSummary summary;
    summary.client = summarize_end(client);
    if (server) summary.server = summarize_end(*server);
    if (ends.up()) summary.directions.push_back(summarize_direction(true, &client, server));
    if (ends.down()) summary.directions.push_back(summarize_direction(false, server, &client));
    if (server) {
        std::uint64_t received = 0;
        for (const DirectionSummary& direction : summary.directions)
            received += direction.received_bytes;
        summary.us_per_kb_both = microseconds_per_kb(
            client.user_ns + client.system_ns + server->user_ns + server->system_ns, received);
    }
    summary.spread = spread_over_time(ends);
    summary.flows = std::max(client.flows.size(), server ? server->flows.size() : 0);
    std::size_t behind_nat = 0;
    for (std::size_t i = 0; i < summary.flows; ++i) {
        summary.rows.push_back(join(i, ends));
        const FlowRow& row = summary.rows.back();
        summary.established += row.established ? 1 : 0;
        summary.stalled_flows += row.established && row.stalled_intervals > 0 ? 1 : 0;
        if (server && i < client.flows.size() && i < server->flows.size())
            behind_nat += translated(client.flows[i], server->flows[i]) ? 1 : 0;
    }
    if (behind_nat > 0)
        summary.notes.push_back(
            fmt::format("{} flows reach the server with another address or port than they "
                        "were sent with: something translates them (NAT)",
                        behind_nat));
    if (!server) summary.notes.push_back("the server has not reported: rates are those of the sender");
    return summary;
}

Extremes extremes(const std::vector<FlowRow>& rows, std::size_t count) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto failed = std::stable_partition(order.begin(), order.end(),
                                              [&](std::size_t row) { return rows[row].established; });
    std::stable_sort(order.begin(), failed,
                     [&](std::size_t a, std::size_t b) { return rows[a].goodput > rows[b].goodput; });
    Extremes result;
    const auto established = static_cast<std::size_t>(failed - order.begin());
    if (rows.size() <= 2 * count || established == 0) {
        order.resize(std::min(order.size(), 2 * count));
        result.top = std::move(order);
        return result;
    }
    order.resize(established);
    result.top.assign(order.begin(),
                      order.begin() + static_cast<std::ptrdiff_t>(std::min(count, established)));
    const std::size_t rest = std::min(count, established - result.top.size());
    result.bottom.assign(order.rbegin(), order.rbegin() + static_cast<std::ptrdiff_t>(rest));
    return result;
}

} // namespace bondtrace::traffic
