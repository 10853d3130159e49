// SPDX-License-Identifier: GPL-2.0-or-later
// libbpf's words: kept for errors, shown when asked for. libbpf has one print function a process; loading
// happens on one thread.
#pragma once

#include "user/base/result.h"

#include <string_view>

namespace bondtrace {

// Begins anew; `verbose`: everything goes to standard error as well.
void start_libbpf_log(bool verbose);

// An error of libbpf's, with its first warning since start_libbpf_log() as advice. `error` is a positive
// errno.
tl::unexpected<Error> libbpf_failure(int error, std::string_view what);

} // namespace bondtrace
