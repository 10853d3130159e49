// SPDX-License-Identifier: GPL-2.0-or-later
// Traced flows against the model: every one agrees, in every policy, while slaves come and go; and the order
// of the usable slaves that user space concludes is the one that the driver indexes.
#include "tests/kernel/support/frames.h"
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/window.h"
#include "tests/support/frame_generator.h"
#include "user/bond/usable.h"
#include "user/predict/path.h"
#include "user/probe/era_probe.h"
#include "user/report/flows_build.h"

#include <algorithm>
#include <iostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

namespace bondtrace::test {
namespace {

using testing::HasSubstr;

FlowsReport report_of(const Observed& observed) {
    FlowsReport report = build_flows_report(observed, {}, "");
    const auto era = find_era();
    EXPECT_TRUE(era) << era.error().what;
    add_predictions(report, observed, era.value_or(EraFinding{}), false);
    return report;
}

void expect_agreement(const FlowsReport& report, std::size_t at_least) {
    const Agreement& agreement = report.bonds.front().agreement;
    EXPECT_EQ(agreement.agree, agreement.checked);
    EXPECT_GE(agreement.checked, at_least) << agreement.unchecked_why;
    for (const Conversation& flow : agreement.disagreements)
        ADD_FAILURE() << protocol_name(flow.key) << ' ' << to_text(flow.key.local) << ' '
                      << to_text(flow.key.remote) << ": " << flow.prediction->why;
}

std::vector<UdpFlow> udp_flows(std::uint16_t first, std::uint16_t count, std::size_t payload = 100) {
    std::vector<UdpFlow> flows;
    for (std::uint16_t i = 0; i < count; ++i)
        flows.push_back({static_cast<std::uint16_t>(first + i), 5001, 2, payload});
    return flows;
}

// A bit of everything: UDP of both families, with and without VLAN, in fragments; TCP; pings; and frames that
// no stack would send.
Result<void> mixed_traffic(const LabEnds& ends, FrameGenerator& generator) {
    for (const auto& [from, to] :
         {std::pair{ends.v4_a(), ends.v4_b()}, {ends.v6_a(), ends.v6_b()}, {ends.vlan_a(), ends.vlan_b()}})
        if (const auto sent = send_udp(from, to, udp_flows(30000, 16)); !sent) return sent;
    if (const auto sent = send_udp(ends.v4_a(), ends.v4_b(), udp_flows(31000, 4, 4000)); !sent) return sent;
    static std::uint16_t tcp_port = 20000; // each connection's own: the last ones' are waiting for stragglers
    for (int i = 0; i < 4; ++i)
        if (const auto sent = transfer_tcp(ends.v4_a(), ends.v4_b(), ++tcp_port, 5002, 20'000); !sent)
            return sent;
    for (const char* address : {"10.77.0.2", "fd77::2"}) {
        const Output ping =
            capture({"ip", "netns", "exec", "bt-a", "ping", "-q", "-c", "2", "-i", "0.01", address});
        if (ping.status != 0) return fail(ErrorKind::unavailable, "ping: " + ping.out + ping.err);
    }
    const auto reader = LinkReader::open(ends.a);
    if (!reader) return tl::make_unexpected(reader.error());
    const auto bonds = reader->find_bonds({"bond0"});
    if (!bonds) return tl::make_unexpected(bonds.error());
    std::vector<std::vector<std::uint8_t>> frames;
    for (int i = 0; i < 3000; ++i)
        frames.push_back(generator.next());
    return send_frames(ends.a, bonds->front().ifindex, frames);
}

class AgreementOf : public testing::TestWithParam<const char*> {};

TEST_P(AgreementOf, EveryFlowUnderEveryPolicy) {
    const Lab lab(fmt::format("direct --mode {} --slaves 3 --vlan 100 --policy layer2", GetParam()));
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    FrameGenerator generator(test_seed());
    for (const char* policy : {"layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4", "vlan+srcmac"}) {
        SCOPED_TRACE(policy);
        if (!set_policy(policy)) { // of 5.12
            ASSERT_EQ(std::string(policy), "vlan+srcmac");
            continue;
        }
        const auto observed = observe(ends.a, [&] { return mixed_traffic(ends, generator); });
        ASSERT_TRUE(observed) << observed.error().what;
        const FlowsReport report = report_of(*observed);
        // By tc it cannot be seen whether the socket's hash takes the place of the tuple's.
        const bool checkable = test_attachment() != Attachment::tc || std::string(policy) != "encap3+4";
        expect_agreement(report, checkable ? 50 : 0);
        const Agreement& agreement = report.bonds.front().agreement;
        std::cout << fmt::format("{}: agreement {}/{} of {} flows\n", policy, agreement.agree,
                                 agreement.checked, report.flows.size());
        if (std::string(policy) == "layer3+4") { // the comparison is one that can fail
            FlowsReport wrong = build_flows_report(*observed, {}, "");
            add_predictions(wrong, *observed, {*parse_era("4.14"), EraSource::given, {}}, false);
            EXPECT_LT(wrong.bonds.front().agreement.agree, wrong.bonds.front().agreement.checked);
            EXPECT_FALSE(wrong.bonds.front().agreement.disagreements.empty());
        }
        if (!checkable) continue;
        std::size_t tcp = 0;
        for (const Conversation& flow : report.flows) {
            const auto* ports = std::get_if<Ports>(&flow.key.detail);
            if (flow.key.protocol != 6 || !ports || ports->remote != 5002 || flow.tx.empty()) continue;
            ++tcp;
            EXPECT_EQ(flow.prediction->agrees, true) << flow.prediction->why;
            // The kernel's choice by a socket's random number can be checked, but the tuple predicts nothing.
            EXPECT_EQ(flow.prediction->slave.has_value(), std::string(policy) != "encap3+4");
            if (!flow.prediction->slave) {
                EXPECT_THAT(flow.prediction->why, HasSubstr("socket"));
            }
        }
        EXPECT_EQ(tcp, 4U);
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, AgreementOf, testing::Values("balance-xor", "802.3ad"),
                         [](const auto& instance) {
                             return std::string(instance.param) == "802.3ad" ? "lacp" : "xor";
                         });

TEST(Agreement, HoldsWhileThePolicyAndTheSlavesChange) {
    const Lab lab("direct --mode balance-xor --slaves 3 --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const auto send = [&] { return send_udp(ends.v4_a(), ends.v4_b(), udp_flows(30000, 48)); };
    const auto observed = observe(ends.a, [&]() -> Result<void> {
        if (const auto sent = send(); !sent) return sent;
        if (!run(
                {"ip", "-n", "bt-a", "link", "set", "bond0", "type", "bond", "xmit_hash_policy", "layer2+3"}))
            return fail(ErrorKind::unavailable, "the policy cannot be changed");
        if (const auto sent = send(); !sent) return sent;
        if (!run({"ip", "-n", "bt-a", "link", "set", "bond0", "type", "bond", "xmit_hash_policy",
                  "layer3+4"}) ||
            !run({"ip", "-n", "bt-a", "link", "set", "s1", "nomaster"}))
            return fail(ErrorKind::unavailable, "a slave cannot be removed");
        return send();
    });
    ASSERT_TRUE(observed) << observed.error().what;
    const FlowsReport report = report_of(*observed);
    // Nobody followed the changes, so that user space knows the state for no flow.
    expect_agreement(report, programs_note_choices() ? 48 : 0);
    EXPECT_TRUE(std::any_of(report.flows.begin(), report.flows.end(), [](const Conversation& flow) {
        return flow.tx.size() > 1;
    })) << "no flow moved";
}

TEST(Agreement, ActiveBackupIsHeldAgainstItsActiveSlave) {
    const Lab lab("direct --mode active-backup");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    const auto observed =
        observe(ends.a, [&] { return send_udp(ends.v4_a(), ends.v4_b(), udp_flows(30000, 8)); });
    ASSERT_TRUE(observed) << observed.error().what;
    const FlowsReport report = report_of(*observed);
    expect_agreement(report, 8);
    for (const Conversation& flow : report.flows)
        if (!flow.tx.empty()) {
            EXPECT_EQ(flow.prediction->slave, "s0");
        }
}

// The order of usable slaves, by what is shown to user space and by what the driver indexes.
class UsableOrder {
  public:
    explicit UsableOrder(const LabEnds& ends) : ends_(ends) {}

    // Waits until the bond shows exactly these slaves as usable, in this order, then sends flows until the
    // driver has followed (its list is rebuilt a moment after the state), and compares.
    void expect(const std::vector<std::string>& names) {
        SCOPED_TRACE(fmt::format("{}", fmt::join(names, " ")));
        ASSERT_TRUE(await([&] { return shown() == names; }, std::chrono::seconds(120)))
            << fmt::format("shown: {}", fmt::join(shown(), " "));
        for (int attempt = 1;; ++attempt) {
            const auto observed =
                observe(ends_.a, [&] { return send_udp(ends_.v4_a(), ends_.v4_b(), udp_flows(30000, 48)); });
            ASSERT_TRUE(observed) << observed.error().what;
            const FlowsReport report = report_of(*observed);
            const bool followed =
                std::all_of(report.flows.begin(), report.flows.end(), [&](const auto& flow) {
                    return std::all_of(flow.tx.begin(), flow.tx.end(), [&](const SlaveUse& use) {
                        return use.origin.usable_count == names.size();
                    });
                });
            if (!followed && attempt < 10) continue;
            EXPECT_TRUE(followed) << "the driver's list is another one";
            compare(report, observed->bonds.front().bond, names);
            return;
        }
    }

  private:
    [[nodiscard]] std::vector<std::string> shown() const {
        std::vector<std::string> names;
        const auto reader = LinkReader::open(ends_.a);
        const auto bonds = reader ? reader->find_bonds({"bond0"}) : tl::make_unexpected(reader.error());
        if (!bonds) return names;
        for (const Slave* slave : usable_slaves(bonds->front()))
            names.push_back(slave->name);
        return names;
    }

    static void compare(const FlowsReport& report, const Bond& bond, const std::vector<std::string>& names) {
        expect_agreement(report, 48);
        const PathBond path = path_bond(bond, find_era()->era, false);
        std::set<std::string> used;
        for (const Conversation& flow : report.flows) {
            const auto* ports = std::get_if<Ports>(&flow.key.detail);
            if (flow.key.protocol != 17 || !ports || ports->remote != 5001) continue;
            ASSERT_EQ(flow.tx.size(), 1U);
            const SlaveUse& use = flow.tx.front();
            const Slave* slave = bond.find_slave(use.slave_ifindex);
            ASSERT_NE(slave, nullptr);
            used.insert(slave->name);
            // As the BPF program read it from the driver.
            ASSERT_TRUE(use.origin.usable_index);
            EXPECT_EQ(names.at(*use.origin.usable_index), slave->name);
            EXPECT_EQ(usable_index(bond, use.slave_ifindex), *use.origin.usable_index);
            // And as `predict` would have said before.
            const TypedFlow typed =
                *parse_typed_flow("udp", fmt::format("10.77.0.1:{}", ports->local), "10.77.0.2:5001");
            EXPECT_EQ(predict_path(path, typed, {}).slave, slave->name);
        }
        EXPECT_EQ(used.size(), names.size()) << "48 flows did not use all slaves";
    }

    const LabEnds& ends_;
};

TEST(Agreement, LacpsUsableOrderIsTheDrivers) {
    const Lab lab("direct --mode 802.3ad --slaves 3 --policy layer3+4");
    ASSERT_FALSE(HasFatalFailure());
    const LabEnds ends = LabEnds::open();
    UsableOrder order(ends);
    order.expect({"s0", "s1", "s2"});
    // One slave down.
    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p1", "down"}));
    order.expect({"s0", "s2"});
    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p1", "up"}));
    order.expect({"s0", "s1", "s2"});
    // Enslaved again, it is the last.
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s0", "nomaster"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s0", "down"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-a", "link", "set", "s0", "master", "bond0"}));
    order.expect({"s1", "s2", "s0"});
    // Without a LACP partner at the other end it goes into an aggregator of its own.
    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p2", "nomaster"}));
    ASSERT_TRUE(run({"ip", "-n", "bt-b", "link", "set", "p2", "up"}));
    order.expect({"s1", "s0"});
}

} // namespace
} // namespace bondtrace::test
