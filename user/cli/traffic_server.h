// SPDX-License-Identifier: GPL-2.0-or-later
// `bondtrace traffic server`: the end that answers.
#pragma once

#include "user/cli/command.h"

namespace bondtrace {

// Adds it to `bondtrace traffic`; `status` receives the exit status when it ran.
void add_traffic_server(CLI::App& traffic, ExitStatus& status);

} // namespace bondtrace
