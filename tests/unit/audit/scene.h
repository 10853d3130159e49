// SPDX-License-Identifier: GPL-2.0-or-later
// Builds what an audit judges: a bond, and conversations that the kernel's hash placed on its slaves.
#pragma once

#include "user/audit/audit.h"
#include "user/hash/choice.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace bondtrace::test {

inline constexpr MacAddress bond_mac{0x00, 0x00, 0x5e, 0x00, 0x53, 0x10};
inline constexpr MacAddress gateway_mac{0x00, 0x00, 0x5e, 0x00, 0x53, 0x01};
inline constexpr int bond_ifindex = 10;

inline IpAddress ip(const std::string& text) {
    return parse_ip(text).value();
}

inline IpAddress ip(const std::string& prefix, unsigned last) {
    return ip(prefix + std::to_string(last));
}

struct FlowSpec {
    std::uint8_t protocol = 17;
    IpAddress local = ip("192.0.2.2");
    std::uint16_t local_port = 40000;
    IpAddress remote = ip("192.0.2.1");
    std::uint16_t remote_port = 5001;
    MacAddress local_mac = bond_mac;
    MacAddress remote_mac = gateway_mac;
    std::uint64_t packets = 100;
    std::uint64_t bytes = 100'000;
    std::uint16_t outer_ethertype = 0x0800;
    bool fragment = false;
};

class Scene {
  public:
    Scene(BondMode mode, HashPolicy policy, unsigned slaves = 2, const char* kernel = "6.12") {
        input_.era = parse_era(kernel).value();
        Bond& bond = input_.bonds.emplace_back();
        bond.name = "bond0";
        bond.ifindex = bond_ifindex;
        bond.mode = mode;
        bond.policy = policy;
        bond.mac = bond_mac;
        bond.carrier = bond.admin_up = true;
        bond.miimon_ms = 100;
        bond.lacp_fast = true;
        bond.active_slave = 1;
        bond.aggregator = AggregatorInfo{1, static_cast<std::uint16_t>(slaves), 15, 15, gateway_mac};
        FlowsReport& traffic = input_.traffic.emplace();
        traffic.seconds = 10;
        traffic.header.attach = "fentry";
        BondReport& report = traffic.bonds.emplace_back();
        report.name = bond.name;
        report.ifindex = bond.ifindex;
        report.mode = mode;
        report.policy = policy;
        report.policy_used = mode == BondMode::balance_xor || mode == BondMode::lacp;
        for (unsigned i = 0; i < slaves; ++i) {
            Slave& slave = bond.slaves.emplace_back();
            slave.name = "a" + std::to_string(i);
            slave.ifindex = static_cast<int>(i) + 1;
            slave.mac = bond_mac;
            slave.perm_mac = MacAddress{0x00, 0x00, 0x5e, 0x00, 0x53, static_cast<std::uint8_t>(0x60 + i)};
            slave.mii_status = MiiStatus::up;
            slave.carrier = slave.admin_up = true;
            slave.backup = mode == BondMode::active_backup && i > 0;
            slave.speed_mbps = 10000;
            slave.duplex = Duplex::full;
            slave.aggregator_id = 1;
            slave.actor_port_state = 63;
            slave.partner_port_state = 63;
            SlaveReport& row = report.slaves.emplace_back();
            row.name = slave.name;
            row.ifindex = slave.ifindex;
            row.index = i;
            row.state = "active";
            row.speed_mbps = 10000;
        }
    }

    // Where this kernel sends it, by the model that the hash's own tests hold against real kernels.
    [[nodiscard]] unsigned slave_of(const FlowSpec& spec) const {
        FlowTuple tuple =
            make_tuple(spec.protocol, spec.local, spec.local_port, spec.remote, spec.remote_port);
        tuple.outer_ethertype = spec.outer_ethertype;
        tuple.src_mac = spec.local_mac;
        tuple.dst_mac = spec.remote_mac;
        tuple.fragment = spec.fragment;
        ChoiceContext context;
        context.mode = input_.bonds[0].mode;
        context.policy = input_.bonds[0].policy;
        context.era = input_.era;
        context.usable = static_cast<std::uint32_t>(input_.bonds[0].slaves.size());
        context.l4_hash = false;
        const Choice choice = choose(context, tuple);
        EXPECT_EQ(choice.kind, ChoiceKind::index) << choice.reason;
        return choice.index;
    }

    Conversation& send_on(const FlowSpec& spec, unsigned slave) {
        Conversation& flow = conversation(spec);
        flow.tx.push_back(use(spec, slave));
        return flow;
    }
    Conversation& send(const FlowSpec& spec) { return send_on(spec, slave_of(spec)); }
    Conversation& receive(const FlowSpec& spec, unsigned slave) {
        Conversation& flow = conversation(spec);
        flow.rx.push_back(use(spec, slave));
        return flow;
    }
    // `count` flows whose source ports advance by `step`.
    void send_ports(FlowSpec spec, unsigned count, unsigned step = 1) {
        for (unsigned i = 0; i < count; ++i) {
            send(spec);
            spec.local_port = static_cast<std::uint16_t>(spec.local_port + step);
        }
    }

    // Traffic's sums, and counters that agree with them.
    AuditInput& input() {
        FlowsReport& traffic = *input_.traffic;
        for (SlaveReport& slave : traffic.bonds[0].slaves)
            slave.tx = slave.rx = {};
        for (const Conversation& flow : traffic.flows) {
            for (const SlaveUse& use : flow.tx)
                row(use).tx.traced += use.counts;
            for (const SlaveUse& use : flow.rx) {
                row(use).rx.traced += use.counts;
                if (use.inactive) row(use).rx.inactive += use.counts;
            }
        }
        for (SlaveReport& slave : traffic.bonds[0].slaves)
            for (SlaveDirection* direction : {&slave.tx, &slave.rx}) {
                direction->counter_packets = direction->traced.wire_packets;
                direction->counter_bytes = direction->traced.wire_bytes;
            }
        count_slave_flows(traffic.bonds, traffic.flows);
        traffic.flows_total = traffic.flows.size();
        return input_;
    }
    AuditResult audit() { return bondtrace::audit(input(), {}); }

    // Flows by slave, sent.
    std::vector<std::uint64_t> split() {
        std::vector<std::uint64_t> flows;
        for (const SlaveReport& slave : input().traffic->bonds[0].slaves)
            flows.push_back(slave.tx.flows);
        return flows;
    }
    Bond& bond() { return input_.bonds[0]; }
    BondReport& report() { return input_.traffic->bonds[0]; }
    FlowsReport& traffic() { return *input_.traffic; }

  private:
    Conversation& conversation(const FlowSpec& spec) {
        Conversation& flow = input_.traffic->flows.emplace_back();
        flow.key.ethertype = spec.local.v6 ? 0x86dd : 0x0800;
        flow.key.protocol = spec.protocol;
        flow.key.ip = true;
        flow.key.local = spec.local;
        flow.key.remote = spec.remote;
        flow.key.fragment = spec.fragment;
        if ((spec.protocol == 6 || spec.protocol == 17) && !spec.fragment)
            flow.key.detail = Ports{spec.local_port, spec.remote_port};
        return flow;
    }
    SlaveUse use(const FlowSpec& spec, unsigned slave) {
        SlaveUse use;
        use.slave_ifindex = static_cast<int>(slave) + 1;
        use.counts = {spec.packets, spec.bytes, spec.packets, spec.bytes};
        use.origin.local_mac = spec.local_mac;
        use.origin.remote_mac = spec.remote_mac;
        use.origin.outer_ethertype = spec.outer_ethertype;
        return use;
    }
    SlaveReport& row(const SlaveUse& use) {
        return input_.traffic->bonds[0].slaves[static_cast<std::size_t>(use.slave_ifindex - 1)];
    }

    AuditInput input_;
};

inline const Finding* find(const AuditResult&& result, std::string_view id) = delete; // it would dangle
inline const Finding* find(const AuditResult& result, std::string_view id) {
    for (const Finding& finding : result.findings)
        if (finding.id == id) return &finding;
    return nullptr;
}

inline std::vector<std::string> ids(const AuditResult& result) {
    std::vector<std::string> all;
    for (const Finding& finding : result.findings)
        all.push_back(finding.id);
    return all;
}

inline Severity worst(const AuditResult& result) {
    Severity severity = Severity::info;
    for (const Finding& finding : result.findings)
        severity = std::max(severity, finding.severity);
    return severity;
}

} // namespace bondtrace::test
