// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace live`, and bondtrace alone: the table that people leave open.
#pragma once

#include "user/cli/command.h"

namespace bondtrace {

// Adds the subcommand; `status` receives the exit status when it ran.
void add_live_command(CLI::App& app, ExitStatus& status);

} // namespace bondtrace
