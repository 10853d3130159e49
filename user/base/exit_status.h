// SPDX-License-Identifier: GPL-2.0-or-later
// The exit status of every command; the convention of monitoring plug-ins plus sysexits' EX_USAGE.
#pragma once

#include "user/base/result.h"

namespace bondtrace {

enum class ExitStatus : int {
    fine = 0,        // nothing to report
    findings = 1,    // findings of severity warning, or FAIL of a proof
    critical = 2,    // a slave carries nothing it should carry, LACP is not up
    cannot_tell = 3, // no traffic, too few flows, could not attach
    usage = 64,      // wrong usage
};

// The status an error ends the program with.
constexpr ExitStatus status_of(const Error& error) {
    return error.kind == ErrorKind::usage ? ExitStatus::usage : ExitStatus::cannot_tell;
}

} // namespace bondtrace
