// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/choice.h"
#include "user/hash/era_search.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace bondtrace {
namespace {

constexpr std::uint32_t slaves = 3;

// Answers as a kernel of that era would.
std::uint32_t kernel_of(const Era& era, const EraQuestion& question) {
    ChoiceContext bond;
    bond.policy = question.policy;
    bond.era = era;
    bond.usable = slaves;
    bond.l4_hash = false;
    const Choice choice = choose(bond, make_frame(question.frame, std::nullopt, FrameSource::local));
    EXPECT_EQ(choice.kind, ChoiceKind::index);
    return choice.index;
}

TEST(EraSearch, TellsAllErasApart) {
    const std::vector<Era> all = EraSearch(slaves).remaining();
    EXPECT_EQ(all.size(), 36U);
    for (const NamedEra& named : eras)
        EXPECT_NE(std::find(all.begin(), all.end(), named.era), all.end()) << named.name;
    for (const Era& era : all) {
        EraSearch search(slaves);
        for (const EraQuestion& question : search.questions())
            search.answer(question, kernel_of(era, question));
        ASSERT_EQ(search.remaining().size(), 1U) << to_text(era);
        EXPECT_EQ(search.remaining().front(), era);
    }
}

TEST(EraSearch, FindsOutThatAKernelIsNone) {
    for (const std::uint32_t wrong : {1U, 2U}) {
        EraSearch search(slaves);
        for (const EraQuestion& question : search.questions())
            search.answer(question, (kernel_of(newest_era, question) + wrong) % slaves);
        EXPECT_TRUE(search.remaining().empty());
    }
    // A single answer is enough.
    EraSearch search(slaves);
    const auto& questions = search.questions();
    for (std::size_t i = 0; i < questions.size(); ++i)
        search.answer(questions[i], (kernel_of(newest_era, questions[i]) + (i == 0 ? 1 : 0)) % slaves);
    EXPECT_TRUE(search.remaining().empty());
}

TEST(EraSearch, AsksForFewChangesOfPolicyAndValidFrames) {
    const EraSearch search(slaves);
    unsigned changes = 0;
    for (std::size_t i = 0; i < search.questions().size(); ++i) {
        EXPECT_GE(search.questions()[i].frame.size(), 60U);
        EXPECT_LE(search.questions()[i].frame.size(), 128U);
        if (i > 0 && search.questions()[i].policy != search.questions()[i - 1].policy) ++changes;
    }
    EXPECT_EQ(changes, 4U);
}

TEST(AssumeEra, IsThatOfTheRelease) {
    EXPECT_EQ(assume_era("5.10.0-30-amd64", "x").era, *parse_era("5.10"));
    EXPECT_EQ(assume_era("6.1.0-57-amd64", "x").era, *parse_era("6.1"));
    EXPECT_EQ(assume_era("unheard of", "x").era, newest_era);
    EXPECT_EQ(assume_era("6.1", "x").source, EraSource::assumed);
    EXPECT_EQ(assume_era("6.1", "x").why, "x");
}

} // namespace
} // namespace bondtrace
