// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/report/sample_report.h"

namespace bondtrace::test {
namespace {

constexpr int s0 = 11, s1 = 12;

SlaveUse use(int slave, Counts counts, std::uint64_t first_ms = 0, std::uint64_t last_ms = 9000) {
    SlaveUse result;
    result.slave_ifindex = slave;
    result.counts = counts;
    result.first_ns = (5000000 + first_ms) * 1000000;
    result.last_ns = (5000000 + last_ms) * 1000000;
    result.origin.local_mac = {0x02, 0, 0, 0, 0x0a, 0x01};
    result.origin.remote_mac = {0x02, 0, 0, 0, 0x0b, 0x01};
    return result;
}

// Packets that segmentation leaves as they are.
Counts plain(std::uint64_t packets, std::uint64_t bytes) {
    return {packets, bytes, packets, bytes};
}

Conversation ip_flow(std::uint8_t protocol, const char* local, const char* remote, FlowDetail detail,
                     std::vector<SlaveUse> tx, std::vector<SlaveUse> rx) {
    Conversation flow;
    flow.key.ip = true;
    flow.key.protocol = protocol;
    flow.key.local = *parse_ip(local);
    flow.key.remote = *parse_ip(remote);
    flow.key.ethertype = std::get<IpAddress>(flow.key.local).v6 ? 0x86dd : 0x0800;
    flow.key.detail = detail;
    flow.tx = std::move(tx);
    flow.rx = std::move(rx);
    return flow;
}

Conversation other_flow(std::uint16_t ethertype, MacAddress local, MacAddress remote,
                        std::vector<SlaveUse> tx, std::vector<SlaveUse> rx) {
    Conversation flow;
    flow.key.ethertype = ethertype;
    flow.key.local = local;
    flow.key.remote = remote;
    flow.tx = std::move(tx);
    flow.rx = std::move(rx);
    return flow;
}

std::vector<Conversation> lacp_flows() {
    constexpr MacAddress own = {0x02, 0, 0, 0, 0x0a, 0x01}, everyone = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    std::vector<Conversation> flows;
    flows.push_back(ip_flow(6, "10.77.0.1", "10.77.0.2", Ports{40001, 5201},
                            {use(s0, {23041, 1503200100, 992034, 1567201200})},
                            {use(s1, plain(41003, 2706198))}));
    flows.back().prediction = Prediction{"s0", true, ""};
    flows.push_back(ip_flow(6, "10.77.0.1", "10.77.0.2", Ports{40002, 5201},
                            {use(s1, {20100, 1303200100, 860034, 1358201200})},
                            {use(s1, plain(39003, 2574198))}));
    flows.back().prediction = Prediction{"s0", false, "layer3+4 gives index 0 of 2, which is s0"};
    flows.push_back(ip_flow(6, "fd77::1", "fd77::2", Ports{40003, 5201},
                            {use(s0, {900, 57200100, 40034, 60201200})}, {use(s0, plain(1903, 163658))}));
    flows.push_back(ip_flow(6, "2001:db8:1234:5678:9abc:def0:1234:5678",
                            "2001:db8:ffff:eeee:dddd:cccc:bbbb:aaaa", Ports{65535, 443},
                            {use(s1, plain(1200, 98000))}, {use(s0, plain(2103, 3103658))}));
    flows.push_back(ip_flow(17, "10.77.0.1", "10.77.0.2", Ports{51000, 53}, {use(s1, plain(120, 9400))},
                            {use(s0, plain(120, 20400))}));
    flows.back().key.vlan = 100;
    flows.push_back(ip_flow(17, "10.77.0.1", "10.77.0.2", {}, {use(s0, plain(300, 412000))}, {}));
    flows.back().key.fragment = true;
    flows.push_back(ip_flow(1, "10.77.0.1", "10.77.0.2", IcmpMessage{8, 0, 4711}, {use(s1, plain(10, 980))},
                            {use(s0, plain(10, 980))}));
    flows.push_back(
        ip_flow(58, "fe80::1", "ff02::1:ff00:2", IcmpMessage{135, 0, {}}, {use(s0, plain(2, 172))}, {}));
    flows.push_back(ip_flow(50, "10.77.0.1", "10.77.0.2", Spi{0xc0ffee01}, {use(s0, plain(20, 3160))}, {}));
    flows.push_back(
        ip_flow(17, "10.77.0.1", "192.168.100.200", Ports{60000, 4789},
                {use(s0, plain(4000, 5600000), 0, 4000), use(s1, plain(4100, 5740000), 4004, 9000)}, {}));
    flows.push_back(other_flow(0x0806, own, everyone, {use(s0, plain(1, 42))}, {}));
    flows.push_back(other_flow(0x0806, own, {0x02, 0, 0, 0, 0x0b, 0x01}, {}, {use(s1, plain(1, 60))}));
    flows.push_back(other_flow(0x0800, own, {0x02, 0, 0, 0, 0x0b, 0x01}, {}, {use(s1, plain(1, 60))}));
    flows.back().key.unparsed = true;
    flows.back().key.vlan = 100;
    flows.back().key.inner_vlan = 7;
    return flows;
}

BondReport bond(std::string name, BondMode mode, std::vector<std::string> slaves, int first_ifindex) {
    BondReport report;
    report.name = std::move(name);
    report.ifindex = first_ifindex - 1;
    report.mode = mode;
    report.policy = HashPolicy::layer34;
    report.policy_used = mode == BondMode::lacp;
    for (std::size_t i = 0; i < slaves.size(); ++i) {
        SlaveReport slave;
        slave.name = slaves[i];
        slave.ifindex = first_ifindex + static_cast<int>(i);
        slave.index = static_cast<unsigned>(i);
        slave.state = "active";
        slave.speed_mbps = 10000;
        report.slaves.push_back(std::move(slave));
    }
    return report;
}

SlaveReport& slave_of(BondReport& bond, int ifindex) {
    for (SlaveReport& slave : bond.slaves)
        if (slave.ifindex == ifindex) return slave;
    return bond.slaves.front();
}

// Makes the slaves' sums those of the flows, and the kernel's counters those of a device that counts frames
// on the wire.
void add_up(FlowsReport& report) {
    for (const Conversation& flow : report.flows) {
        BondReport& bond = report.bonds[flow.bond];
        for (const SlaveUse& use : flow.tx)
            slave_of(bond, use.slave_ifindex).tx.traced += use.counts;
        for (const SlaveUse& use : flow.rx) {
            SlaveDirection& direction = slave_of(bond, use.slave_ifindex).rx;
            direction.traced += use.counts;
            if (use.inactive) direction.inactive += use.counts;
        }
    }
    for (BondReport& bond : report.bonds) {
        for (SlaveReport& slave : bond.slaves) {
            for (SlaveDirection* direction : {&slave.tx, &slave.rx}) {
                if (bond.mode == BondMode::lacp) direction->control = plain(10, 1240);
                direction->counter_packets = direction->traced.wire_packets + direction->control.wire_packets;
                direction->counter_bytes = direction->traced.wire_bytes + direction->control.wire_bytes;
            }
        }
    }
    count_slave_flows(report.bonds, report.flows);
}

} // namespace

FlowsReport empty_report() {
    FlowsReport report;
    report.header = {"0.1.0", "2025-06-01T12:00:00Z", "6.1.0-57-amd64", "fentry"};
    report.seconds = 10.003;
    report.max_flows = 65536;
    report.bonds = {bond("bond0", BondMode::lacp, {"s0", "s1"}, s0),
                    bond("bond1", BondMode::balance_rr, {"r0", "r1", "r2", "r3", "r4"}, 21),
                    bond("bond2", BondMode::active_backup, {"eno1", "eno2"}, 31)};
    report.bonds[0].netns = "bt-a";
    report.bonds[2].slaves[1].state = "backup";
    report.bonds[2].slaves[1].index.reset();
    report.bonds[2].slaves[1].speed_mbps.reset();
    return report;
}

FlowsReport sample_report() {
    FlowsReport report = empty_report();
    report.flows = lacp_flows();

    std::vector<SlaveUse> sprayed;
    for (int i = 0; i < 5; ++i)
        sprayed.push_back(use(21 + i, plain(1000, 1514000), 0, 9000));
    report.flows.push_back(
        ip_flow(6, "10.78.0.1", "10.78.0.2", Ports{40001, 5201}, sprayed, {use(23, plain(2500, 165000))}));
    report.flows.back().bond = 1;

    SlaveUse dropped = use(32, plain(57, 5358));
    dropped.inactive = true;
    report.flows.push_back(ip_flow(17, "10.79.0.1", "10.79.0.2", Ports{123, 123}, {use(31, plain(57, 5130))},
                                   {use(31, plain(57, 5130)), dropped}));
    report.flows.back().bond = 2;

    report.flows_matching = report.flows_total = report.flows.size();
    report.era = EraFinding{newest_era, EraSource::assumed, "no probe"};
    report.flows[13].prediction = Prediction{{}, {}, "balance-rr sends packet by packet"};
    add_up(report);
    count_agreement(report.bonds, report.flows);
    // A frame that left a slave past the bond, and a few losses.
    report.bonds[1].slaves[2].tx.counter_packets += 3;
    report.losses.untracked_packets = 12;
    report.losses.unparsed_packets = 1;
    return report;
}

} // namespace bondtrace::test
