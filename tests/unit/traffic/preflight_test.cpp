// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/privileges.h"
#include "user/traffic/preflight.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Ends the process with 0 when the limit becomes what it should.
[[noreturn]] void raise_from(rlim_t soft, rlim_t hard, std::uint64_t needed, std::uint64_t want_soft,
                             bool privileged) {
    const rlimit limit{soft, hard};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::_Exit(10);
    // Root's right to raise the hard limit goes with the user.
    if (!privileged && ::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) std::_Exit(11);
    const auto facts = raise_file_limit(needed);
    if (!facts) std::_Exit(12);
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    if (now.rlim_cur != want_soft || facts->soft != want_soft) std::_Exit(13);
    const bool finding = fd_limit_finding(*facts).has_value();
    std::_Exit(finding == (want_soft < needed) ? 0 : 14);
}

TEST(FileLimit, IsRaisedAsFarAsItMayBe) {
    using testing::ExitedWithCode;
    EXPECT_EXIT(raise_from(64, 512, 40, 64, false), ExitedWithCode(0), ""); // suffices
    EXPECT_EXIT(raise_from(64, 512, 300, 300, false), ExitedWithCode(0), "");
    EXPECT_EXIT(raise_from(64, 512, 900, 512, false), ExitedWithCode(0), "");
    // Whoever has the right raises the hard limit too; without it the kernel must refuse just that.
    constexpr std::array<cap_value_t, 1> right{CAP_SYS_RESOURCE};
    if (missing_capabilities(right).value().empty()) {
        EXPECT_EXIT(raise_from(64, 512, 900, 900, true), ExitedWithCode(0), "");
    } else {
        EXPECT_EXIT(raise_from(64, 512, 900, 512, true), ExitedWithCode(0), "");
    }
}

TEST(HostPorts, AvoidsWhatASocketHolds) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
    socklen_t size = sizeof(where);
    ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size), 0);
    const auto ports = read_host_ports(NetNs::current().value(), Transport::udp);
    ::close(fd);
    ASSERT_TRUE(ports) << ports.error().what;
    EXPECT_TRUE(ports->avoid(ntohs(where.sin_port)));
    EXPECT_LE(ports->range.first, ports->range.second);
}

TEST(PortFinding, OnlyWhereTheRangeIsTooSmall) {
    PlanRequest request;
    request.pairs = address_pairs({*parse_ip("10.0.0.1")}, {*parse_ip("10.0.0.2")}).value();
    request.ports.pattern = PortPattern::random;
    request.flows = 20;
    request.range = {40000, 40009};
    const auto finding = port_finding(request, plan_ports(request).value());
    ASSERT_TRUE(finding);
    EXPECT_THAT(finding->summary, HasSubstr("20 flows need more source ports than there are: 10 can be had"));
    request.flows = 10;
    EXPECT_FALSE(port_finding(request, plan_ports(request).value()));
    request.ports.pattern = PortPattern::list;
    request.ports.list = {1};
    EXPECT_FALSE(port_finding(request, plan_ports(request).value())); // a list is too short, not the range
}

TEST(WindowFindings, NameTheEnd) {
    TestOptions options;
    options.window = 524288;
    EndResult client, server;
    client.send_buffer = client.receive_buffer = 2 * 524288;
    server.send_buffer = 2 * 524288;
    server.receive_buffer = 425984;
    const auto findings = window_findings(options, client, server);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_THAT(findings[0].summary, HasSubstr("the server grants"));
    options.window = 0;
    EXPECT_THAT(window_findings(options, client, server), IsEmpty());
}

TEST(PacingWarning, OnShortPathsByDefaultOnly) {
    TestOptions options;
    EndResult end;
    end.congestion = "bbr";
    end.pacing = true;
    end.flows.resize(1);
    end.flows[0].tcp = TcpFacts{.rtt_min_us = 45};
    EXPECT_THAT(pacing_warning(options, end), HasSubstr("bbr paces its packets, on a path of 45 us"));
    end.flows[0].tcp->rtt_min_us = 1000;
    EXPECT_EQ(pacing_warning(options, end), "");
    end.flows[0].tcp->rtt_min_us = 45;
    options.rate = 1e6;
    EXPECT_EQ(pacing_warning(options, end), "");
    options.rate = 0;
    options.congestion = "bbr";
    EXPECT_EQ(pacing_warning(options, end), "");
    options.congestion.clear();
    end.pacing = false;
    EXPECT_EQ(pacing_warning(options, end), "");
}

} // namespace
} // namespace bondtrace::traffic
