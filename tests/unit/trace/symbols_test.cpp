// SPDX-License-Identifier: GPL-2.0-or-later
// Functions of the driver as /proc/kallsyms has them: under their own names, as a compiler's variants, or not
// at all.
#include "user/trace/support.h"

#include <sstream>

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

Support support_of(const std::string& kallsyms) {
    Support support;
    for (const Hook& hook : hooks())
        support.hooks.push_back({.hook = hook, .in_btf = false, .in_symbols = false, .variant = {}});
    std::istringstream text(kallsyms);
    read_symbols(support, text);
    return support;
}

TEST(Symbols, AreFoundByTheirExactName) {
    const Support support = support_of("0000000000000000 T bond_dev_queue_xmit\t[bonding]\n"
                                       "0000000000000000 t bond_dev_queue_xmit.cold\t[bonding]\n"
                                       "0000000000000000 t bond_handle_frame_of_another\t[other]\n");
    EXPECT_TRUE(support.symbols_readable);
    EXPECT_TRUE(support.hooks[0].in_symbols);
    EXPECT_TRUE(support.hooks[0].variant.empty());
    EXPECT_FALSE(support.hooks[1].in_symbols);
    EXPECT_TRUE(support.hooks[1].variant.empty());
}

// Case 61.
TEST(Symbols, ACompilersVariantIsNamedAndNotTaken) {
    const Support support = support_of("0000000000000000 t bond_dev_queue_xmit.isra.0\t[bonding]\n"
                                       "0000000000000000 t bond_handle_frame.constprop.0.cold\t[bonding]\n"
                                       "0000000000000000 t ad_lacpdu_send.part.0\t[bonding]\n"
                                       "0000000000000000 t ad_lacpdu_send\t[bonding]\n");
    EXPECT_FALSE(support.hooks[0].in_symbols);
    EXPECT_EQ(support.hooks[0].variant, "bond_dev_queue_xmit.isra.0");
    EXPECT_TRUE(support.hooks[1].variant.empty());
    EXPECT_TRUE(support.hooks[2].in_symbols);
    EXPECT_TRUE(support.hooks[2].variant.empty());
}

TEST(Symbols, NothingReadableIsNotNothingThere) {
    EXPECT_FALSE(support_of("").symbols_readable);
    EXPECT_FALSE(support_of("x\n\n0 t\n").symbols_readable);
}

} // namespace
} // namespace bondtrace
