// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace prove`: generated traffic, traced at both ends, against the prediction.
#pragma once

#include "user/cli/command.h"

namespace bondtrace {

// Adds the subcommand; `status` receives the exit status when it ran.
void add_prove_command(CLI::App& app, ExitStatus& status);

} // namespace bondtrace
