// SPDX-License-Identifier: GPL-2.0-or-later
// A window of time in which a command watches bonds: how it ends, what is shown meanwhile, and the privileges
// that are given up.
#pragma once

#include "user/base/fd.h"
#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/cli/command.h"
#include "user/trace/observation.h"

#include <chrono>
#include <string>
#include <vector>

namespace bondtrace {

// With --wait: waits until the bonds (or links) that are meant are there, any bond when none is named. At
// once when they are; says on standard error what it waits for otherwise. False when a signal came first.
Result<bool> await_bonds(const CommonOptions& options, const std::vector<std::string>& bonds,
                         const NetNs& netns, const Fd& signals);

// Waits until the time is over or a signal comes; true when it was a signal. Follows the links of
// `observation` meanwhile, which may be null: then nothing is attached, and only time passes. A line on the
// terminal says that `bonds` are watched, and leaves none behind.
Result<bool> watch(Observation* observation, const Fd& signals, std::chrono::nanoseconds duration,
                   const std::vector<std::string>& bonds);

// Says on standard error what is counted and how, and why not better (-v).
void say_attachment(const Observation& observation);

// Gives up, for good, what is not needed once everything is attached.
Result<void> drop_privileges(const NetNs& netns);

} // namespace bondtrace
