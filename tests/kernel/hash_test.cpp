// SPDX-License-Identifier: GPL-2.0-or-later
// The model of the transmit hash against the kernel: generated frames, adversarial ones included, through
// bonds of every size and policy. The kernel's slave must be the predicted one for each.
#include "tests/kernel/support/frames.h"
#include "tests/kernel/support/namespace.h"
#include "tests/support/frame_generator.h"
#include "user/bond/netlink_reader.h"
#include "user/bond/usable.h"
#include "user/hash/choice.h"
#include "user/probe/era_probe.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bondtrace::test {
namespace {

constexpr std::size_t frames_each = 2000; // a policy and number of slaves: 60,000 in all
constexpr unsigned most_slaves = 7;

using Frames = std::vector<std::vector<std::uint8_t>>;

struct Tally {
    std::size_t frames = 0, unpredictable = 0, wrong = 0;
};

class HashBond {
  public:
    HashBond() : netns_("hash") {
        // In an order that is neither that of the names nor of the numbers.
        std::string commands = "link add bond0 type bond mode balance-xor xmit_hash_policy layer2\n";
        for (unsigned i = 0; i < most_slaves; ++i)
            commands += fmt::format("link add d{} type dummy\n", i);
        for (const int i : {3, 0, 6, 2, 5, 1, 4})
            commands += fmt::format("link set d{} master bond0\n", i);
        EXPECT_TRUE(netns_.ip_batch(commands + "link set bond0 up\n"));
    }

    [[nodiscard]] Bond read() const {
        const auto reader = LinkReader::open(netns_.open());
        const auto bonds = reader ? reader->find_bonds({"bond0"}) : tl::make_unexpected(reader.error());
        if (!bonds) {
            ADD_FAILURE() << bonds.error().what;
            return {};
        }
        return bonds->front();
    }
    [[nodiscard]] testing::AssertionResult ip(const std::string& arguments) const {
        return netns_.ip(arguments);
    }
    [[nodiscard]] NetNs open() const { return netns_.open(); }

  private:
    Namespace netns_;
};

// Sends `frames` and compares; the first few mistakes are failures with all that is needed to repeat them.
void compare(FramePath& path, const Bond& bond, HashPolicy policy, const Era& era, const Frames& frames,
             Tally& tally) {
    constexpr std::size_t most_shown = 5;
    const std::vector<const Slave*> usable = usable_slaves(bond);
    const auto left = path.send(frames);
    ASSERT_TRUE(left) << left.error().what;
    ChoiceContext context;
    context.policy = policy;
    context.era = era;
    context.usable = static_cast<std::uint32_t>(usable.size());
    context.l4_hash = false;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const Choice choice = choose(context, make_frame(frames[i], std::nullopt, FrameSource::local));
        ++tally.frames;
        if (choice.kind == ChoiceKind::none) {
            ++tally.unpredictable;
            EXPECT_NE(choice.reason.find("TIPC"), std::string_view::npos) << choice.reason;
            continue;
        }
        ASSERT_EQ(choice.kind, ChoiceKind::index);
        if (usable[choice.index]->ifindex == (*left)[i]) continue;
        if (++tally.wrong <= most_shown)
            ADD_FAILURE() << to_text(policy) << ", " << usable.size() << " slaves: predicted "
                          << usable[choice.index]->name << " (hash " << choice.hash << "), sent through "
                          << bond.find_slave((*left)[i])->name << ": " << to_hex(frames[i]);
    }
}

TEST(Hash, EveryGeneratedFrameTakesThePredictedSlave) {
    const auto era = probe_era();
    ASSERT_TRUE(era) << era.error().what;
    ASSERT_TRUE(*era) << "this kernel's hash is none that is known";
    const HashBond lab;
    ASSERT_FALSE(HasFailure());
    FrameGenerator generator(test_seed());
    Bond bond = lab.read();
    std::vector<int> slaves;
    for (const Slave& slave : bond.slaves)
        slaves.push_back(slave.ifindex);
    auto path = FramePath::open(lab.open(), bond.ifindex, slaves);
    ASSERT_TRUE(path) << path.error().what;
    Tally all;
    // From seven slaves down, from the middle and both ends; each removal leaves the others' order.
    for (const char* removed : {"", "d2 d4", "d3", "d5", "d0"}) {
        for (const std::string& name : words(removed))
            ASSERT_TRUE(lab.ip(fmt::format("link set {} nomaster", name)));
        bond = lab.read();
        ASSERT_TRUE(bond.order_known);
        for (const HashPolicy policy : {HashPolicy::layer2, HashPolicy::layer23, HashPolicy::layer34,
                                        HashPolicy::encap23, HashPolicy::encap34, HashPolicy::vlan_srcmac}) {
            const auto set =
                lab.ip(fmt::format("link set bond0 type bond xmit_hash_policy {}", to_text(policy)));
            // Kernels before 5.12 have no vlan+srcmac.
            if (policy == HashPolicy::vlan_srcmac && (*era)->dissector == Dissector::classic && !set)
                continue;
            ASSERT_TRUE(set);
            Frames frames;
            for (std::size_t i = 0; i < frames_each; ++i)
                frames.push_back(generator.next());
            compare(*path, bond, policy, **era, frames, all);
            if (HasFatalFailure()) return;
        }
    }
    std::cout << fmt::format("{} frames, {} unpredictable, {} on another slave than predicted\n", all.frames,
                             all.unpredictable, all.wrong);
    EXPECT_EQ(all.wrong, 0U);
    EXPECT_GE(all.frames - all.unpredictable, 20'000U);
    EXPECT_LT(all.unpredictable * 100, all.frames) << "more than one frame in a hundred is not predictable";
}

} // namespace
} // namespace bondtrace::test
