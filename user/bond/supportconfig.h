// SPDX-License-Identifier: GPL-2.0-or-later
// The sections of a supportconfig's network.txt (supportutils of SUSE) that tell of bonds. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

struct ArchivedText {
    std::string bond;           // the text is /proc/net/bonding/BOND; empty: it is what `ip -d link` prints
    std::string_view text;      // within the text given
    std::size_t first_line = 1; // the number of its first line in the file
};

// Sections begin with "#==[ Command ]===#" or "#==[ Configuration File ]===#" and a comment that names the
// command or file.
std::vector<ArchivedText> supportconfig_sections(std::string_view text);

} // namespace bondtrace
