// SPDX-License-Identifier: GPL-2.0-or-later
// Observing a lab's bonds from within a test, and the checks that every observation must pass.
#pragma once

#include "tests/kernel/support/traffic.h"
#include "user/trace/observation.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace bondtrace::test {

// The attachment that these tests are run with: that of the environment variable BONDTRACE_ATTACH (which the
// program heeds, too), otherwise fentry, which auto must find on the kernels that have it.
Attachment test_attachment();
TraceConfig test_config();
// Whether the programs note what the bond decided from: with kprobe, where the driver has BTF.
bool programs_note_choices();
// Whether this kernel's driver knows a policy (vlan+srcmac: since 5.12); sets it on bond0 of namespace bt-a
// to find out.
bool set_policy(const std::string& policy);

// The two ends of topology `direct` (tools/lab/topologies/direct.sh).
struct LabEnds {
    NetNs a, b;

    static LabEnds open();
    [[nodiscard]] End v4_a() const { return {a, "10.77.0.1"}; }
    [[nodiscard]] End v4_b() const { return {b, "10.77.0.2"}; }
    [[nodiscard]] End v6_a() const { return {a, "fd77::1"}; }
    [[nodiscard]] End v6_b() const { return {b, "fd77::2"}; }
    [[nodiscard]] End vlan_a() const { return {a, "10.78.0.1"}; }
    [[nodiscard]] End vlan_b() const { return {b, "10.78.0.2"}; }
};

// Observes bond0 of `netns` while `traffic` runs. Should frames (LACPDUs come at any time) fall into the
// opening or the closing of the window, where counters and hooks cannot be compared exactly, it is done over,
// a few times.
Result<Observed> observe(const NetNs& netns, const std::function<Result<void>()>& traffic,
                         TraceConfig config = test_config());

// What a slave's packet and byte counters count; see facts on veth with and without segmentation offload.
enum class Unit { skb, wire };

// For each slave and direction: the flows and what found no room in the table add up to the slave's total,
// and the total and the control frames to the kernel's counter, to the packet and to the byte.
void expect_conservation(const Observed& observed, Unit tx, Unit rx);

const ObservedSlave& slave_named(const Observed& observed, const std::string& name);

} // namespace bondtrace::test
