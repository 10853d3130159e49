// SPDX-License-Identifier: GPL-2.0-or-later
// Of the namespace the test runs in, what every namespace with a loopback has.
#include "user/bond/peer_path.h"

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

TEST(PeerPath, KnowsThisHost) {
    const auto path = read_peer_path(NetNs::current().value(), *parse_ip("127.0.0.1"));
    ASSERT_TRUE(path) << path.error().what;
    EXPECT_EQ(path->way, PeerPath::Way::local);
    EXPECT_EQ(path->source, parse_ip("127.0.0.1"));
}

} // namespace
} // namespace bondtrace
