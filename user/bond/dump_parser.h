// SPDX-License-Identifier: GPL-2.0-or-later
// The text of /proc/net/bonding/BOND (drivers/net/bonding/bond_procfs.c, driver v3.5 of 2008 to kernel 7.3),
// as the kernel gives it or as somebody saved it: several in one file, with other commands' output around
// them, excerpts, odd blanks, Windows line ends, cut short. Pure: text in, bonds out.
#pragma once

#include "user/base/result.h"
#include "user/bond/model.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

struct DumpOptions {
    std::string source; // names the text in errors: a file name
    // The bond's name, which the text does not tell unless the bond has no active aggregator. Used for the
    // first bond, unless a line before it names the file (/proc/net/bonding/NAME). Empty: not known.
    std::string name;
    // The running kernel wrote it just now: a value that this version does not know is left unknown and the
    // rest is used, where a saved text is refused, since a retyped one would be guesswork.
    bool from_kernel = false;
    std::size_t first_line = 1; // the number of the text's first line in its file
};

// A line that says nothing about a bond.
struct IgnoredLine {
    std::size_t number = 0;
    std::string text; // cut to 80 characters
};

struct Dump {
    std::vector<Bond> bonds;          // in their order; slaves in enslave order
    std::vector<IgnoredLine> ignored; // the first 100
    std::size_t ignored_count = 0;
    bool truncated = false; // the last bond's text ends in the middle (see Bond::truncated)
};

// Reads every bond in `text`. Fails (unavailable) with the source and line when the text holds no bond, or
// when something that is no line of the driver's stands where one is expected: a retyped dump, another
// program's words, a mode or policy this version does not know. Unknown lines are ignored.
Result<Dump> parse_dump(std::string_view text, const DumpOptions& options);

// True when `text` has a line that begins a dump: worth giving to parse_dump().
bool looks_like_dump(std::string_view text);

// Whether a network interface may have this name (dev_valid_name() in net/core/dev.c).
bool is_interface_name(std::string_view name);

} // namespace bondtrace
