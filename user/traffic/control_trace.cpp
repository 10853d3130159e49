// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/control_trace.h"

#include "user/base/text.h"

#include <algorithm>
#include <limits>

namespace bondtrace::traffic {
namespace {

using nlohmann::json;

constexpr double max_coverage = 1e6;

json to_json(const TracedSlave& slave) {
    json value{{"name", safe(slave.name)},
               {"usable", slave.usable},
               {"tx_bytes", slave.tx_bytes},
               {"rx_bytes", slave.rx_bytes},
               {"tx_counter_bytes", slave.tx_counter_bytes},
               {"rx_counter_bytes", slave.rx_counter_bytes}};
    if (slave.speed_mbps) value["speed_mbps"] = *slave.speed_mbps;
    if (slave.tx_coverage) value["tx_coverage"] = std::min(*slave.tx_coverage, max_coverage);
    if (slave.rx_coverage) value["rx_coverage"] = std::min(*slave.rx_coverage, max_coverage);
    return value;
}

// [slave, packets, bytes] for each: a flow has four lists of them in a test of thousands.
json to_json(const std::vector<TracedUse>& uses) {
    json list = json::array();
    for (const TracedUse& use : uses) {
        if (list.size() == max_traced_uses) break;
        list.push_back({use.slave, use.packets, use.bytes});
    }
    return list;
}

TracedSlave read_slave(const ControlReader& from) {
    TracedSlave slave;
    slave.name = from.text("name");
    slave.usable = from.truth("usable");
    slave.tx_bytes = from.number<std::uint64_t>("tx_bytes");
    slave.rx_bytes = from.number<std::uint64_t>("rx_bytes");
    slave.tx_counter_bytes = from.number<std::uint64_t>("tx_counter_bytes");
    slave.rx_counter_bytes = from.number<std::uint64_t>("rx_counter_bytes");
    if (from.has("speed_mbps")) slave.speed_mbps = from.number<std::uint32_t>("speed_mbps");
    if (from.has("tx_coverage")) slave.tx_coverage = from.real("tx_coverage", max_coverage);
    if (from.has("rx_coverage")) slave.rx_coverage = from.real("rx_coverage", max_coverage);
    return slave;
}

// Three whole numbers, the first a position among slaves.
bool read_use(const json& value, TracedUse& use) {
    if (!value.is_array() || value.size() != 3) return false;
    for (const json& number : value)
        if (!number.is_number_unsigned()) return false;
    const auto slave = value[0].get<std::uint64_t>();
    if (slave >= max_traced_slaves) return false;
    use = {static_cast<std::uint32_t>(slave), value[1].get<std::uint64_t>(), value[2].get<std::uint64_t>()};
    return true;
}

bool read_uses(const json& flow, const char* name, std::vector<TracedUse>& uses) {
    const auto list = flow.find(name);
    if (list == flow.end() || !list->is_array() || list->size() > max_traced_uses) return false;
    uses.resize(list->size());
    for (std::size_t i = 0; i < uses.size(); ++i)
        if (!read_use((*list)[i], uses[i])) return false;
    return true;
}

} // namespace

std::string safe(std::string_view text) {
    return valid_utf8(text.substr(0, max_text));
}

json trace_body(const TraceMessage& message) {
    json value{{"bond", safe(message.trace.bond)},
               {"mode", safe(message.trace.mode)},
               {"policy", safe(message.trace.policy)},
               {"attach", safe(message.trace.attach)},
               {"slaves", json::array()},
               {"notes", json::array()},
               {"flows", message.flows},
               {"failure", safe(message.failure)}};
    for (const TracedSlave& slave : message.trace.slaves)
        if (value["slaves"].size() < max_traced_slaves) value["slaves"].push_back(to_json(slave));
    for (const std::string& note : message.trace.notes)
        if (value["notes"].size() < max_notes) value["notes"].push_back(safe(note));
    return value;
}

json trace_body(const TracedMessage& message) {
    json flows = json::array();
    for (const TracedFlow& flow : message.flows)
        flows.push_back({{"tx", to_json(flow.tx)}, {"rx", to_json(flow.rx)}});
    return {{"first", message.first}, {"flows", std::move(flows)}};
}

TraceMessage read_trace(const ControlReader& from, Wrong& wrong) {
    TraceMessage message;
    EndTrace& trace = message.trace;
    trace.bond = from.text("bond");
    trace.mode = from.text("mode");
    trace.policy = from.text("policy");
    trace.attach = from.text("attach");
    trace.notes = from.texts("notes", max_notes);
    message.flows = from.number<std::uint32_t>("flows", max_flows);
    message.failure = from.text("failure");
    if (const json* const slaves = from.array("slaves", max_traced_slaves))
        for (const json& slave : *slaves) {
            if (!slave.is_object()) {
                from.complain("slaves", "has something that is no object");
                break;
            }
            trace.slaves.push_back(read_slave(ControlReader(slave, "slave", wrong)));
        }
    return message;
}

TracedMessage read_traced(const ControlReader& from) {
    TracedMessage message;
    message.first = from.number<std::uint32_t>("first", max_flows);
    const json* const flows = from.array("flows", max_traced_chunk);
    if (!flows) return message;
    for (const json& value : *flows) {
        TracedFlow flow;
        if (!value.is_object() || !read_uses(value, "tx", flow.tx) || !read_uses(value, "rx", flow.rx)) {
            from.complain("flows", "has something that is no traced flow");
            break;
        }
        message.flows.push_back(std::move(flow));
    }
    return message;
}

} // namespace bondtrace::traffic
