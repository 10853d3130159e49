// SPDX-License-Identifier: GPL-2.0-or-later
// Writes the sample table as `bondtrace live --json` would, for the validator.
#include "tests/unit/live/sample_model.h"
#include "user/live/live_json.h"

#include <cstdio>

int main() {
    const bondtrace::LiveModel model = bondtrace::test::sample_model();
    bondtrace::FlowView view;
    view.rebuild(model, {});
    const std::string line = bondtrace::live_json(model, view, 0, 1000, 0);
    return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() ? 0 : 1;
}
