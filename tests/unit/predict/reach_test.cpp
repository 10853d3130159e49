// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/predict/reach.h"

#include <gmock/gmock.h>

namespace bondtrace {
namespace {

using testing::HasSubstr;

PathBond three(HashPolicy policy = HashPolicy::layer34) {
    PathBond bond;
    bond.name = "bond0";
    bond.mode = BondMode::lacp;
    bond.policy = policy;
    bond.usable = {"a", "b", "c"};
    bond.others = {"d"};
    return bond;
}

TypedFlow to_https() {
    return *parse_typed_flow("tcp", "10.0.0.1", "10.0.0.2:443");
}

// The kernel's own: T1 and T2 of tests/fixtures/hash_vectors.txt, ports 40000 and 40002, take c and b of
// three.
TEST(Reach, FindsTheKernelsPorts) {
    const auto ports_of = [](const char* slave) {
        return reaching_ports(three(), to_https(), {}, {slave, 100, {40000, 40002}}, {}).value();
    };
    EXPECT_THAT(ports_of("c"), testing::Contains(40000));
    EXPECT_THAT(ports_of("b"), testing::Contains(40002));
    EXPECT_EQ(ports_of("a").size() + ports_of("b").size() + ports_of("c").size(), 3U);
}

TEST(Reach, AvoidsAndStopsAtTheCount) {
    const ReachWish wish{"b", 5, {30000, 30999}};
    const auto free = reaching_ports(three(), to_https(), {}, wish, {}).value();
    ASSERT_EQ(free.size(), 5U);
    const auto second = reaching_ports(three(), to_https(), {}, wish, [&](std::uint16_t port) {
                            return port == free[0];
                        }).value();
    EXPECT_EQ(second[0], free[1]);
    EXPECT_TRUE(
        reaching_ports(three(), to_https(), {}, wish, [](std::uint16_t) { return true; }).value().empty());
}

TEST(Reach, SaysWhereNoPortDecides) {
    const auto error = [](const PathBond& bond, const ReachWish& wish, const PathFrame& frame = {}) {
        const auto ports = reaching_ports(bond, to_https(), frame, wish, {});
        return ports ? Error{} : ports.error();
    };
    const ReachWish wish{"a", 1, {1024, 65535}};
    EXPECT_EQ(error(three(), {"x", 1, {1, 2}}).kind, ErrorKind::usage);
    EXPECT_THAT(error(three(), {"x", 1, {1, 2}}).advice, HasSubstr("a, b, c"));
    EXPECT_EQ(error(three(), {"d", 1, {1, 2}}).kind, ErrorKind::unavailable);
    EXPECT_THAT(error(three(HashPolicy::layer23), wish).what, HasSubstr("does not hash ports"));
    PathBond rr = three();
    rr.mode = BondMode::balance_rr;
    EXPECT_THAT(error(rr, wish).what, HasSubstr("balance-rr"));
    PathBond backup = three();
    backup.mode = BondMode::active_backup;
    backup.active_slave = "a";
    EXPECT_THAT(error(backup, wish).what, HasSubstr("active slave"));
    PathFrame local;
    local.local_source = true;
    EXPECT_THAT(error(three(HashPolicy::encap34), wish, local).what, HasSubstr("socket"));
    local.l4_hash = false;
    EXPECT_EQ(error(three(HashPolicy::encap34), wish, local).what, "");
}

} // namespace
} // namespace bondtrace
