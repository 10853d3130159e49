// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/report/sample_audit.h"

#include "tests/unit/audit/scene.h"
#include "user/audit/state_findings.h"
#include "user/bond/source.h"

#include <stdexcept>

namespace bondtrace::test {
namespace {

Scene faulty_scene() {
    Scene scene(BondMode::lacp, HashPolicy::layer2, 3);
    FlowSpec spec;
    spec.protocol = 6;
    spec.remote_port = 443;
    scene.send_ports(spec, 64); // all to one MAC address
    unsigned slave = 0;
    for (Conversation& flow : scene.traffic().flows) { // the switch uses them all
        flow.rx = flow.tx;
        flow.rx.front().slave_ifindex = static_cast<int>(slave++ % 3) + 1;
    }
    Slave& last = scene.bond().slaves[2];
    last.aggregator_id = 2;
    last.actor_port_state = 0x07;
    last.partner_port_state = 0x45;
    last.partner = LacpSide{65535, 1, 255, 1, MacAddress{}};
    last.actor_churn = last.partner_churn = ChurnState::churned;
    last.link_failures = 3;
    scene.bond().uppers = {{"bond0.100", "vlan", 0}};
    scene.bond().privileged = true;
    scene.report().slaves[2].index.reset();
    return scene;
}

Scene healthy_scene() {
    Scene scene(BondMode::lacp, HashPolicy::layer34);
    FlowSpec spec;
    spec.protocol = 6;
    spec.remote_port = 443;
    scene.send_ports(spec, 64);
    for (Conversation& flow : scene.traffic().flows)
        flow.rx = flow.tx;
    return scene;
}

AuditReport started() {
    AuditReport report;
    report.header = {"0.1", "2026-11-30T12:00:00Z", "6.12.1", "fentry"};
    return report;
}

} // namespace

AuditReport sample_audit(std::string_view which) {
    AuditReport report = started();
    std::vector<Finding> others;
    if (which == "healthy") {
        Scene scene = healthy_scene();
        report.input = scene.input();
    } else if (which != "empty") {
        Scene scene = faulty_scene();
        report.input = scene.input();
        SlaveReport gone = report.input.traffic->bonds[0].slaves[1];
        gone.name = "old0";
        gone.ifindex = 99;
        gone.state = "gone";
        gone.index.reset();
        gone.tx = gone.rx = {};
        report.input.traffic->bonds[0].slaves.push_back(gone);
        others.push_back(missing_bond("bond7", "no interface is called bond7"));
    }
    if (which == "unwatched") {
        report.input.traffic.reset();
        report.input.obstacle = Error{ErrorKind::unavailable, "loading BPF programs: not permitted (EPERM)",
                                      "run as root\nor give it CAP_BPF"};
        report.header.attach = "none";
        others.clear();
        report.input.bonds[0].slaves.pop_back(); // nothing wrong with the rest
    }
    if (report.input.traffic) report.era = EraFinding{report.input.era, EraSource::assumed, "a test"};
    report.seconds = 10;
    report.result = audit(report.input, others);
    return report;
}

AuditReport saved_audit(const std::string& path) {
    AuditReport report = started();
    report.header.kernel.clear();
    report.header.attach = "none";
    const auto saved = read_saved_state(path);
    if (!saved) throw std::runtime_error(saved.error().what);
    report.input.bonds = saved->bonds;
    report.notes = saved->notes;
    report.result = audit(report.input, {});
    return report;
}

} // namespace bondtrace::test
