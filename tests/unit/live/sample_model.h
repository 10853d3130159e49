// SPDX-License-Identifier: GPL-2.0-or-later
// A live table with something of everything, for the tests of its formats.
#pragma once

#include "user/live/live_model.h"

namespace bondtrace::test {

// Three readings: flows of many protocols, a slave that goes down, a full table.
LiveModel sample_model();

} // namespace bondtrace::test
