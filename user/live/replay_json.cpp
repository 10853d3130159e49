// SPDX-License-Identifier: GPL-2.0-or-later
// One line of a recording: JSON of unknown origin -> a reading.
#include "user/base/text.h"
#include "user/flow/entry.h"
#include "user/flow/protocols.h"
#include "user/live/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using nlohmann::json;

// What a reading may hold at most.
constexpr std::size_t max_bonds = 256, max_name = 256, max_flows = 4'000'000;

// Reads members of objects. The first thing that is wrong is remembered with its place, and ends everything:
// what is read after it are defaults.
class Reader {
  public:
    [[nodiscard]] const std::string& error() const { return error_; }
    [[nodiscard]] bool failed() const { return !error_.empty(); }

    void fail_at(const std::string& place, std::string_view what) {
        if (error_.empty()) error_ = fmt::format("{}: {}", place, what);
    }

    // Missing and null are the same for what is optional.
    static const json* optional(const json& object, const char* name) {
        const auto found = object.find(name);
        return found == object.end() || found->is_null() ? nullptr : &*found;
    }

    template<typename Number>
    Number number(const json& object, const std::string& place, const char* name,
                  Number most = std::numeric_limits<Number>::max()) {
        const json* value = any(object, place, name);
        if (!value) return 0;
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
            fail_at(place + "." + name, fmt::format("a whole number from 0 to {} is expected", most));
            return 0;
        }
        return static_cast<Number>(value->get<std::uint64_t>());
    }

    template<typename Number>
    std::optional<Number> optional_number(const json& object, const std::string& place, const char* name,
                                          Number most = std::numeric_limits<Number>::max()) {
        if (!optional(object, name)) return std::nullopt;
        return number<Number>(object, place, name, most);
    }

    std::string text(const json& object, const std::string& place, const char* name) {
        const json* value = any(object, place, name);
        if (!value) return {};
        const auto* text = value->get_ptr<const std::string*>();
        if (text && text->size() <= max_name) return *text;
        fail_at(place + "." + name, fmt::format("text of at most {} bytes is expected", max_name));
        return {};
    }

    bool truth(const json& object, const std::string& place, const char* name) {
        const json* value = any(object, place, name);
        if (value && value->is_boolean()) return value->get<bool>();
        if (value) fail_at(place + "." + name, "true or false is expected");
        return false;
    }

    const json& array(const json& object, const std::string& place, const char* name, std::size_t most) {
        static const json nothing = json::array();
        const json* value = any(object, place, name);
        if (!value) return nothing;
        if (value->is_array() && value->size() <= most) return *value;
        fail_at(place + "." + name, fmt::format("a list of at most {} is expected", most));
        return nothing;
    }

    const json& object(const json& parent, const std::string& place, const char* name) {
        static const json nothing = json::object();
        const json* value = any(parent, place, name);
        if (!value) return nothing;
        if (value->is_object()) return *value;
        fail_at(place + "." + name, "an object is expected");
        return nothing;
    }

  private:
    const json* any(const json& object, const std::string& place, const char* name) {
        if (failed()) return nullptr;
        if (!object.is_object()) {
            fail_at(place, "an object is expected");
            return nullptr;
        }
        const auto found = object.find(name);
        if (found != object.end()) return &*found;
        fail_at(place, fmt::format("member \"{}\" is missing", name));
        return nullptr;
    }

    std::string error_;
};

class LineParser {
  public:
    Result<LiveReading> parse(const json& document) {
        const std::string schema = reader_.text(document, "document", "schema");
        if (!reader_.failed() && schema != "bondtrace.live/1")
            reader_.fail_at("schema", fmt::format("\"{}\" is not bondtrace.live/1",
                                                  shorten_end(sanitize(schema), 40, "...")));
        parse_head(document);
        const json& bonds = reader_.array(document, "document", "bonds", max_bonds);
        for (std::size_t i = 0; i < bonds.size() && !reader_.failed(); ++i)
            parse_bond(bonds[i], i);
        parse_losses(reader_.object(document, "document", "losses"));
        if (const json* cost = Reader::optional(document, "cost"))
            reading_.cost = RunCost{reader_.number<std::uint64_t>(*cost, "cost", "runs"),
                                    reader_.number<std::uint64_t>(*cost, "cost", "run_ns")};
        if (reader_.failed()) return fail(ErrorKind::usage, reader_.error());
        return std::move(reading_);
    }

  private:
    void parse_head(const json& document) {
        ReportHeader& header = reading_.report.header;
        header.version = reader_.text(document, "document", "version");
        header.time = reader_.text(document, "document", "time");
        header.kernel = reader_.text(document, "document", "kernel");
        header.attach = reader_.text(document, "document", "attach");
        if (const json* found = Reader::optional(document, "era")) {
            const auto era = parse_era(reader_.text(*found, "era", "name"));
            if (!era) reader_.fail_at("era.name", "no kernel's hash");
            if (era) reading_.recorded_era = EraFinding{*era, EraSource::given, {}};
            predicted_ = true;
        }
        reading_.host = reader_.text(document, "document", "host");
        reading_.time_ns = reader_.number<std::uint64_t>(document, "document", "monotonic_ns",
                                                         std::numeric_limits<std::int64_t>::max());
        reading_.report.max_flows = reader_.number<std::uint64_t>(document, "document", "max_flows");
    }

    void parse_losses(const json& losses) {
        Losses& to = reading_.report.losses;
        const auto count = [&](const char* name) {
            return reader_.number<std::uint64_t>(losses, "losses", name);
        };
        to.untracked_packets = count("untracked_packets");
        to.unparsed_packets = count("unparsed_packets");
        to.recursion_misses = count("recursion_misses");
        to.slots_full = count("slots_full");
        to.consumed_unknown = count("consumed_unknown");
        // Documents of 0.1.0 have neither this nor `removed`.
        if (Reader::optional(losses, "uncounted_bonds")) to.uncounted_bonds = count("uncounted_bonds");
        to.reading_skew = count("reading_skew");
    }

    Counts parse_counts(const json& counts, const std::string& place) {
        Counts to;
        to.packets = reader_.number<std::uint64_t>(counts, place, "packets");
        to.bytes = reader_.number<std::uint64_t>(counts, place, "bytes");
        to.wire_packets = reader_.number<std::uint64_t>(counts, place, "wire_packets");
        to.wire_bytes = reader_.number<std::uint64_t>(counts, place, "wire_bytes");
        return to;
    }

    MacAddress parse_mac_member(const json& object, const std::string& place, const char* name) {
        const std::string text = reader_.text(object, place, name);
        const auto mac = parse_mac(text);
        if (!mac && !reader_.failed()) reader_.fail_at(place + "." + name, "a MAC address is expected");
        return mac.value_or(MacAddress{});
    }

    void parse_bond(const json& json_bond, std::size_t index) {
        const std::string place = fmt::format("bonds[{}]", index);
        BondReport report;
        LiveBond live;
        Bond& state = live.state;
        report.name = state.name = reader_.text(json_bond, place, "name");
        if (Reader::optional(json_bond, "netns")) report.netns = reader_.text(json_bond, place, "netns");
        report.group = state.group = !Reader::optional(json_bond, "mode");
        if (report.group) {
            report.mode = state.mode = BondMode::balance_xor; // as group_links() has it
        } else {
            report.ifindex = state.ifindex = reader_.number<int>(json_bond, place, "ifindex");
            const auto mode = parse_bond_mode(reader_.text(json_bond, place, "mode"));
            const auto policy = parse_hash_policy(reader_.text(json_bond, place, "xmit_hash_policy"));
            if (!mode) reader_.fail_at(place + ".mode", "no mode of the bonding driver");
            if (!policy) reader_.fail_at(place + ".xmit_hash_policy", "no policy of the bonding driver");
            report.mode = state.mode = mode.value_or(BondMode::lacp);
            report.policy = state.policy = policy.value_or(HashPolicy::layer2);
        }
        report.policy_used = reader_.truth(json_bond, place, "xmit_hash_policy_used");
        if (Reader::optional(json_bond, "removed"))
            report.removed = reader_.truth(json_bond, place, "removed");
        state.carrier = reader_.truth(json_bond, place, "carrier");
        state.active_slave = reader_.optional_number<int>(json_bond, place, "active_slave");
        // What is not recorded: the hash decides in these modes exactly when the policy is used.
        if (state.mode == BondMode::balance_tlb || state.mode == BondMode::balance_alb)
            state.tlb_dynamic_lb = !report.policy_used;
        if (const json* lacp = Reader::optional(json_bond, "lacp"))
            state.aggregator = parse_aggregator(*lacp, place + ".lacp");

        const json& slaves = reader_.array(json_bond, place, "slaves", BT_MAX_SLAVES);
        for (std::size_t i = 0; i < slaves.size() && !reader_.failed(); ++i)
            parse_slave(slaves[i], fmt::format("{}.slaves[{}]", place, i), report, live);
        const json& flows = reader_.array(json_bond, place, "flows", max_flows);
        for (std::size_t i = 0; i < flows.size() && !reader_.failed(); ++i)
            parse_flow(flows[i], fmt::format("{}.flows[{}]", place, i), report, index);
        reading_.report.bonds.push_back(std::move(report));
        reading_.bonds.push_back(std::move(live));
    }

    AggregatorInfo parse_aggregator(const json& lacp, const std::string& place) {
        AggregatorInfo aggregator;
        aggregator.aggregator_id = reader_.number<std::uint16_t>(lacp, place, "aggregator");
        aggregator.ports = reader_.number<std::uint16_t>(lacp, place, "ports");
        aggregator.actor_key = reader_.number<std::uint16_t>(lacp, place, "actor_key");
        aggregator.partner_key = reader_.number<std::uint16_t>(lacp, place, "partner_key");
        aggregator.partner_mac = parse_mac_member(lacp, place, "partner_mac");
        return aggregator;
    }

    SlaveDirection parse_direction(const json& slave, const std::string& slave_place, const char* name) {
        const json& direction = reader_.object(slave, slave_place, name);
        const std::string place = slave_place + "." + name;
        SlaveDirection to;
        to.traced = parse_counts(direction, place);
        to.untracked = parse_counts(reader_.object(direction, place, "untracked"), place + ".untracked");
        to.control = parse_counts(reader_.object(direction, place, "control"), place + ".control");
        if (direction.contains("inactive"))
            to.inactive = parse_counts(direction["inactive"], place + ".inactive");
        to.unparsed = reader_.number<std::uint64_t>(direction, place, "unparsed_packets");
        return to;
    }

    void parse_slave(const json& slave, const std::string& place, BondReport& report, LiveBond& live) {
        SlaveReport to;
        to.name = reader_.text(slave, place, "name");
        to.ifindex = reader_.number<int>(slave, place, "ifindex");
        to.index = reader_.optional_number<unsigned>(slave, place, "index", BT_MAX_SLAVES);
        to.state = reader_.text(slave, place, "state");
        to.speed_mbps = reader_.optional_number<std::uint32_t>(slave, place, "speed_mbps");
        to.tx = parse_direction(slave, place, "tx");
        to.rx = parse_direction(slave, place, "rx");
        const json& counters = reader_.object(slave, place, "counters");
        const std::string counters_place = place + ".counters";
        to.tx.counter_packets = reader_.number<std::uint64_t>(counters, counters_place, "tx_packets");
        to.tx.counter_bytes = reader_.number<std::uint64_t>(counters, counters_place, "tx_bytes");
        to.rx.counter_packets = reader_.number<std::uint64_t>(counters, counters_place, "rx_packets");
        to.rx.counter_bytes = reader_.number<std::uint64_t>(counters, counters_place, "rx_bytes");
        const json& faults = reader_.object(slave, place, "faults");
        LinkCounters own;
        own.tx_errors = reader_.number<std::uint64_t>(faults, place + ".faults", "tx_errors");
        own.rx_errors = reader_.number<std::uint64_t>(faults, place + ".faults", "rx_errors");
        own.tx_dropped = reader_.number<std::uint64_t>(faults, place + ".faults", "tx_dropped");
        own.rx_dropped = reader_.number<std::uint64_t>(faults, place + ".faults", "rx_dropped");
        live.counters.push_back(own);
        if (const json* link = Reader::optional(slave, "link"))
            live.state.slaves.push_back(parse_link(*link, place + ".link", to));
        report.slaves.push_back(std::move(to));
    }

    Slave parse_link(const json& link, const std::string& place, const SlaveReport& report) {
        Slave slave;
        slave.ifindex = report.ifindex;
        slave.name = report.name;
        slave.speed_mbps = report.speed_mbps;
        const std::string status = reader_.text(link, place, "mii_status");
        for (const MiiStatus known :
             {MiiStatus::up, MiiStatus::going_down, MiiStatus::down, MiiStatus::going_back})
            if (to_text(known) == status) slave.mii_status = known;
        slave.admin_up = reader_.truth(link, place, "admin_up");
        slave.carrier = reader_.truth(link, place, "carrier");
        slave.backup = reader_.truth(link, place, "backup");
        slave.link_failures = reader_.number<std::uint32_t>(link, place, "failures");
        slave.aggregator_id = reader_.optional_number<std::uint16_t>(link, place, "aggregator");
        slave.actor_port_state = reader_.optional_number<std::uint8_t>(link, place, "actor_port_state");
        slave.partner_port_state = reader_.optional_number<std::uint16_t>(link, place, "partner_port_state");
        return slave;
    }

    std::optional<Host> parse_host(const json& flow, const std::string& place, const char* name, bool is_ip) {
        const std::string text = reader_.text(flow, place, name);
        if (is_ip) {
            if (const auto ip = parse_ip(text)) return *ip;
        } else if (const auto mac = parse_mac(text)) {
            return *mac;
        }
        if (!reader_.failed())
            reader_.fail_at(place + "." + name,
                            is_ip ? "an IP address is expected" : "a MAC address is expected");
        return std::nullopt;
    }

    void parse_identity(const json& flow, const std::string& place, ConversationKey& key) {
        constexpr std::uint16_t max_vlan = 4095;
        key.ethertype = reader_.number<std::uint16_t>(flow, place, "ethertype");
        key.ip = flow.contains("ip_protocol");
        if (key.ip) key.protocol = reader_.number<std::uint8_t>(flow, place, "ip_protocol");
        if (key.ip && key.ethertype != ethertype_ipv4 && key.ethertype != ethertype_ipv6)
            reader_.fail_at(place + ".ethertype", "an IP protocol without IP");
        const auto local = parse_host(flow, place, "local", key.ip);
        const auto remote = parse_host(flow, place, "remote", key.ip);
        if (!local || !remote) return;
        key.local = *local;
        key.remote = *remote;
        const auto wrong_family = [&](const Host& host) {
            const auto* ip = std::get_if<IpAddress>(&host);
            return ip && ip->v6 != (key.ethertype == ethertype_ipv6);
        };
        if (wrong_family(key.local) || wrong_family(key.remote))
            reader_.fail_at(place, "addresses are not of the ethertype's family");
        key.vlan = reader_.optional_number<std::uint16_t>(flow, place, "vlan", max_vlan);
        key.inner_vlan = reader_.optional_number<std::uint16_t>(flow, place, "inner_vlan", max_vlan);
        key.fragment = reader_.truth(flow, place, "fragment");
        key.unparsed = reader_.truth(flow, place, "unparsed");
        if (Reader::optional(flow, "local_port")) {
            key.detail = Ports{reader_.number<std::uint16_t>(flow, place, "local_port"),
                               reader_.number<std::uint16_t>(flow, place, "remote_port")};
        } else if (const json* icmp = Reader::optional(flow, "icmp")) {
            IcmpMessage message{reader_.number<std::uint8_t>(*icmp, place + ".icmp", "type"),
                                reader_.number<std::uint8_t>(*icmp, place + ".icmp", "code"),
                                reader_.optional_number<std::uint16_t>(*icmp, place + ".icmp", "id")};
            key.detail = message;
        } else if (flow.contains("spi")) {
            key.detail = Spi{reader_.number<std::uint32_t>(flow, place, "spi")};
        }
    }

    void parse_flow(const json& flow, const std::string& place, const BondReport& report, std::size_t bond) {
        if (!flow.is_object()) return reader_.fail_at(place, "an object is expected");
        Conversation conversation;
        conversation.bond = bond;
        parse_identity(flow, place, conversation.key);
        if (reader_.failed()) return;
        parse_prediction(flow, place, conversation);
        FrameOrigin origin;
        origin.outer_ethertype = conversation.key.ethertype;
        if (const json* inputs = Reader::optional(flow, "hash_inputs"))
            parse_hash_inputs(*inputs, place + ".hash_inputs", origin);
        if (Reader::optional(flow, "local_mac"))
            origin.local_mac = parse_mac_member(flow, place, "local_mac");
        if (Reader::optional(flow, "remote_mac"))
            origin.remote_mac = parse_mac_member(flow, place, "remote_mac");
        for (const bool received : {false, true}) {
            const char* name = received ? "rx" : "tx";
            const json& uses = reader_.array(flow, place, name, 2 * std::size_t{BT_MAX_SLAVES});
            for (std::size_t i = 0; i < uses.size() && !reader_.failed(); ++i)
                parse_use(uses[i], fmt::format("{}.{}[{}]", place, name, i), report, conversation, received,
                          origin);
        }
    }

    // What the hash is made of beside the conversation's own members; only of what was sent.
    void parse_hash_inputs(const json& inputs, const std::string& place, FrameOrigin& origin) {
        origin.outer_ethertype = reader_.number<std::uint16_t>(inputs, place, "outer_ethertype");
        origin.tci = reader_.number<std::uint16_t>(inputs, place, "tci");
        origin.extension_headers = reader_.truth(inputs, place, "extension_headers");
        if (reader_.failed()) return;
        const auto hash = reader_.optional_number<std::uint32_t>(inputs, place, "skb_hash");
        origin.l4_hash = hash.has_value();
        origin.skb_hash = hash.value_or(0);
    }

    void parse_prediction(const json& flow, const std::string& place, const Conversation& conversation) {
        Prediction prediction;
        if (Reader::optional(flow, "predicted_slave"))
            prediction.slave = reader_.text(flow, place, "predicted_slave");
        if (Reader::optional(flow, "agrees")) prediction.agrees = reader_.truth(flow, place, "agrees");
        if (Reader::optional(flow, "why")) prediction.why = reader_.text(flow, place, "why");
        if (!predicted_) return;
        reading_.predictions.push_back({conversation.bond, conversation.key, std::move(prediction)});
    }

    void parse_use(const json& json_use, const std::string& place, const BondReport& report,
                   const Conversation& conversation, bool received, const FrameOrigin& origin) {
        SlaveUse use;
        use.origin = origin;
        use.counts = parse_counts(json_use, place);
        use.first_ns = reader_.number<std::uint64_t>(json_use, place, "first_ns");
        use.last_ns = reader_.number<std::uint64_t>(json_use, place, "last_ns");
        if (received) use.inactive = reader_.truth(json_use, place, "inactive");
        const std::string name = reader_.text(json_use, place, "slave");
        if (reader_.failed()) return;
        const auto slave = std::find_if(report.slaves.begin(), report.slaves.end(),
                                        [&](const SlaveReport& other) { return other.name == name; });
        if (slave == report.slaves.end())
            return reader_.fail_at(place + ".slave", "the bond has no slave of that name");
        use.slave_ifindex = slave->ifindex;
        const auto slot = static_cast<std::uint16_t>(conversation.bond * BT_MAX_SLAVES +
                                                     static_cast<std::size_t>(slave - report.slaves.begin()));
        if (reading_.entries.size() >= max_flows) return reader_.fail_at(place, "too many flows");
        reading_.entries.push_back(entry_of(conversation, use, received, slot));
    }

    Reader reader_;
    LiveReading reading_;
    bool predicted_ = false; // by whoever recorded it
};

} // namespace

Result<LiveReading> parse_live_json(std::string_view line) {
    const json document = json::parse(line, nullptr, false);
    if (document.is_discarded()) return fail(ErrorKind::usage, "it is no JSON");
    if (!document.is_object()) return fail(ErrorKind::usage, "it is no JSON object");
    return LineParser().parse(document);
}

} // namespace bondtrace
