// SPDX-License-Identifier: GPL-2.0-or-later
// Who owns a tc filter, told without a process number: a name that the kernel frees with the process, in the
// network namespace where the filter is.
#pragma once

#include "user/base/fd.h"
#include "user/base/netns.h"
#include "user/base/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bondtrace {

// An abstract UNIX socket's name held in a network namespace.
class TcOwner {
  public:
    static constexpr std::uint32_t max_id = 0x7fff;

    // A number that nobody else holds.
    static Result<TcOwner> claim(const NetNs& netns);
    // That number; nullopt when a process that lives holds it.
    static Result<std::optional<TcOwner>> claim(const NetNs& netns, std::uint32_t id);
    // Waits, within bounds, until no other process is changing places and filters. Held as long as it lives.
    static Result<TcOwner> lock(const NetNs& netns);

    [[nodiscard]] std::uint32_t id() const { return id_; }

  private:
    TcOwner(Fd socket, std::uint32_t id) : socket_(std::move(socket)), id_(id) {}
    static Result<std::optional<TcOwner>> bind(const NetNs& netns, const std::string& name, std::uint32_t id);

    Fd socket_;
    std::uint32_t id_ = 0;
};

} // namespace bondtrace
