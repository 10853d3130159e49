// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/port_sequence.h"

#include <algorithm>
#include <bitset>
#include <optional>

namespace bondtrace::traffic {

std::vector<std::uint16_t> free_ports(PortBounds range, const PortFilter& avoid) {
    std::vector<std::uint16_t> ports;
    for (std::uint32_t port = range.first; port <= range.second; ++port)
        if (!avoid || !avoid(static_cast<std::uint16_t>(port)))
            ports.push_back(static_cast<std::uint16_t>(port));
    return ports;
}

std::vector<std::uint16_t> random_ports(std::vector<std::uint16_t> free, std::size_t count, Draw& draw) {
    count = std::min(count, free.size());
    draw.shuffle_front(free, count);
    free.resize(count);
    return free;
}

std::vector<std::uint16_t> sequential_ports(PortBounds range, std::uint16_t step, std::size_t count,
                                            const PortFilter& avoid) {
    std::vector<std::uint16_t> ports;
    for (std::uint32_t first = range.first; first < std::uint32_t{range.first} + step; ++first)
        for (std::uint32_t port = first; port <= range.second && ports.size() < count; port += step)
            if (!avoid || !avoid(static_cast<std::uint16_t>(port)))
                ports.push_back(static_cast<std::uint16_t>(port));
    return ports;
}

std::vector<std::uint16_t> connect_ports(PortBounds range, std::size_t count, Draw& draw,
                                         const PortFilter& avoid) {
    std::vector<std::uint16_t> ports;
    std::bitset<65536> taken;
    const std::uint32_t low = range.first, high = std::uint32_t{range.second} + 1;
    std::uint32_t remaining = high - low;
    if (remaining > 1) remaining &= ~1U;
    // What the kernel adds up in table_perturb[], beginning with a hash of the addresses and a secret.
    std::uint64_t perturb = draw.below(remaining);

    const auto free_from =
        [&](std::uint32_t offset) -> std::optional<std::pair<std::uint16_t, std::uint32_t>> {
        for (std::uint32_t i = 0; i < remaining; i += 2) {
            std::uint32_t port = low + offset + i;
            if (port >= high) port -= remaining;
            const auto candidate = static_cast<std::uint16_t>(port);
            if (!taken.test(candidate) && (!avoid || !avoid(candidate))) return std::pair{candidate, i};
        }
        return std::nullopt;
    };
    while (ports.size() < count) {
        const auto offset = static_cast<std::uint32_t>(perturb % remaining) & ~1U;
        auto found = free_from(offset);
        if (!found && remaining > 1) found = free_from(offset + 1);
        if (!found) { // in a range of odd length the kernel's search can pass over the last one or two
            for (std::uint32_t port = low; port < high && !found; ++port)
                if (const auto last = static_cast<std::uint16_t>(port);
                    !taken.test(last) && (!avoid || !avoid(last)))
                    found = {last, 0};
            if (!found) return ports;
        }
        taken.set(found->first);
        ports.push_back(found->first);
        perturb += std::max<std::uint64_t>(found->second, draw.below(8) * 2) + 2;
    }
    return ports;
}

} // namespace bondtrace::traffic
