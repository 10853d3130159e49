// SPDX-License-Identifier: GPL-2.0-or-later
// What the commands that generate traffic have in common on the command line and on the terminal.
#pragma once

#include "user/cli/traffic_plan.h"
#include "user/traffic/client.h"

#include <string>

namespace bondtrace {

// What else their 5-tuples are made of: --udp, --bind, --sources, --destinations, --seed.
void add_tuples(CLI::App& command, TrafficClientOptions& options);

// How the flows are driven: --direction, --for, --rate and the like.
void add_how_driven(CLI::App& command, TrafficClientOptions& options);

// One line each interval on standard error, over the last one on a terminal; it leaves none behind there.
class ProgressLine {
  public:
    ProgressLine(bool wanted, const traffic::TestOptions& options);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const traffic::Progress& progress);

  private:
    bool wanted_, terminal_, shown_ = false;
    const traffic::TestOptions& options_;
};

} // namespace bondtrace
