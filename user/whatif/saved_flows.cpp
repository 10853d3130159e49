// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/whatif/saved_flows.h"

#include "user/bond/json_members.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using Json = nlohmann::json;

constexpr std::string_view schema = "bondtrace.flows/1";

// Members of a document, with what is wrong remembered once.
class Reader {
  public:
    std::optional<JsonProblem> wrong;

    [[nodiscard]] JsonMembers members(const Json& object, std::string where) {
        return JsonMembers(object, std::move(where), wrong);
    }
    void complain(const std::string& what) {
        if (!wrong) wrong = JsonProblem{what};
    }
};

// null, which many members may be, counts as absent.
template<typename Number>
void number_or_null(const JsonMembers& members, const Json& object, const char* name,
                    std::optional<Number>& target) {
    const auto at = object.find(name);
    if (at != object.end() && !at->is_null()) members.number(name, target);
}

Host host_of(Reader& reader, const std::optional<std::string>& text, bool ip, const std::string& where) {
    if (ip) {
        if (const auto address = text ? parse_ip(*text) : std::nullopt) return *address;
    } else if (const auto mac = text ? parse_mac(*text) : std::nullopt) {
        return *mac;
    }
    reader.complain(where + ": an end is no address");
    return MacAddress{};
}

void read_origin(Reader& reader, const Json& flow, const std::string& where, FrameOrigin& origin) {
    const auto inputs = flow.find("hash_inputs");
    if (inputs == flow.end() || !inputs->is_object()) {
        reader.complain(where + ": hash_inputs is missing, from which the hash is computed");
        return;
    }
    const JsonMembers members = reader.members(*inputs, where + ".hash_inputs");
    members.number("outer_ethertype", origin.outer_ethertype);
    members.number("tci", origin.tci);
    members.flag("extension_headers", origin.extension_headers);
    std::optional<std::uint32_t> hash;
    number_or_null(members, *inputs, "skb_hash", hash);
    origin.l4_hash = hash.has_value();
    origin.skb_hash = hash.value_or(0);
    const JsonMembers outer = reader.members(flow, where);
    const auto mac = [&](const char* name) {
        const auto text = outer.text(name);
        return text ? parse_mac(*text).value_or(MacAddress{}) : MacAddress{};
    };
    origin.local_mac = mac("local_mac");
    origin.remote_mac = mac("remote_mac");
}

void read_detail(Reader& reader, const Json& flow, const std::string& where, ConversationKey& key) {
    const JsonMembers members = reader.members(flow, where);
    if (const auto icmp = flow.find("icmp"); icmp != flow.end() && icmp->is_object()) {
        IcmpMessage message;
        const JsonMembers inner = reader.members(*icmp, where + ".icmp");
        inner.number("type", message.type);
        inner.number("code", message.code);
        number_or_null(inner, *icmp, "id", message.id);
        key.detail = message;
        return;
    }
    std::optional<std::uint32_t> spi;
    number_or_null(members, flow, "spi", spi);
    if (spi) {
        key.detail = Spi{*spi};
        return;
    }
    std::optional<std::uint16_t> local, remote;
    number_or_null(members, flow, "local_port", local);
    number_or_null(members, flow, "remote_port", remote);
    if (local && remote) key.detail = Ports{*local, *remote};
}

// nullopt: nothing was sent.
std::optional<Conversation> read_flow(Reader& reader, const Json& flow, const std::string& where) {
    if (!flow.is_object()) {
        reader.complain(where + " is no object");
        return std::nullopt;
    }
    const auto tx = flow.find("tx");
    if (tx == flow.end() || !tx->is_array()) {
        reader.complain(where + ": tx is missing");
        return std::nullopt;
    }
    if (tx->empty()) return std::nullopt;
    Conversation result;
    ConversationKey& key = result.key;
    const JsonMembers members = reader.members(flow, where);
    std::optional<std::uint8_t> protocol;
    members.number("ip_protocol", protocol);
    key.ip = protocol.has_value();
    key.protocol = protocol.value_or(0);
    members.number("ethertype", key.ethertype);
    key.local = host_of(reader, members.text("local"), key.ip, where);
    key.remote = host_of(reader, members.text("remote"), key.ip, where);
    number_or_null(members, flow, "vlan", key.vlan);
    number_or_null(members, flow, "inner_vlan", key.inner_vlan);
    members.flag("fragment", key.fragment);
    members.flag("unparsed", key.unparsed);
    read_detail(reader, flow, where, key);
    SlaveUse use; // all of them together: the hash does not depend on where it went
    for (const Json& sent : *tx) {
        if (!sent.is_object()) {
            reader.complain(where + ".tx holds no objects");
            return std::nullopt;
        }
        Counts counts;
        const JsonMembers numbers = reader.members(sent, where + ".tx");
        numbers.number("packets", counts.packets);
        numbers.number("bytes", counts.bytes);
        numbers.number("wire_packets", counts.wire_packets);
        numbers.number("wire_bytes", counts.wire_bytes);
        use.counts += counts;
    }
    read_origin(reader, flow, where, use.origin);
    result.tx.push_back(use);
    return result;
}

void read_bond(Reader& reader, const Json& object, const std::string& where, SavedBond& bond) {
    const JsonMembers members = reader.members(object, where);
    bond.name = members.text("name").value_or("");
    bond.netns = members.text("netns");
    const auto mode = parse_bond_mode(members.text("mode").value_or(""));
    const auto policy = parse_hash_policy(members.text("xmit_hash_policy").value_or(""));
    if (!mode || !policy) reader.complain(where + " has a mode or policy that is not known");
    bond.mode = mode.value_or(BondMode::balance_rr);
    bond.policy = policy.value_or(HashPolicy::layer2);
    members.flag("xmit_hash_policy_used", bond.policy_used);
    const auto slaves = object.find("slaves");
    if (slaves == object.end() || !slaves->is_array()) return;
    std::map<unsigned, std::string> usable;
    for (const Json& slave : *slaves) {
        if (!slave.is_object()) continue;
        std::optional<unsigned> index;
        const JsonMembers inner = reader.members(slave, where + ".slaves");
        number_or_null(inner, slave, "index", index);
        if (index) usable.emplace(*index, inner.text("name").value_or(""));
    }
    for (auto& [index, name] : usable)
        bond.usable.push_back(std::move(name));
}

tl::unexpected<Error> no_document(std::string what) {
    return fail(ErrorKind::usage, std::move(what), "bondtrace flows --json writes what is read here");
}

} // namespace

Result<SavedFlows> parse_saved_flows(std::string_view text) {
    const Json document = Json::parse(text.begin(), text.end(), nullptr, false);
    if (document.is_discarded() || !document.is_object()) return no_document("this is no JSON document");
    Reader reader;
    const JsonMembers head = reader.members(document, "the document");
    if (head.text("schema") != schema)
        return no_document(fmt::format("this is no document of the schema {}", schema));
    SavedFlows saved;
    saved.kernel = head.text("kernel").value_or("");
    if (const auto seconds = document.find("window_seconds");
        seconds != document.end() && seconds->is_number())
        saved.seconds = seconds->get<double>();
    if (const auto era = document.find("era"); era != document.end() && era->is_object()) {
        const auto parsed = parse_era(reader.members(*era, "era").text("name").value_or(""));
        if (parsed) saved.era = EraFinding{*parsed, EraSource::given, "from the document"};
    }
    const auto bonds = document.find("bonds");
    if (bonds == document.end() || !bonds->is_array()) return no_document("the document has no bonds");
    std::uint64_t total = 0, read = 0;
    head.number("flows_total", total);
    for (const Json& object : *bonds) {
        const std::string where = fmt::format("bonds[{}]", saved.bonds.size());
        const auto flows = object.is_object() ? object.find("flows") : object.end();
        if (!object.is_object() || flows == object.end() || !flows->is_array())
            return no_document(where + " has no flows");
        read_bond(reader, object, where, saved.bonds.emplace_back());
        for (const Json& flow : *flows) {
            auto conversation = read_flow(reader, flow, fmt::format("{}.flows[{}]", where, read++));
            if (reader.wrong) return no_document(reader.wrong->what);
            if (!conversation) continue;
            conversation->bond = saved.bonds.size() - 1;
            saved.flows.push_back(std::move(*conversation));
        }
    }
    if (reader.wrong) return no_document(reader.wrong->what);
    saved.complete = read == total;
    return saved;
}

} // namespace bondtrace
