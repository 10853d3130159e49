// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/tc_owner.h"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace bondtrace {

Result<std::optional<TcOwner>> TcOwner::bind(const NetNs& netns, const std::string& name, std::uint32_t id) {
    return run_in(netns, [&]() -> Result<std::optional<TcOwner>> {
        Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (!socket.valid()) return fail_errno(errno, "opening a UNIX socket");
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size()); // a leading zero: abstract
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0)
            return TcOwner(std::move(socket), id);
        if (errno == EADDRINUSE) return std::optional<TcOwner>{};
        return fail_errno(errno, fmt::format("taking the socket name @{}", name));
    });
}

Result<std::optional<TcOwner>> TcOwner::claim(const NetNs& netns, std::uint32_t id) {
    return bind(netns, fmt::format("bondtrace-tc/{}", id), id);
}

Result<TcOwner> TcOwner::claim(const NetNs& netns) {
    constexpr std::uint32_t most_tries = 256;
    const auto first = static_cast<std::uint32_t>(::getpid());
    for (std::uint32_t attempt = 0; attempt < most_tries; ++attempt) {
        auto claimed = claim(netns, (first + attempt) & max_id);
        if (!claimed) return tl::make_unexpected(claimed.error());
        if (*claimed) return std::move(**claimed);
    }
    return fail(ErrorKind::unavailable,
                fmt::format("{} socket names @bondtrace-tc/N in a row are taken", most_tries),
                "see who holds them: ss -xa | grep bondtrace-tc");
}

Result<TcOwner> TcOwner::lock(const NetNs& netns) {
    constexpr auto step = std::chrono::milliseconds(10);
    constexpr int steps = 500;
    for (int i = 0; i < steps; ++i) {
        auto locked = bind(netns, "bondtrace-tc/lock", 0);
        if (!locked) return tl::make_unexpected(locked.error());
        if (*locked) return std::move(**locked);
        std::this_thread::sleep_for(step);
    }
    return fail(ErrorKind::unavailable,
                "another process holds the socket name @bondtrace-tc/lock for too long",
                "see who: ss -xa | grep bondtrace-tc");
}

} // namespace bondtrace
