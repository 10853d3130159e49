// SPDX-License-Identifier: GPL-2.0-or-later
// What is emitted value by value is, byte for byte, what a tree of objects would be written as.
#include "tests/unit/report/sample_report.h"
#include "user/base/text_pieces.h"
#include "user/report/json_emitter.h"
#include "user/report/json_parts.h"
#include "user/report/json_writer.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

template<typename Value> std::string emitted(const Value& value) {
    std::string text;
    JsonEmitter(text).value(value);
    return text;
}

TEST(JsonEmitter, WritesNumbersAsTheTreeDoes) {
    for (const double number : {0.0,
                                -0.0,
                                1.0,
                                0.1,
                                1.5,
                                1e3,
                                123456789.0,
                                999999999999999.0,
                                1e15,
                                1e16,
                                123456789012345678.0,
                                1e300,
                                1e-7,
                                1.0 / 3,
                                -2.0,
                                -0.25,
                                std::numeric_limits<double>::denorm_min(),
                                std::numeric_limits<double>::max(),
                                std::nan(""),
                                std::numeric_limits<double>::infinity()})
        EXPECT_EQ(emitted(number), dump(Json(number))) << number;
    EXPECT_EQ(emitted(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
    EXPECT_EQ(emitted(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(emitted(std::uint8_t{255}), "255");
    EXPECT_EQ(emitted(true), "true");
    EXPECT_EQ(emitted(std::optional<bool>(false)), "false");
    EXPECT_EQ(emitted(std::optional<std::uint16_t>()), "null");
}

TEST(JsonEmitter, EscapesAsTheTreeDoes) {
    using namespace std::string_literals;
    for (const std::string& text : {""s, "eth0"s, "a\"b\\c/d"s, "\x01\x1f\b\f\n\r\t\x7f"s, "\0"s,
                                    "gr\xc3\xbcn"s, "\xe2\x80\xa8\xf0\x9f\x98\x80"s, "~ "s})
        EXPECT_EQ(emitted(text), dump(Json(text)));
    EXPECT_EQ(emitted("\xff\xc0\x80"s), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(JsonEmitter, PutsCommas) {
    std::string text = "x\n ";
    JsonEmitter out(text);
    out.open('{').member("a", 1).member("b", "");
    out.name("c").open('[');
    out.value(1.5);
    out.open('[').close(']');
    out.open('{').member("d", nullptr).close('}');
    out.null();
    out.close(']').member("e", true).close('}');
    EXPECT_EQ(text, "x\n {\"a\":1,\"b\":\"\",\"c\":[1.5,[],{\"d\":null},null],\"e\":true}");
}

// The tree of a conversation, member by member as docs/schema/flows.schema.json has them.
Json uses_tree(const BondReport& bond, const std::vector<SlaveUse>& uses, bool received) {
    Json list = Json::array();
    for (const SlaveUse& use : uses) {
        Json json;
        json["slave"] = slave_name(bond, use.slave_ifindex);
        json.update(counts_json(use.counts));
        json["first_ns"] = use.first_ns;
        json["last_ns"] = use.last_ns;
        if (received) json["inactive"] = use.inactive;
        list.push_back(std::move(json));
    }
    return list;
}

Json flow_tree(const BondReport& bond, const Conversation& flow) {
    const ConversationKey& key = flow.key;
    const auto* ports = std::get_if<Ports>(&key.detail);
    const SlaveUse* use = !flow.tx.empty() ? &flow.tx.front() : !flow.rx.empty() ? &flow.rx.front() : nullptr;
    Json json;
    json["protocol"] = protocol_name(key);
    json["ethertype"] = key.ethertype;
    if (key.ip) json["ip_protocol"] = key.protocol;
    json["local"] = to_text(key.local);
    json["local_port"] = ports ? Json(ports->local) : Json(nullptr);
    json["remote"] = to_text(key.remote);
    json["remote_port"] = ports ? Json(ports->remote) : Json(nullptr);
    json["local_mac"] = use ? Json(to_text(use->origin.local_mac)) : Json(nullptr);
    json["remote_mac"] = use ? Json(to_text(use->origin.remote_mac)) : Json(nullptr);
    if (const auto* icmp = std::get_if<IcmpMessage>(&key.detail))
        json["icmp"] = {{"type", icmp->type}, {"code", icmp->code}, {"id", or_null(icmp->id)}};
    else if (const auto* spi = std::get_if<Spi>(&key.detail))
        json["spi"] = spi->value;
    json["vlan"] = or_null(key.vlan);
    json["inner_vlan"] = or_null(key.inner_vlan);
    json["fragment"] = key.fragment;
    json["unparsed"] = key.unparsed;
    json["hash_inputs"] = nullptr;
    if (!flow.tx.empty()) {
        const FrameOrigin& origin = flow.tx.front().origin;
        json["hash_inputs"] = {{"outer_ethertype", origin.outer_ethertype},
                               {"tci", origin.tci},
                               {"extension_headers", origin.extension_headers},
                               {"skb_hash", origin.l4_hash ? Json(origin.skb_hash) : Json(nullptr)}};
    }
    json["tx"] = uses_tree(bond, flow.tx, false);
    json["rx"] = uses_tree(bond, flow.rx, true);
    json["moves"] = flow.moves();
    json["sprayed"] = flow.sprayed();
    const bool predicted = flow.prediction.has_value();
    json["predicted_slave"] = predicted ? or_null(flow.prediction->slave) : Json(nullptr);
    json["agrees"] = predicted ? or_null(flow.prediction->agrees) : Json(nullptr);
    json["why"] = predicted ? flow.prediction->why : "no prediction was made";
    return json;
}

TEST(FlowsJson, ConversationsAreWrittenAsTheirTreesWouldBe) {
    FlowsReport report = test::sample_report();
    Conversation nothing; // what no report has: neither sent nor received
    nothing.key.local = nothing.key.remote = MacAddress{};
    report.flows.push_back(nothing);
    Conversation strange = report.flows[0];
    strange.tx[0].slave_ifindex = 4711;
    strange.tx[0].origin.l4_hash = true;
    strange.tx[0].origin.skb_hash = 0xfeedface;
    strange.tx[0].counts.bytes = std::numeric_limits<std::uint64_t>::max();
    strange.prediction = Prediction{"a\"b\\", std::nullopt, "gr\xc3\xbcn\n"};
    report.flows.push_back(strange);
    const std::string text = flows_json(report);
    for (const Conversation& flow : report.flows) {
        const std::string line = "\n    " + dump(flow_tree(report.bonds[flow.bond], flow));
        EXPECT_TRUE(text.find(line + ",\n") != std::string::npos ||
                    text.find(line + "]") != std::string::npos)
            << line;
    }
}

TEST(FlowsJson, PiecesAreTheWhole) {
    FlowsReport report = test::sample_report();
    const std::vector<Conversation> sample = report.flows;
    while (report.flows.size() < 1000)
        report.flows.insert(report.flows.end(), sample.begin(), sample.end());
    std::string whole;
    std::size_t pieces = 0, longest = 0;
    EXPECT_TRUE(write_flows_json(report, [&](const std::string& piece) {
        whole += piece;
        longest = std::max(longest, piece.size());
        ++pieces;
        return true;
    }));
    EXPECT_EQ(whole, flows_json(report));
    EXPECT_GT(pieces, 3U);
    EXPECT_LT(longest, 2 * TextPieces::enough);

    pieces = 0;
    EXPECT_FALSE(write_flows_json(report, [&](const std::string&) { return ++pieces < 2; }));
    EXPECT_EQ(pieces, 2U) << "nothing is written for a reader that has gone";
}

} // namespace
} // namespace bondtrace
