// SPDX-License-Identifier: GPL-2.0-or-later
// Names for addresses on the screen.
#pragma once

#include "user/base/address.h"

#include <optional>
#include <string>

namespace bondtrace {

class HostNames {
  public:
    HostNames() = default;
    HostNames(const HostNames&) = delete;
    HostNames& operator=(const HostNames&) = delete;
    virtual ~HostNames() = default;

    // The name of a host as far as it is known at this moment; never waits for it. Asking may be what makes
    // it known later. The text is from outside and may hold anything.
    [[nodiscard]] virtual std::optional<std::string> name_of(const IpAddress& host) const = 0;
};

} // namespace bondtrace
