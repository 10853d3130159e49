// SPDX-License-Identifier: GPL-2.0-or-later
// Linux capabilities of this process.
#pragma once

#include "user/base/result.h"

#include <span>
#include <string>
#include <vector>

#include <sys/capability.h>

namespace bondtrace {

// Which of `wanted` are not in the effective set, by name ("cap_bpf").
Result<std::vector<std::string>> missing_capabilities(std::span<const cap_value_t> wanted);

// Gives up every capability but `keep`, for good, in the effective and the permitted set of the calling
// thread; what it executes cannot gain any either (no_new_privs). Call before starting threads.
Result<void> drop_capabilities_except(std::span<const cap_value_t> keep);

} // namespace bondtrace
