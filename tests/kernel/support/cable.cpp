// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/cable.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

Result<Fd> open_tap(const NetNs& netns, const std::string& name) {
    return run_in(netns, [&]() -> Result<Fd> {
        Fd tap(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
        if (!tap.valid()) return fail_errno(errno, "opening /dev/net/tun (module tun)");
        ifreq request{};
        request.ifr_flags = IFF_TAP | IFF_NO_PI;
        std::strncpy(request.ifr_name, name.c_str(), sizeof(request.ifr_name) - 1);
        if (::ioctl(tap.get(), TUNSETIFF, &request) != 0)
            return fail_errno(errno, fmt::format("making the tap device {}", name));
        return tap;
    });
}

// Frames that the other end does not take, because it is down, are lost as they are on a cable.
void pass_on(int from, int to) {
    std::array<char, 65536> frame{};
    for (;;) {
        const ssize_t size = ::read(from, frame.data(), frame.size());
        if (size <= 0) return;
        if (::write(to, frame.data(), static_cast<std::size_t>(size)) < 0) continue;
    }
}

} // namespace

Result<std::unique_ptr<TapCable>> TapCable::lay(const NetNs& here, const std::string& name_here,
                                                const NetNs& there, const std::string& name_there) {
    auto first = open_tap(here, name_here);
    if (!first) return tl::make_unexpected(first.error());
    auto second = open_tap(there, name_there);
    if (!second) return tl::make_unexpected(second.error());
    Fd stop(::eventfd(0, EFD_CLOEXEC));
    if (!stop.valid()) return fail_errno(errno, "making an event descriptor");
    return std::unique_ptr<TapCable>(new TapCable(std::move(*first), std::move(*second), std::move(stop)));
}

TapCable::TapCable(Fd here, Fd there, Fd stop)
    : here_(std::move(here)), there_(std::move(there)), stop_(std::move(stop)),
      carrier_([this] { carry(); }) {}

TapCable::~TapCable() {
    const std::uint64_t one = 1;
    while (::write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    carrier_.join();
}

void TapCable::carry() const {
    std::array<pollfd, 3> sources{
        {{here_.get(), POLLIN, 0}, {there_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    while (sources[2].revents == 0) {
        if (::poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR) return;
        if ((sources[0].revents & POLLIN) != 0) pass_on(here_.get(), there_.get());
        if ((sources[1].revents & POLLIN) != 0) pass_on(there_.get(), here_.get());
        // A device that was deleted reports an error for good.
        for (std::size_t i = 0; i < 2; ++i)
            if ((sources[i].revents & (POLLERR | POLLHUP)) != 0) sources[i].fd = -1;
    }
}

} // namespace bondtrace::test
