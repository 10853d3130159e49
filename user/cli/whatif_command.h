// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace whatif`: how traffic would spread under every policy, and over other numbers of slaves.
#pragma once

#include "user/cli/command.h"

namespace bondtrace {

// Adds the subcommand; `status` receives the exit status when it ran.
void add_whatif_command(CLI::App& app, ExitStatus& status);

} // namespace bondtrace
