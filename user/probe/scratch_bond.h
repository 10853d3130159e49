// SPDX-License-Identifier: GPL-2.0-or-later
// A balance-xor bond in a network namespace of its own, to see which slave a frame leaves through.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"
#include "user/bond/model.h"
#include "user/bond/netlink_socket.h"

#include <cstdint>
#include <span>

namespace bondtrace {

class ScratchBond {
  public:
    static constexpr std::uint32_t slaves = 3;

    // Moves the CALLING THREAD into a new network namespace, for good, and makes the bond there: call it on a
    // thread that ends soon. Needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW, and the bonding driver
    // loaded already, for loading it would make a bond0 in the first namespace. Nothing but this object's
    // sockets and the thread hold the namespace: when they are gone, however they went, so are the bond and
    // its slaves.
    static Result<ScratchBond> make();

    Result<void> set_policy(HashPolicy policy);

    // Sends a frame (at least an Ethernet header) and returns the index of the slave that it left through, in
    // enslave order. Fails when it is not seen to leave within a second.
    Result<std::uint32_t> send(std::span<const std::uint8_t> frame);

  private:
    ScratchBond(NetlinkSocket netlink, Fd sender, Fd observer)
        : netlink_(std::move(netlink)), sender_(std::move(sender)), observer_(std::move(observer)) {}

    NetlinkSocket netlink_;
    Fd sender_, observer_;
};

} // namespace bondtrace
