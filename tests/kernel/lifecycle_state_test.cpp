// SPDX-License-Identifier: GPL-2.0-or-later
// What happens to a bond, its namespace and its driver while it is traced.
#include "tests/kernel/support/lab.h"
#include "tests/kernel/support/program.h"
#include "tests/kernel/support/window.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

testing::AssertionResult ip(const std::string& netns, const std::string& arguments) {
    std::vector<std::string> argv{"ip", "-n", netns};
    std::istringstream words(arguments);
    for (std::string word; words >> word;)
        argv.push_back(word);
    return run(argv);
}

bool has_event(Program& live, const std::string& text) {
    for (const json& document : live.documents())
        for (const json& event : document.at("events"))
            if (event.at("text").get<std::string>().find(text) != std::string::npos) return true;
    return false;
}

testing::AssertionResult await_event(Program& live, const std::string& text) {
    if (await([&] { return has_event(live, text); })) return testing::AssertionSuccess();
    std::string events;
    for (const json& document : live.documents())
        for (const json& event : document.at("events"))
            events += event.at("text").get<std::string>() + "\n";
    return testing::AssertionFailure() << "no event says '" << text << "' among\n" << events << live.errors();
}

// Flows of which a document says that they are not where the hash leads.
std::string disagreements(Program& live) {
    std::set<std::string> found;
    for (const json& document : live.documents())
        for (const json& bond : document.at("bonds"))
            for (const json& flow : bond.at("flows"))
                if (flow.at("agrees") == false)
                    found.insert(fmt::format("line {}: {}", document.at("sequence").get<int>(), flow.dump()));
    std::string text;
    for (const std::string& one : found)
        text += one + "\n";
    return text;
}

// Waits for a document that was begun after everything that was sent had arrived, while nothing passed.
testing::AssertionResult await_quiet(Program& live) {
    const std::uint64_t now = now_ns();
    return live.await_document([&](const json& document) {
        return document.at("monotonic_ns").get<std::uint64_t>() > now &&
               document.at("losses").at("reading_skew") == 0;
    });
}

std::uint64_t udp_sent(const json& bond, std::uint16_t remote_port) {
    std::uint64_t packets = 0;
    for (const json& flow : bond.at("flows"))
        if (flow.at("protocol") == "udp" && flow.at("remote_port") == remote_port)
            for (const json& use : flow.at("tx"))
                packets += use.at("packets").get<std::uint64_t>();
    return packets;
}

std::vector<std::string> live_arguments() {
    return {"live", "bond0", "--netns", "bt-a", "--json", "--interval", "300ms"};
}

bool any_document(const json& document) {
    return document.is_object();
}

TEST(LifecycleOfABond, ThePolicyChanges) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    Program live(live_arguments());
    ASSERT_TRUE(live.await_document(any_document));
    {
        const SteadyTraffic out(ends.v4_a(), ends.v4_b(), ports_from(40000, 16), 5001, 200, milliseconds(50));
        const SteadyTraffic in(ends.v4_b(), ends.v4_a(), ports_from(41000, 16), 5001, 200, milliseconds(50));
        ASSERT_TRUE(live.await_document([](const json& document) {
            const json& agreement = document.at("bonds").at(0).at("agreement");
            return agreement.at("checked") >= 16 && agreement.at("agree") == agreement.at("checked");
        }));
        std::string before = "layer3+4";
        for (const std::string policy : {"layer2", "layer2+3", "layer3+4", "layer2"}) {
            ASSERT_TRUE(set_policy(policy));
            ASSERT_TRUE(await_event(live, fmt::format("policy {}, was {}", policy, before)));
            ASSERT_TRUE(live.await_document([&](const json& document) {
                return document.at("bonds").at(0).at("xmit_hash_policy") == policy &&
                       document.at("events").empty();
            }));
            before = policy;
        }
    }
    ASSERT_TRUE(await_quiet(live));
    const json last = live.document();
    expect_conservation(last, last.at("bonds").at(0));
    EXPECT_EQ(disagreements(live), "");
    EXPECT_EQ(live.stop(SIGINT), 0) << live.errors();
}

// Modes are changed without slaves and while the bond is down, as every kernel allows.
void change_mode(const std::string& mode) {
    for (const char* slave : {"s0", "s1"})
        ASSERT_TRUE(ip("bt-a", fmt::format("link set {} nomaster", slave)));
    ASSERT_TRUE(ip("bt-a", "link set bond0 down"));
    ASSERT_TRUE(ip("bt-a", "link set bond0 type bond mode " + mode));
    // Without slaves it has taken another address than the one that the other end knows.
    ASSERT_TRUE(ip("bt-a", "link set bond0 address 02:77:00:00:00:01"));
    for (const char* slave : {"s0", "s1"})
        ASSERT_TRUE(ip("bt-a", fmt::format("link set {} master bond0", slave)));
    ASSERT_TRUE(ip("bt-a", "link set bond0 up"));
    // Nobody asks for the other's address: the answer may come in through a slave that is inactive.
    for (const auto& [netns, host] : {std::pair{"bt-a", 2}, {"bt-b", 1}})
        ASSERT_TRUE(ip(
            netns, fmt::format("neigh replace 10.77.0.{0} lladdr 02:77:00:00:00:0{0} dev bond0 nud permanent",
                               host)));
}

// The LACPDU by which a port that leaves says so is sent when the slave is none any more
// (__bond_release_one()), so that hooks in the driver do not know whose it was. The slave's counters have it.
void add_farewells(json& bond, std::uint64_t count) {
    for (json& slave : bond.at("slaves")) {
        json& control = slave["tx"]["control"];
        control["packets"] = control.at("packets").get<std::uint64_t>() + count;
        control["bytes"] = control.at("bytes").get<std::uint64_t>() + count * BT_LACPDU_LEN;
    }
}

TEST(LifecycleOfABond, TheModeChanges) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    const auto reader = LinkReader::open(ends.a);
    ASSERT_TRUE(reader);
    Program live(live_arguments());
    ASSERT_TRUE(live.await_document(any_document));
    std::string before = "balance-xor";
    std::uint64_t control = 0, farewells = 0;
    for (const std::string mode : {"active-backup", "802.3ad", "balance-rr", "balance-xor"}) {
        SCOPED_TRACE(mode);
        // What passes while a slave leaves is looked at elsewhere.
        change_mode(mode);
        ASSERT_FALSE(HasFailure());
        ASSERT_TRUE(await_event(live, fmt::format("mode {}, was {}", mode, before)));
        ASSERT_TRUE(await([&] {
            const auto bonds = reader->find_bonds({"bond0"});
            return bonds && bonds->front().carrier && bonds->front().slaves.size() == 2 &&
                   std::all_of(bonds->front().slaves.begin(), bonds->front().slaves.end(),
                               [](const Slave& slave) { return slave.mii_status == MiiStatus::up; });
        }));
        {
            const SteadyTraffic out(ends.v4_a(), ends.v4_b(), ports_from(40000, 16), 5001, 200,
                                    milliseconds(50));
            const SteadyTraffic in(ends.v4_b(), ends.v4_a(), ports_from(41000, 16), 5001, 200,
                                   milliseconds(50));
            const std::uint64_t so_far = udp_sent(live.document().at("bonds").at(0), 5001);
            ASSERT_TRUE(live.await_document([&](const json& document) {
                return udp_sent(document.at("bonds").at(0), 5001) > so_far + 200;
            }));
            if (mode == "802.3ad") {
                // Nobody answers, but it asks: and what it asks is no traffic of the bond's.
                const auto control_sent = [&](const json& document) {
                    control = 0;
                    for (const json& slave : document.at("bonds").at(0).at("slaves"))
                        control += slave.at("tx").at("control").at("packets").get<std::uint64_t>();
                    return control >= 2;
                };
                EXPECT_TRUE(live.await_document(control_sent));
            }
        }
        ASSERT_TRUE(await_quiet(live));
        const json now = live.document();
        json bond = now.at("bonds").at(0);
        EXPECT_EQ(bond.at("mode"), mode);
        farewells += before == "802.3ad" ? 1 : 0;
        if (test_attachment() != Attachment::tc) add_farewells(bond, farewells);
        expect_conservation(now, bond);
        before = mode;
    }
    EXPECT_EQ(disagreements(live), "");
    EXPECT_EQ(live.stop(SIGINT), 0) << live.errors();
}

// A slave whose carrier has just gone is still given frames, until the bond has noticed; its queue drops them
// before its driver sees them, and no counter has them (noop_qdisc).
void allow_unsent(json& bond, const std::string& name, std::uint64_t most) {
    for (json& slave : bond.at("slaves")) {
        if (slave.at("name") != name) continue;
        const json& tx = slave.at("tx");
        const std::uint64_t traced =
            tx.at("packets").get<std::uint64_t>() + tx.at("control").at("packets").get<std::uint64_t>();
        const std::uint64_t dropped = slave.at("faults").at("tx_dropped");
        const std::uint64_t counted = slave.at("counters").at("tx_packets").get<std::uint64_t>() + dropped;
        ASSERT_GE(traced, counted);
        EXPECT_LE(traced - counted, most);
        slave["faults"]["tx_dropped"] = dropped + traced - counted;
    }
}

TEST(LifecycleOfABond, LacpAggregatesAnew) {
    const Lab lab("direct --mode 802.3ad --policy layer3+4 --lacp-rate fast --slaves 2");
    ASSERT_FALSE(HasFailure());
    const LabEnds ends = LabEnds::open();
    // A beginning into whose edge no LACPDU fell: otherwise every reading owns up to it for ever.
    std::optional<Program> live;
    for (int attempt = 0; attempt < 5; ++attempt) {
        live.emplace(live_arguments());
        ASSERT_TRUE(live->await_document(any_document));
        const std::uint64_t now = now_ns();
        ASSERT_TRUE(live->await_document([&](const json& document) {
            return document.at("monotonic_ns").get<std::uint64_t>() > now + 1'000'000'000;
        }));
        const std::vector<json> documents = live->documents();
        if (std::any_of(documents.begin(), documents.end(),
                        [](const json& document) { return document.at("losses").at("reading_skew") == 0; }))
            break;
    }
    const auto is_up = [](const json& document) {
        return document.at("bonds").at(0).at("lacp_verdict") == "up";
    };
    {
        const SteadyTraffic out(ends.v4_a(), ends.v4_b(), ports_from(40000, 16), 5001, 200, milliseconds(50));
        const SteadyTraffic in(ends.v4_b(), ends.v4_a(), ports_from(41000, 16), 5001, 200, milliseconds(50));
        ASSERT_TRUE(live->await_document([&](const json& document) {
            const json& agreement = document.at("bonds").at(0).at("agreement");
            return is_up(document) && agreement.at("checked") >= 16;
        }));
        // Another system at the other end: both leave the aggregator and come together again.
        ASSERT_TRUE(ip("bt-b", "link set bond0 type bond ad_actor_system 02:77:00:00:99:01"));
        ASSERT_TRUE(await_event(*live, "LACP partner 02:77:00:00:99:01"));
        ASSERT_TRUE(live->await_document(is_up));
        // Another bond behind one link: it cannot stay.
        ASSERT_TRUE(ip("bt-b", "link add bond9 type bond mode 802.3ad miimon 100 lacp_rate fast"));
        ASSERT_TRUE(ip("bt-b", "link set p1 nomaster"));
        ASSERT_TRUE(ip("bt-b", "link set p1 master bond9"));
        ASSERT_TRUE(ip("bt-b", "link set bond9 up"));
        ASSERT_TRUE(live->await_document([&](const json& document) {
            return document.at("bonds").at(0).at("lacp_verdict") == "1 of 2 up";
        }));
        ASSERT_TRUE(ip("bt-b", "link set p1 nomaster"));
        ASSERT_TRUE(ip("bt-b", "link set p1 master bond0"));
        ASSERT_TRUE(live->await_document(is_up));
        const std::uint64_t back = now_ns();
        ASSERT_TRUE(live->await_document([&](const json& document) {
            return document.at("monotonic_ns").get<std::uint64_t>() > back + 1'000'000'000;
        }));
    }
    EXPECT_TRUE(has_event(*live, "slave s1: aggregator ") || has_event(*live, "slave s1: LACP"));
    ASSERT_TRUE(await_quiet(*live));
    const json last = live->document();
    json bond = last.at("bonds").at(0);
    allow_unsent(bond, "s1", 16 * 20 / 2); // half a second's
    expect_conservation(last, bond);
    EXPECT_EQ(disagreements(*live), "");
    EXPECT_EQ(live->stop(SIGINT), 0) << live->errors();
}

std::vector<UdpFlow> sixteen_flows(std::uint16_t first) {
    std::vector<UdpFlow> flows;
    for (std::uint16_t i = 0; i < 16; ++i)
        flows.push_back({static_cast<std::uint16_t>(first + i), 5001, 5, 200});
    return flows;
}

// A run of each command on bond0, and traffic of 80 packets that both have counted.
struct Watched {
    Program live{live_arguments()};
    Program flows{{"flows", "bond0", "--netns", "bt-a", "--json", "-v", "--for", "1h"}};

    Watched() {
        EXPECT_TRUE(live.await_document(any_document));
        EXPECT_TRUE(flows.await_counting());
        const LabEnds ends = LabEnds::open();
        const auto sent = send_udp(ends.v4_a(), ends.v4_b(), sixteen_flows(40000));
        EXPECT_TRUE(sent) << sent.error().what;
        EXPECT_TRUE(live.await_document(
            [](const json& document) { return udp_sent(document.at("bonds").at(0), 5001) == 80; }));
    }
    // Both end by a signal, with their result; nothing is left.
    void expect_clean_end() {
        EXPECT_EQ(live.stop(SIGINT), 0) << live.errors();
        EXPECT_EQ(flows.stop(SIGTERM), 0) << flows.errors();
        EXPECT_TRUE(await([] { return left_in_kernel().empty(); })) << left_in_kernel();
    }
};

bool all_gone(const json& document) {
    const json& slaves = document.at("bonds").at(0).at("slaves");
    return slaves.size() == 2 && std::all_of(slaves.begin(), slaves.end(),
                                             [](const json& slave) { return slave.at("state") == "gone"; });
}

TEST(LifecycleOfABond, ItIsDeleted) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    Watched watched;
    ASSERT_FALSE(HasFailure());
    ASSERT_TRUE(ip("bt-a", "link del bond0"));
    EXPECT_TRUE(watched.live.await_document(all_gone));
    watched.expect_clean_end();
    for (Program* one : {&watched.live, &watched.flows}) {
        const json document = one->document();
        ASSERT_TRUE(document.is_object()) << one->errors();
        EXPECT_TRUE(all_gone(document)) << document;
        EXPECT_EQ(udp_sent(document.at("bonds").at(0), 5001), 80U);
        expect_conservation(document, document.at("bonds").at(0));
    }
}

TEST(LifecycleOfABond, ItIsRenamed) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    Watched watched;
    ASSERT_FALSE(HasFailure());
    // Kernels before 6.2 rename only what is down.
    const Output at_once = capture({"ip", "-n", "bt-a", "link", "set", "bond0", "name", "uplink"});
    std::printf("renaming what is up: %d %s\n", at_once.status, at_once.err.c_str());
    if (at_once.status != 0) {
        EXPECT_THAT(at_once.err, HasSubstr("busy"));
        ASSERT_TRUE(ip("bt-a", "link set bond0 down"));
        ASSERT_TRUE(ip("bt-a", "link set bond0 name uplink"));
        ASSERT_TRUE(ip("bt-a", "link set uplink up"));
    }
    ASSERT_TRUE(watched.live.await_document(
        [](const json& document) { return document.at("bonds").at(0).at("name") == "uplink"; }));
    EXPECT_TRUE(has_event(watched.live, "was named bond0"));
    const LabEnds ends = LabEnds::open();
    ASSERT_TRUE(await([&] {
        return capture({"ip", "-n", "bt-a", "-o", "link", "show", "uplink"}).out.find("LOWER_UP") !=
               std::string::npos;
    }));
    const auto sent = send_udp(ends.v4_a(), ends.v4_b(), sixteen_flows(41000));
    ASSERT_TRUE(sent) << sent.error().what;
    EXPECT_TRUE(watched.live.await_document(
        [](const json& document) { return udp_sent(document.at("bonds").at(0), 5001) == 160; }));
    ASSERT_TRUE(await_quiet(watched.live));
    watched.expect_clean_end();
    for (Program* one : {&watched.live, &watched.flows}) {
        const json document = one->document();
        ASSERT_TRUE(document.is_object()) << one->errors();
        EXPECT_EQ(document.at("bonds").at(0).at("name"), "uplink");
        EXPECT_EQ(udp_sent(document.at("bonds").at(0), 5001), 160U);
        expect_conservation(document, document.at("bonds").at(0));
    }
}

TEST(LifecycleOfABond, ItStaysInItsNamespaceAndASlaveMovedAwayLeavesIt) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    Watched watched;
    ASSERT_FALSE(HasFailure());
    const Output moved = capture({"ip", "-n", "bt-a", "link", "set", "bond0", "netns", "bt-b"});
    std::printf("moving a bond: %d %s\n", moved.status, moved.err.c_str());
    EXPECT_NE(moved.status, 0) << "this kernel moves bonds to other namespaces";
    // The second is what newer kernels say.
    EXPECT_THAT(moved.err, testing::AnyOf(HasSubstr("Invalid argument"), HasSubstr("netns is immutable")));

    ASSERT_TRUE(ip("bt-a", "link set s1 netns bt-b"));
    ASSERT_TRUE(watched.live.await_document([](const json& document) {
        return named(document.at("bonds").at(0).at("slaves"), "s1").at("state") == "gone";
    }));
    EXPECT_TRUE(has_event(watched.live, "slave s1 left the bond"));
    // Its other end goes on being a slave there, and would send into nothing.
    ASSERT_TRUE(ip("bt-b", "link set p1 nomaster"));
    const LabEnds ends = LabEnds::open();
    const auto sent = send_udp(ends.v4_a(), ends.v4_b(), sixteen_flows(41000));
    ASSERT_TRUE(sent) << sent.error().what;
    EXPECT_TRUE(watched.live.await_document(
        [](const json& document) { return udp_sent(document.at("bonds").at(0), 5001) == 160; }));
    ASSERT_TRUE(await_quiet(watched.live));
    watched.expect_clean_end();
    for (Program* one : {&watched.live, &watched.flows}) {
        const json document = one->document();
        ASSERT_TRUE(document.is_object()) << one->errors();
        const json& bond = document.at("bonds").at(0);
        EXPECT_EQ(named(bond.at("slaves"), "s0").at("state"), "active");
        EXPECT_EQ(named(bond.at("slaves"), "s1").at("state"), "gone");
        EXPECT_EQ(udp_sent(bond, 5001), 160U);
        expect_conservation(document, bond);
    }
}

TEST(LifecycleOfABond, TheNameOfItsNamespaceIsDeleted) {
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    Watched watched;
    ASSERT_FALSE(HasFailure());
    ASSERT_TRUE(run({"ip", "netns", "delete", "bt-a"}));
    // The runs hold the namespace: it lives as long as they do.
    const std::uint64_t deleted = now_ns();
    EXPECT_TRUE(watched.live.await_document([&](const json& document) {
        return document.at("monotonic_ns").get<std::uint64_t>() > deleted + 1'000'000'000;
    }));
    EXPECT_TRUE(ip("bt-b", "link show p0"));
    watched.expect_clean_end();
    for (Program* one : {&watched.live, &watched.flows}) {
        const json document = one->document();
        ASSERT_TRUE(document.is_object()) << one->errors();
        EXPECT_EQ(udp_sent(document.at("bonds").at(0), 5001), 80U);
        expect_conservation(document, document.at("bonds").at(0));
    }
    // And goes with them, and with it one end of each cable.
    EXPECT_TRUE(await([] { return capture({"ip", "-n", "bt-b", "link", "show", "p0"}).status != 0; }));
}

// Loads the driver again, whatever becomes of the test.
struct DriverLoadedAgain {
    DriverLoadedAgain() = default;
    DriverLoadedAgain(const DriverLoadedAgain&) = delete;
    DriverLoadedAgain& operator=(const DriverLoadedAgain&) = delete;
    ~DriverLoadedAgain() { EXPECT_TRUE(run({"modprobe", "bonding", "max_bonds=0"})); }
};

std::string complaints() {
    std::istringstream stream(capture({"dmesg"}).out);
    std::string found;
    for (std::string line; std::getline(stream, line);)
        for (const char* word : {"BUG:", "WARNING:", "Oops", "general protection"})
            if (line.find(word) != std::string::npos) found += line + "\n";
    return found;
}

TEST(LifecycleOfABond, ItsDriverIsUnloaded) {
    const DriverLoadedAgain again;
    const std::string complaints_before = complaints();
    const Lab lab("direct --mode balance-xor --policy layer3+4 --slaves 2");
    ASSERT_FALSE(HasFailure());
    Watched watched;
    ASSERT_FALSE(HasFailure());
    const Output unloaded = capture({"rmmod", "bonding"});
    std::printf("rmmod: %d %s\n", unloaded.status, unloaded.err.c_str());
    if (test_attachment() == Attachment::fentry) {
        EXPECT_NE(unloaded.status, 0);
        EXPECT_THAT(unloaded.err, HasSubstr("in use"));
        const LabEnds ends = LabEnds::open(); // and everything goes on
        const auto sent = send_udp(ends.v4_a(), ends.v4_b(), sixteen_flows(41000));
        EXPECT_TRUE(sent) << sent.error().what;
        EXPECT_TRUE(watched.live.await_document(
            [](const json& document) { return udp_sent(document.at("bonds").at(0), 5001) == 160; }));
        EXPECT_EQ(watched.live.stop(SIGTERM), 0) << watched.live.errors();
        EXPECT_EQ(watched.flows.stop(SIGTERM), 0) << watched.flows.errors();
        EXPECT_TRUE(await([] {
            return capture({"rmmod", "bonding"}).status == 0;
        })) << capture({"rmmod", "bonding"}).err;
    } else {
        ASSERT_EQ(unloaded.status, 0) << unloaded.err;
        for (Program* one : {&watched.live, &watched.flows}) {
            // Either it ends and says why, or it goes on and names what has gone.
            const auto over = [&] {
                const json document = one->document();
                return one->has_ended() || (document.is_object() && all_gone(document));
            };
            if (one == &watched.live) {
                EXPECT_TRUE(await(over)) << one->errors();
            }
            const bool by_itself = one->has_ended();
            const int status = one->stop(SIGTERM);
            std::printf("%s: status %d, %s\n", by_itself ? "ended by itself" : "goes on", status,
                        one->errors().c_str());
            if (status == 3) {
                EXPECT_THAT(one->errors(), HasSubstr("bonding module"));
                continue;
            }
            EXPECT_EQ(status, 0) << one->errors();
            EXPECT_TRUE(all_gone(one->document())) << one->document();
            EXPECT_EQ(udp_sent(one->document().at("bonds").at(0), 5001), 80U);
        }
    }
    EXPECT_TRUE(await([] { return left_in_kernel().empty(); })) << left_in_kernel();
    EXPECT_EQ(complaints(), complaints_before);
}

} // namespace
} // namespace bondtrace::test
