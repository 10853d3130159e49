// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace traffic server` and `bondtrace traffic client`: many flows between two hosts, chosen and
// measured.
#pragma once

#include "user/cli/command.h"

namespace bondtrace {

// Adds the subcommand; `status` receives the exit status when it ran.
void add_traffic_command(CLI::App& app, ExitStatus& status);

} // namespace bondtrace
