// SPDX-License-Identifier: GPL-2.0-or-later
// A netlink request that is built in place.
#pragma once

#include <array>
#include <cstdint>

#include <libmnl/libmnl.h>
#include <linux/netlink.h>

namespace bondtrace::netlink {

struct Request {
    alignas(nlmsghdr) std::array<char, 512> buffer{};
    nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());

    Request(std::uint16_t type, std::uint16_t flags) {
        header->nlmsg_type = type;
        header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    }
    // `header` points into the object itself.
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    // The structure that follows the header, zeroed.
    template<typename Fixed> Fixed* put() {
        return static_cast<Fixed*>(mnl_nlmsg_put_extra_header(header, sizeof(Fixed)));
    }
};

} // namespace bondtrace::netlink
