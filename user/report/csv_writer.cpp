// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/csv_writer.h"

#include "user/base/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::string_view header =
    "bond,netns,protocol,ethertype,local,local_port,remote,remote_port,icmp_type,icmp_code,icmp_id,spi,vlan,"
    "inner_vlan,"
    "fragment,unparsed,tx_slaves,tx_packets,tx_bytes,tx_wire_packets,tx_wire_bytes,rx_slaves,rx_packets,rx_"
    "bytes,"
    "rx_wire_packets,rx_wire_bytes,rx_inactive_packets,moves,sprayed,predicted_slave,agrees,why\n";

class Line {
  public:
    // Text from outside: made harmless, and quoted when it has to be.
    Line& text(std::string_view value) {
        const std::string clean = sanitize(value);
        separate();
        if (clean.find_first_of(",\"\r\n") == std::string::npos) {
            line_ += clean;
            return *this;
        }
        line_ += '"';
        for (const char c : clean) {
            if (c == '"') line_ += '"';
            line_ += c;
        }
        line_ += '"';
        return *this;
    }
    template<typename Number> Line& number(Number value) {
        separate();
        line_ += fmt::format("{}", value);
        return *this;
    }
    template<typename Number> Line& number(const std::optional<Number>& value) {
        if (value) return number(*value);
        return empty();
    }
    Line& empty(unsigned columns = 1) {
        for (unsigned i = 0; i < columns; ++i)
            separate();
        return *this;
    }
    Line& counts(const Counts& value) {
        return number(value.packets).number(value.bytes).number(value.wire_packets).number(value.wire_bytes);
    }
    std::string finish() { return std::move(line_) + '\n'; }

  private:
    void separate() {
        if (!first_) line_ += ',';
        first_ = false;
    }

    std::string line_;
    bool first_ = true;
};

std::string slave_names(const BondReport& bond, const std::vector<SlaveUse>& uses) {
    std::string names;
    for (auto use = uses.begin(); use != uses.end(); ++use) {
        // Active and inactive receptions of one slave are two uses.
        const auto same_slave = [&](const SlaveUse& other) {
            return other.slave_ifindex == use->slave_ifindex;
        };
        if (std::any_of(uses.begin(), use, same_slave)) continue;
        if (!names.empty()) names += ' ';
        names += slave_name(bond, use->slave_ifindex);
    }
    return names;
}

void add_detail(Line& line, const ConversationKey& key) {
    const auto* icmp = std::get_if<IcmpMessage>(&key.detail);
    if (icmp)
        line.number(icmp->type).number(icmp->code).number(icmp->id);
    else
        line.empty(3);
    if (const auto* spi = std::get_if<Spi>(&key.detail))
        line.number(spi->value);
    else
        line.empty();
}

std::uint64_t inactive_packets(const Conversation& flow) {
    std::uint64_t packets = 0;
    for (const SlaveUse& use : flow.rx)
        if (use.inactive) packets += use.counts.wire_packets;
    return packets;
}

std::string flow_line(const BondReport& bond, const Conversation& flow) {
    const ConversationKey& key = flow.key;
    const auto* ports = std::get_if<Ports>(&key.detail);
    const auto port = [&](std::uint16_t Ports::*end) {
        return ports ? std::optional<std::uint16_t>(ports->*end) : std::nullopt;
    };
    Line line;
    line.text(bond.name).text(bond.netns);
    line.text(protocol_name(key)).text(fmt::format("0x{:04x}", key.ethertype));
    line.text(to_text(key.local)).number(port(&Ports::local));
    line.text(to_text(key.remote)).number(port(&Ports::remote));
    add_detail(line, key);
    line.number(key.vlan).number(key.inner_vlan).number(key.fragment).number(key.unparsed);
    line.text(slave_names(bond, flow.tx)).counts(flow.tx_total());
    line.text(slave_names(bond, flow.rx)).counts(flow.rx_total()).number(inactive_packets(flow));
    line.number(flow.moves()).number(flow.sprayed());
    if (!flow.prediction) return line.empty(3).finish();
    line.text(flow.prediction->slave.value_or("")).number(flow.prediction->agrees).text(flow.prediction->why);
    return line.finish();
}

} // namespace

std::string flows_csv(const FlowsReport& report) {
    std::string text(header);
    for (const Conversation& flow : report.flows)
        if (flow.bond < report.bonds.size()) text += flow_line(report.bonds[flow.bond], flow);
    return text;
}

} // namespace bondtrace
