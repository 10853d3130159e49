// SPDX-License-Identifier: GPL-2.0-or-later
// How functions report failure: a value or an Error that a person can act on.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace bondtrace {

// What kind of failure, as far as the exit status depends on it (see exit_status.h).
enum class ErrorKind {
    usage,       // the user asked for something that does not exist or makes no sense
    unavailable, // this kernel, these privileges or the moment do not allow it
    internal,    // should not happen
};

// One failure: what was tried, what the system answered, what to do next. `advice` may be empty.
struct Error {
    ErrorKind kind = ErrorKind::unavailable;
    std::string what;
    std::string advice;
};

template<typename T> using Result = tl::expected<T, Error>;

// Makes the error side of a Result.
tl::unexpected<Error> fail(ErrorKind kind, std::string what, std::string advice = {});

// The same with the system's answer appended: "WHAT: Permission denied (EACCES)". `error` is a positive
// errno.
tl::unexpected<Error> fail_errno(int error, std::string_view what, std::string advice = {},
                                 ErrorKind kind = ErrorKind::unavailable);

// "Permission denied (EACCES)" for a positive errno.
std::string errno_text(int error);

} // namespace bondtrace
