// SPDX-License-Identifier: GPL-2.0-or-later
// The ladder of attachments: the ways in which packets can be counted, best first, and in what they differ.
// The table here is what `check`, the headers, JSON and the documentation say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// In the order in which they are tried.
enum class Attachment : std::uint8_t { fentry, kprobe, tc };

inline constexpr std::size_t attachment_count = 3;
inline constexpr std::array<Attachment, attachment_count> all_attachments{Attachment::fentry,
                                                                          Attachment::kprobe, Attachment::tc};

// "fentry", "kprobe", "tc"; and back, nullopt for another word.
std::string_view to_text(Attachment attachment);
std::optional<Attachment> parse_attachment(std::string_view text);
// The functions or places to which it attaches, in a few words.
std::string_view describe(Attachment attachment);

// One way in which attachments differ: a subject, and what holds for each of them, in the order of the enum.
struct Difference {
    std::string_view subject;
    std::array<std::string_view, attachment_count> holds;

    [[nodiscard]] std::string_view of(Attachment attachment) const {
        return holds[static_cast<std::size_t>(attachment)];
    }
};
std::span<const Difference> differences();

// In what an attachment falls short of fentry, or sees more: "SUBJECT: WHAT HOLDS". Empty for fentry.
std::vector<std::string> limits(Attachment attachment);

// The whole table as a page of documentation (docs/attachments.md).
std::string attachments_page();

} // namespace bondtrace
