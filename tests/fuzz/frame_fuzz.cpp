// SPDX-License-Identifier: GPL-2.0-or-later
// Fuzz target of the frame parsers and the hash: whatever the bytes are, every policy and era gives an index
// or a reason, and reads nothing outside the frame. The first three bytes of the input choose what is not in
// the frame.
#include "user/hash/choice.h"
#include "user/hash/policy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

using namespace bondtrace;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t prefix = 3;
    if (size < prefix) return 0;
    const bool tagged = (data[0] & 1U) != 0;
    const FrameSource origin = (data[0] & 2U) != 0 ? FrameSource::local : FrameSource::wire;
    const auto tci = static_cast<std::uint16_t>(data[1] << 8U | data[2]);
    // A copy of exactly the frame's size, so that AddressSanitizer sees a read beyond its end.
    const std::size_t length = size - prefix;
    const auto bytes = std::make_unique<std::uint8_t[]>(length);
    std::copy_n(data + prefix, length, bytes.get());
    Frame frame = make_frame({bytes.get(), length}, tagged ? std::optional(tci) : std::nullopt, origin);
    require(frame.network_offset == 14 || frame.network_offset <= length);
    // Callers may set any protocol and offset, as the kernel's skbs have them.
    if ((data[0] & 4U) != 0) frame.network_offset = data[0] >> 3U;

    for (const NamedEra& named : eras) {
        for (const HashPolicy policy : {HashPolicy::layer2, HashPolicy::layer34, HashPolicy::layer23,
                                        HashPolicy::encap23, HashPolicy::encap34, HashPolicy::vlan_srcmac}) {
            const HashInputs inputs = hash_inputs(frame, policy, named.era);
            const std::uint32_t hash = hash_of(inputs, policy, named.era);
            if (length < 14) require(hash == 0 || inputs.flow.parsed == Parsed::ok);
            if (inputs.flow.parsed != Parsed::ok && policy != HashPolicy::vlan_srcmac)
                require(hash == layer2_hash(inputs.ethernet, named.era));
            for (const BondMode mode :
                 {BondMode::balance_xor, BondMode::lacp, BondMode::balance_tlb, BondMode::balance_alb}) {
                ChoiceContext bond;
                bond.mode = mode;
                bond.policy = policy;
                bond.era = named.era;
                bond.usable = 1U + data[1] % 8U;
                bond.tlb_dynamic_lb = false;
                bond.l4_hash = false;
                const Choice choice = choose(bond, frame);
                if (choice.kind == ChoiceKind::index) require(choice.index == hash % bond.usable);
                if (choice.kind == ChoiceKind::none) require(!choice.reason.empty());
            }
        }
    }
    return 0;
}
