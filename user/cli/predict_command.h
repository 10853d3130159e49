// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace predict`: the slave that a flow will take, and why.
#pragma once

#include "user/cli/command.h"

namespace bondtrace {

// Adds the subcommand; `status` receives the exit status when it ran.
void add_predict_command(CLI::App& app, ExitStatus& status);

} // namespace bondtrace
