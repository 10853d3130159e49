// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/result.h"

#include <cstring>

#include <fmt/format.h>

namespace bondtrace {

tl::unexpected<Error> fail(ErrorKind kind, std::string what, std::string advice) {
    return tl::make_unexpected(Error{kind, std::move(what), std::move(advice)});
}

tl::unexpected<Error> fail_errno(int error, std::string_view what, std::string advice, ErrorKind kind) {
    return fail(kind, fmt::format("{}: {}", what, errno_text(error)), std::move(advice));
}

std::string errno_text(int error) {
    // Both are thread-safe glibc functions; the name is what people search for.
    const char* text = strerrordesc_np(error);
    const char* name = strerrorname_np(error);
    if (!text || !name) return fmt::format("unknown error {}", error);
    return fmt::format("{} ({})", text, name);
}

} // namespace bondtrace
