// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/wire.h"
#include "user/predict/socket_table.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace bondtrace {
namespace {

// As Linux 6.1 prints them: port 22 listening on every address, and two connections.
constexpr const char* table =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 "
    "0 10 0\n"
    "   1: 01004D0A:AE66 02004D0A:14B5 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 "
    "30 10 -1\n"
    " 910: 0000000000000000FFFF000001004D0A:FFFF 0000000000000000FFFF000002004D0A:14B5 06 "
    "00000000:00000000\n";

std::vector<HostSocket> parse(std::string_view text) {
    std::vector<HostSocket> sockets;
    for_each_socket(text, [&](const HostSocket& socket) { sockets.push_back(socket); });
    return sockets;
}

TEST(SocketTable, ReadsTheKernelsTable) {
    const auto sockets = parse(table);
    ASSERT_EQ(sockets.size(), 3U);
    EXPECT_EQ(sockets[0], (HostSocket{*parse_ip("0.0.0.0"), *parse_ip("0.0.0.0"), 22, 0, 10}));
    EXPECT_EQ(sockets[1], (HostSocket{*parse_ip("10.77.0.1"), *parse_ip("10.77.0.2"), 44646, 5301, 1}));
    // IPv4 by a socket of IPv6.
    EXPECT_EQ(sockets[2], (HostSocket{*parse_ip("10.77.0.1"), *parse_ip("10.77.0.2"), 65535, 5301, 6}));
    const auto v6 =
        parse("   0: 000080FE00000000FF005452563412FE:1F90 00000000000000000000000001000000:0035 01\n");
    ASSERT_EQ(v6.size(), 1U);
    EXPECT_EQ(v6[0].local, *parse_ip("fe80::5254:ff:fe12:3456"));
    EXPECT_EQ(v6[0].remote, *parse_ip("::1"));
    EXPECT_EQ(v6[0].local_port, 8080);
}

TEST(SocketTable, PassesOverWhatDoesNotFit) {
    for (const char* damaged :
         {"", "\n\n", "0: ", "0: x", "0: 1:10000 2:3", "0: :ZZ y", "0: 00000000:", ": :16",
          "0: 00000000:0016", "0: 00000000:0016 00000000", "0 00000000:0016 00000000:0000 0A",
          "0: 000000000:0016 00000000:0000 0A", "0: 0000000G:0016 00000000:0000 0A"})
        EXPECT_TRUE(parse(damaged).empty()) << damaged;
}

// The kernel prints what was bound here.
TEST(SocketTable, FindsASocketOfItsOwn) {
    const int fd = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    sockaddr_in6 where{};
    where.sin6_family = AF_INET6;
    where.sin6_addr = in6addr_loopback;
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
    socklen_t size = sizeof(where);
    ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size), 0);
    const auto sockets = read_sockets(NetNs::current().value(), ipproto::udp);
    ::close(fd);
    ASSERT_TRUE(sockets) << sockets.error().what;
    EXPECT_THAT(*sockets, testing::Contains(HostSocket{*parse_ip("::1"), *parse_ip("::"),
                                                       ntohs(where.sin6_port), 0, socket_state::closed}));
}

} // namespace
} // namespace bondtrace
