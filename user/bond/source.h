// SPDX-License-Identifier: GPL-2.0-or-later
// The bonds of a machine that is not this one: from a file or a directory that somebody saved there. Needs no
// privilege and no bond.
#pragma once

#include "user/base/result.h"
#include "user/bond/model.h"

#include <string>
#include <vector>

namespace bondtrace {

struct SavedState {
    std::vector<Bond> bonds; // at least one
    // What people should know of the source: the files read, and those left out and why.
    std::vector<std::string> notes;
};

// Reads `path`:
//   FILE  /proc/net/bonding/BOND, one or several in one file; the JSON of `ip -d -j link`; the text of
//         `ip -d link`: whichever it is by its content. "-" is standard input.
//   DIR   a copy of /proc/net/bonding, or any directory of such files; an unpacked sosreport; an unpacked
//         supportconfig; or a directory that has nothing but one of these in it.
// What several files tell of one bond is put together: the dump has the LACP partner of each port, `ip` the
// rest. Fails with kind usage when there is no such file, and with kind unavailable when it cannot be read,
// when there is no bond in it, or when none of its files is understood; the error names file and line.
Result<SavedState> read_saved_state(const std::string& path);

} // namespace bondtrace
