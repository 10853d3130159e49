// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace check`: what this kernel and these privileges allow.
#pragma once

#include "user/cli/command.h"

namespace bondtrace {

// Adds the subcommand; `status` receives the exit status when it ran.
void add_check_command(CLI::App& app, ExitStatus& status);

} // namespace bondtrace
