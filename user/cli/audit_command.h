// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace audit`: what is wrong with a bond, why, and what mends it.
#pragma once

#include "user/cli/command.h"

namespace bondtrace {

// Adds the subcommand; `status` receives the exit status when it ran.
void add_audit_command(CLI::App& app, ExitStatus& status);

} // namespace bondtrace
