// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/prove/capacity.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace bondtrace {
namespace {

using namespace traffic;

constexpr double unlimited = std::numeric_limits<double>::infinity();

std::optional<double> speed_of(const TracedSlave& slave) {
    if (!slave.speed_mbps) return std::nullopt;
    return static_cast<double>(*slave.speed_mbps) * 1e6;
}

// The slaves that carried a tenth of the bytes or more: one, unless packets are dealt out in turn.
std::vector<std::uint32_t> carriers(const std::vector<TracedUse>& uses) {
    std::uint64_t total = 0;
    for (const TracedUse& use : uses)
        total += use.bytes;
    std::vector<std::uint32_t> slaves;
    for (const TracedUse& use : uses)
        if (use.bytes >= total / 10) slaves.push_back(use.slave);
    return slaves;
}

std::optional<double> all_of(const EndTrace& end) {
    double sum = 0;
    for (const TracedSlave& slave : end.slaves) {
        if (!slave.usable) continue;
        const auto speed = speed_of(slave);
        if (!speed) return std::nullopt;
        sum += *speed;
    }
    return sum;
}

// A small network of capacities, and the most that flows from `source` to `sink` (Edmonds and Karp 1972).
class Network {
  public:
    explicit Network(std::size_t nodes) : left_(nodes, std::vector<double>(nodes, 0)) {}

    void add(std::size_t from, std::size_t to, double capacity) { left_[from][to] += capacity; }

    double maximum(std::size_t source, std::size_t sink) {
        double total = 0;
        for (;;) {
            const auto before = shortest(source, sink);
            if (before.empty()) return total;
            double room = unlimited;
            for (std::size_t node = sink; node != source; node = before[node])
                room = std::min(room, left_[before[node]][node]);
            for (std::size_t node = sink; node != source; node = before[node]) {
                left_[before[node]][node] -= room;
                left_[node][before[node]] += room;
            }
            total += room;
        }
    }

  private:
    static constexpr double nothing = 1; // bit/s, below which rounding is meant

    // For each node the one before it on a shortest way from the source; empty when the sink is not reached.
    [[nodiscard]] std::vector<std::size_t> shortest(std::size_t source, std::size_t sink) const {
        const std::size_t none = left_.size();
        std::vector<std::size_t> before(none, none), queue{source};
        before[source] = source;
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (std::size_t node = 0; node < none; ++node)
                if (before[node] == none && left_[queue[i]][node] > nothing) {
                    before[node] = queue[i];
                    queue.push_back(node);
                }
        return before[sink] == none ? std::vector<std::size_t>{} : before;
    }

    std::vector<std::vector<double>> left_;
};

} // namespace

double payload_fraction(Transport transport, bool v6, std::uint32_t mtu, std::uint32_t length) {
    constexpr double ethernet = 14 + 4, preamble_and_gap = 8 + 12; // IEEE 802.3
    constexpr double tcp = 20 + 12, udp = 8;                       // TCP with timestamps, RFC 7323
    const double ip = v6 ? 40 : 20;
    if (transport == Transport::udp) {
        // Without a length the generator's datagrams are as long as fits.
        const double payload = length != 0 ? length : std::max<double>(mtu, ip + udp + 1) - ip - udp;
        return payload / (payload + udp + ip + ethernet + preamble_and_gap);
    }
    const double packet = std::max<double>(mtu, ip + tcp + 1);
    return (packet - ip - tcp) / (packet + ethernet + preamble_and_gap);
}

Capacity capacity_of(const EndTrace& sender, const EndTrace* receiver, double flow_limit) {
    Capacity capacity;
    capacity.all_full = all_of(sender);
    if (receiver) {
        const auto there = all_of(*receiver);
        capacity.all_full =
            capacity.all_full && there ? std::optional(std::min(*capacity.all_full, *there)) : std::nullopt;
    }
    // Nodes: source, the sender's slaves, the receiver's (one for all when it was not traced), sink.
    const std::size_t senders = sender.slaves.size(), receivers = receiver ? receiver->slaves.size() : 1;
    const std::size_t source = 0, sink = 1 + senders + receivers;
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> flows;
    for (std::size_t i = 0; i < sender.flows.size(); ++i) {
        if (receiver && i >= receiver->flows.size()) break;
        for (const std::uint32_t here : carriers(sender.flows[i].tx))
            for (const std::uint32_t there :
                 receiver ? carriers(receiver->flows[i].rx) : std::vector<std::uint32_t>{0})
                flows[{here, there}] += 1;
    }
    Network network(sink + 1);
    for (const auto& [slaves, count] : flows)
        network.add(1 + slaves.first, 1 + senders + slaves.second,
                    flow_limit > 0 ? count * flow_limit : 1e15);
    for (std::size_t i = 0; i < senders; ++i) {
        const bool used =
            std::any_of(flows.begin(), flows.end(), [&](const auto& f) { return f.first.first == i; });
        const auto speed = speed_of(sender.slaves[i]);
        if (used && !speed) return capacity;
        if (used) network.add(source, 1 + i, *speed);
    }
    for (std::size_t i = 0; i < receivers; ++i) {
        const bool used =
            std::any_of(flows.begin(), flows.end(), [&](const auto& f) { return f.first.second == i; });
        if (!receiver) {
            network.add(1 + senders, sink, 1e15);
            break;
        }
        const auto speed = speed_of(receiver->slaves[i]);
        if (used && !speed) return capacity;
        if (used) network.add(1 + senders + i, sink, *speed);
    }
    capacity.split_allows = network.maximum(source, sink);
    return capacity;
}

} // namespace bondtrace
