// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/attachment.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

TEST(Attachments, NamesAreUnderstoodBack) {
    for (const Attachment attachment : all_attachments)
        EXPECT_EQ(parse_attachment(to_text(attachment)), attachment);
    EXPECT_FALSE(parse_attachment("auto"));
    EXPECT_FALSE(parse_attachment("xdp"));
}

TEST(Attachments, OnlyTheOthersFallShortOfFentry) {
    EXPECT_TRUE(limits(Attachment::fentry).empty());
    EXPECT_FALSE(limits(Attachment::kprobe).empty());
    EXPECT_GT(limits(Attachment::tc).size(), limits(Attachment::kprobe).size());
    for (const Difference& difference : differences())
        for (const Attachment attachment : all_attachments)
            EXPECT_FALSE(difference.of(attachment).empty()) << difference.subject;
}

TEST(Attachments, TheDocumentationIsTheTable) {
    std::ifstream file(BONDTRACE_SOURCE_DIR "/docs/attachments.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(page, attachments_page());
}

} // namespace
} // namespace bondtrace
