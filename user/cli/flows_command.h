// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace flows`: which flow is on which slave, over a window of time.
#pragma once

#include "user/cli/command.h"

namespace bondtrace {

// Adds the subcommand; `status` receives the exit status when it ran.
void add_flows_command(CLI::App& app, ExitStatus& status);

} // namespace bondtrace
