// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/failure_words.h"

#include <cerrno>

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

using testing::HasSubstr;

FailureScene scene(const char* remote = "192.0.2.1") {
    FailureScene scene;
    scene.address = {*parse_ip("192.0.2.2"), *parse_ip(remote), 40000, 5477};
    return scene;
}

FailureScene answering(const char* remote = "192.0.2.1") {
    FailureScene there = scene(remote);
    PeerPath path;
    path.way = PeerPath::Way::out;
    path.device = "bond0";
    path.next_hop = *parse_ip(remote);
    path.neighbour = PeerPath::Neighbour::answers;
    path.neighbour_state = "REACHABLE";
    path.mac = parse_mac("00:00:5e:00:53:01");
    there.path = path;
    return there;
}

// "No route to host", while ping works and ip neigh says REACHABLE.
TEST(FailureWords, RejectWithANeighbourThatAnswers) {
    const auto words = explain_failure(Operation::connect, EHOSTUNREACH, answering());
    EXPECT_EQ(words.what,
              "the firewall of 192.0.2.1 rejects flows to port 5477: next hop 192.0.2.1 on bond0 is "
              "REACHABLE (EHOSTUNREACH)");
    ASSERT_TRUE(words.finding);
    EXPECT_EQ(words.finding->id, "host.no-route-vs-reject");
    FailureScene behind = answering();
    behind.path->gateway = true;
    behind.path->next_hop = *parse_ip("192.0.2.254");
    const auto far = explain_failure(Operation::connect, EHOSTUNREACH, behind);
    EXPECT_THAT(far.what, HasSubstr("a firewall or a router beyond the gateway rejects"));
    EXPECT_TRUE(far.finding);
    // icmp6-adm-prohibited, firewalld's for IPv6.
    const auto v6 = explain_failure(Operation::connect, EACCES, answering("2001:db8::1"));
    EXPECT_THAT(v6.what, HasSubstr("the firewall of 2001:db8::1 rejects"));
    EXPECT_TRUE(v6.finding);
    EXPECT_FALSE(explain_failure(Operation::connect, EACCES, answering()).finding); // never so over IPv4
}

TEST(FailureWords, TheSameErrorWithoutAnAnswer) {
    FailureScene silent = answering();
    silent.path->neighbour = PeerPath::Neighbour::failed;
    const auto words = explain_failure(Operation::connect, EHOSTUNREACH, silent);
    EXPECT_EQ(words.what,
              "the host 192.0.2.1 does not answer on bond0: it is off, elsewhere, or the link is bad "
              "(EHOSTUNREACH)");
    EXPECT_FALSE(words.finding);
    silent.path->way = PeerPath::Way::none;
    EXPECT_THAT(explain_failure(Operation::connect, ENETUNREACH, silent).what,
                HasSubstr("there is no route to 192.0.2.1"));
    silent.path->way = PeerPath::Way::refused;
    EXPECT_THAT(explain_failure(Operation::connect, EHOSTUNREACH, silent).what,
                HasSubstr("a route of this host"));
    EXPECT_THAT(explain_failure(Operation::connect, EHOSTUNREACH, scene()).what,
                HasSubstr("cannot be reached"));
}

TEST(FailureWords, TheOthersOfTheContract) {
    const auto what = [](Operation operation, int error, const FailureScene& scene) {
        return explain_failure(operation, error, scene).what;
    };
    EXPECT_EQ(what(Operation::connect, ECONNREFUSED, scene()),
              "nobody listens on 192.0.2.1 port 5477 (ECONNREFUSED)");
    EXPECT_THAT(explain_failure(Operation::connect, ECONNREFUSED, scene()).advice,
                HasSubstr("bondtrace traffic server --listen 192.0.2.1"));
    EXPECT_THAT(what(Operation::connect, ETIMEDOUT, answering()),
                HasSubstr("no answer from 192.0.2.1 port 5477, and next hop 192.0.2.1 on bond0 is REACHABLE: "
                          "something on the way drops (ETIMEDOUT)"));
    EXPECT_THAT(what(Operation::send, ETIMEDOUT, scene()), HasSubstr("has stopped answering"));
    EXPECT_THAT(what(Operation::bind, EADDRNOTAVAIL, scene()),
                HasSubstr("192.0.2.2 is no address of this host"));
    EXPECT_THAT(what(Operation::connect, EADDRNOTAVAIL, scene()),
                HasSubstr("source port 40000 has a connection"));
    FailureScene any = scene();
    any.address.local_port = 0;
    any.ports = PortFacts{{40000, 40009}, 10, 1, 11};
    const auto exhausted = explain_failure(Operation::connect, EADDRNOTAVAIL, any);
    EXPECT_THAT(exhausted.what, HasSubstr("no source port is left"));
    EXPECT_EQ(exhausted.finding->id, "host.port-range");
    FailureScene full = scene();
    full.files = FdFacts{10100, 1024, 4096, 1048576};
    const auto files = explain_failure(Operation::open, EMFILE, full);
    EXPECT_EQ(files.what, "the process may not open more files (EMFILE)");
    EXPECT_THAT(files.advice, HasSubstr("prlimit --pid $$ --nofile=10100:10100"));
    EXPECT_EQ(files.finding->id, "host.fd-limit");
    EXPECT_THAT(what(Operation::bind, EADDRINUSE, scene()), HasSubstr("port 40000 of 192.0.2.2 is in use"));
    EXPECT_THAT(what(Operation::send, EPERM, scene()), HasSubstr("own firewall"));
    EXPECT_THAT(what(Operation::send, EMSGSIZE, scene()), HasSubstr("larger than"));
    EXPECT_THAT(what(Operation::connect, ECONNRESET, scene()), HasSubstr("reset"));
    EXPECT_EQ(what(Operation::receive, EIO, scene()),
              "receiving to 192.0.2.1 port 5477: Input/output error (EIO)");
}

// Whatever the kernel answers, there are words, with the errno in them.
TEST(FailureWords, EveryErrorHasWords) {
    for (int error = 1; error < 134; ++error)
        for (const Operation operation :
             {Operation::open, Operation::bind, Operation::connect, Operation::send, Operation::receive})
            for (const FailureScene& where : {scene(), answering(), answering("2001:db8::1")}) {
                const auto words = explain_failure(operation, error, where);
                const std::string text = errno_text(error); // a few numbers have no name
                const auto name = text.find('(') == std::string::npos ? text : text.substr(text.rfind('('));
                EXPECT_THAT(words.what, HasSubstr(name));
            }
}

} // namespace
} // namespace bondtrace::traffic
