// SPDX-License-Identifier: GPL-2.0-or-later
// Laws of the hash, on random input.
#include "tests/support/frame_generator.h"
#include "tests/unit/hash/frames.h"
#include "user/hash/batch.h"
#include "user/hash/choice.h"
#include "user/hash/inverse.h"

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace bondtrace {

void showValue(const Era& era, std::ostream& out) {
    out << to_text(era);
}

void showValue(HashPolicy policy, std::ostream& out) {
    out << "policy " << static_cast<int>(policy);
}

} // namespace bondtrace

namespace bondtrace::test {
namespace {

// rapidcheck's 100 runs a property are few for runs of a microsecond. RC_PARAMS in the environment still
// decides.
[[maybe_unused]] const int more_runs = setenv("RC_PARAMS", "max_success=5000", 0);

constexpr std::array all_policies{HashPolicy::layer2,  HashPolicy::layer34, HashPolicy::layer23,
                                  HashPolicy::encap23, HashPolicy::encap34, HashPolicy::vlan_srcmac};

rc::Gen<Era> any_era() {
    return rc::gen::build<Era>(
        rc::gen::set(&Era::ethertype_raw),
        rc::gen::set(&Era::low_bit,
                     rc::gen::element(LowBit::kept, LowBit::dropped, LowBit::dropped_by_ports)),
        rc::gen::set(&Era::icmp),
        rc::gen::set(&Era::dissector,
                     rc::gen::element(Dissector::classic, Dissector::v5_15, Dissector::v6_5)));
}

IpAddress any_address(bool v6) {
    IpAddress ip;
    ip.v6 = v6;
    const auto bytes =
        *rc::gen::container<std::vector<std::uint8_t>>(v6 ? 16 : 4, rc::gen::arbitrary<std::uint8_t>());
    std::copy(bytes.begin(), bytes.end(), ip.bytes.begin());
    return ip;
}

MacAddress any_mac() {
    MacAddress mac{};
    const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(6, rc::gen::arbitrary<std::uint8_t>());
    std::copy(bytes.begin(), bytes.end(), mac.begin());
    return mac;
}

FlowTuple any_tuple() {
    const bool v6 = *rc::gen::arbitrary<bool>();
    FlowTuple tuple = make_tuple(*rc::gen::element<std::uint8_t>(6, 17, 33, 132, 136), any_address(v6),
                                 *rc::gen::arbitrary<std::uint16_t>(), any_address(v6),
                                 *rc::gen::arbitrary<std::uint16_t>());
    tuple.src_mac = any_mac();
    tuple.dst_mac = any_mac();
    return tuple;
}

FlowTuple reversed(FlowTuple tuple) {
    std::swap(tuple.src, tuple.dst);
    std::swap(tuple.src_mac, tuple.dst_mac);
    std::swap(tuple.src_port, tuple.dst_port);
    return tuple;
}

std::uint32_t tuple_hash(const FlowTuple& tuple, HashPolicy policy, const Era& era) {
    return hash_of(hash_inputs(tuple, policy, era).value(), policy, era);
}

RC_GTEST_PROP(HashProperty, ReachedPortsArePredicted, ()) {
    ReachQuery query;
    query.tuple = any_tuple();
    query.policy = *rc::gen::element(HashPolicy::layer34, HashPolicy::encap34);
    query.era = *any_era();
    query.usable = *rc::gen::inRange<std::uint32_t>(1, 17);
    query.index = *rc::gen::inRange<std::uint32_t>(0, query.usable);
    query.low = *rc::gen::arbitrary<std::uint16_t>();
    query.high = *rc::gen::inRange<std::uint16_t>(query.low, 65535);
    query.count = *rc::gen::inRange<std::size_t>(1, 50);
    const unsigned residue = *rc::gen::inRange<unsigned>(0, 5);
    const auto in_use = [residue](std::uint16_t port) { return port % 5U == residue; };
    const auto ports = ports_reaching(query, in_use);
    RC_ASSERT(ports.has_value());
    RC_ASSERT(ports->size() <= query.count);
    RC_ASSERT(std::is_sorted(ports->begin(), ports->end()));
    ChoiceContext bond;
    bond.policy = query.policy;
    bond.era = query.era;
    bond.usable = query.usable;
    bond.l4_hash = false;
    for (const std::uint16_t port : *ports) {
        RC_ASSERT(port >= query.low && port <= query.high && !in_use(port));
        FlowTuple tuple = query.tuple;
        tuple.src_port = port;
        const Choice choice = choose(bond, tuple);
        RC_ASSERT(choice.kind == ChoiceKind::index);
        RC_ASSERT(choice.index == query.index);
    }
}

// Addresses are hashed by XOR alone, so both directions of a conversation agree wherever ports stay out.
RC_GTEST_PROP(HashProperty, AddressPoliciesAreSymmetric, ()) {
    const FlowTuple tuple = any_tuple();
    const Era era = *any_era();
    const HashPolicy policy = *rc::gen::element(HashPolicy::layer2, HashPolicy::layer23, HashPolicy::encap23);
    RC_ASSERT(tuple_hash(tuple, policy, era) == tuple_hash(reversed(tuple), policy, era));
}

// With equal ports so do the others, and swapping the addresses alone never changes anything.
RC_GTEST_PROP(HashProperty, PortPoliciesAreSymmetricInTheAddresses, ()) {
    const FlowTuple tuple = any_tuple();
    const Era era = *any_era();
    const HashPolicy policy = *rc::gen::element(HashPolicy::layer34, HashPolicy::encap34);
    FlowTuple swapped = tuple;
    std::swap(swapped.src, swapped.dst);
    RC_ASSERT(tuple_hash(tuple, policy, era) == tuple_hash(swapped, policy, era));
}

// layer3+4 and encap3+4 agree on what is neither fragmented nor tunnelled nor ICMP.
RC_GTEST_PROP(HashProperty, EncapPoliciesAgreeOnPlainFlows, ()) {
    const FlowTuple tuple = any_tuple();
    const Era era = *any_era();
    RC_ASSERT(tuple_hash(tuple, HashPolicy::layer34, era) == tuple_hash(tuple, HashPolicy::encap34, era));
    RC_ASSERT(tuple_hash(tuple, HashPolicy::layer23, era) == tuple_hash(tuple, HashPolicy::encap23, era));
}

RC_GTEST_PROP(HashProperty, BatchIsTheSameAsOneByOne, ()) {
    const Era era = *any_era();
    const std::uint32_t usable = *rc::gen::inRange<std::uint32_t>(1, 65537);
    const auto count = *rc::gen::inRange<std::size_t>(0, 70);
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    std::vector<std::uint32_t> src(count), dst(count), first(count);
    for (auto* column : {&src, &dst, &first})
        for (auto& word : *column)
            word = static_cast<std::uint32_t>(random.next());
    std::vector<std::uint16_t> indexes(count);
    RC_ASSERT(batch_layer34({src, dst, first, {}}, era, Modulus(usable), indexes) == count);
    for (std::size_t i = 0; i < count; ++i)
        RC_ASSERT(indexes[i] ==
                  fold(first[i], src[i], dst[i], low_bit_dropped(HashPolicy::layer34, era)) % usable);
    RC_ASSERT(batch_layer23({src, dst, {}, first}, era, Modulus(usable), indexes) == count);
    for (std::size_t i = 0; i < count; ++i)
        RC_ASSERT(indexes[i] ==
                  fold(first[i], src[i], dst[i], low_bit_dropped(HashPolicy::layer23, era)) % usable);
}

// Whatever the bytes are: an index below the number of slaves, and what lies behind the part that was parsed
// is of no matter.
RC_GTEST_PROP(HashProperty, AnyBytesGiveAnIndex,
              (const std::vector<std::uint8_t>& bytes, std::uint16_t tci, bool tagged)) {
    const Era era = *any_era();
    for (const FrameSource origin : {FrameSource::wire, FrameSource::local}) {
        for (const HashPolicy policy : all_policies) {
            ChoiceContext bond;
            bond.policy = policy;
            bond.era = era;
            bond.usable = 5;
            bond.l4_hash = false;
            const Choice choice =
                choose(bond, make_frame(bytes, tagged ? std::optional(tci) : std::nullopt, origin));
            if (choice.kind == ChoiceKind::none)
                RC_ASSERT(!choice.reason.empty());
            else
                RC_ASSERT(choice.index < 5U);
        }
    }
}

TEST(HashProperty, AdversarialFramesGiveAnIndex) {
    FrameGenerator generator(20260101);
    for (int i = 0; i < 20000; ++i) {
        const auto bytes = generator.next();
        for (const NamedEra& named : eras) {
            for (const HashPolicy policy : all_policies) {
                const HashInputs inputs = hash_inputs(make_frame(bytes), policy, named.era);
                // Fields that are not part of a successful parse must not matter.
                HashInputs bare = inputs;
                if (inputs.flow.parsed != Parsed::ok) bare.flow = FlowInputs{inputs.flow.parsed};
                ASSERT_EQ(hash_of(inputs, policy, named.era), hash_of(bare, policy, named.era));
                // A longer frame of the same headers is hashed alike once nothing is cut any more.
                auto longer = bytes;
                longer.resize(bytes.size() + 300);
                const HashInputs again = hash_inputs(make_frame(longer), policy, named.era);
                if (inputs.flow.parsed == Parsed::other_protocol) {
                    ASSERT_EQ(again.flow.parsed, Parsed::other_protocol);
                }
            }
        }
    }
}

} // namespace
} // namespace bondtrace::test
