// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel tells of an interface beside its bond: who else handles its packets, and what the hardware
// does to them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bondtrace {

enum class ProgramHook : std::uint8_t { xdp, tc_ingress, tc_egress, tcx_ingress, tcx_egress };
// "XDP", "tc ingress", "tc egress", "tcx ingress", "tcx egress".
std::string_view to_text(ProgramHook hook);

// A program or filter of somebody else's in an interface's path of packets. It may drop, change or redirect
// them.
struct AttachedProgram {
    ProgramHook hook = ProgramHook::xdp;
    std::string kind; // XDP: "driver", "generic", "hardware"; tc: the classifier, "bpf", "flower", "matchall"
    std::string name; // of a tc filter's program, as whoever attached it chose; may be empty
    std::uint32_t id = 0;             // of a BPF program; 0: none, or not told
    std::vector<std::string> actions; // of a tc filter: "gact", "mirred"; empty: none, or not understood

    bool operator==(const AttachedProgram&) const = default;
};

struct DevicePrograms {
    std::vector<AttachedProgram> found;
    // Which kinds could be asked for. What could not is unknown and not absent.
    bool xdp_known = false, tc_known = false, tcx_known = false;
    // Bound to this interface: LLDP daemons, captures, and whoever sends past the bond. nullopt: not known.
    std::optional<unsigned> packet_sockets;
};

// "tc egress flower (gact)", "XDP driver (program 12)".
std::string describe(const AttachedProgram& program);

// Features of an interface that change what counters count, or who handles packets (ethtool -k).
struct Offloads {
    bool tso = false, gso = false, gro = false, lro = false;
    bool rx_vlan_filter = false; // frames of other VLANs never come in
    bool hw_tc = false;          // tc rules may run in the hardware, past the kernel
    bool tls_tx = false;         // sockets with TLS offload choose their slave by themselves

    bool operator==(const Offloads&) const = default;
};

// Each with its name: "tso", "gso", "gro", "lro", "rx_vlan_filter", "hw_tc", "tls_tx".
std::array<std::pair<std::string_view, bool>, 7> offload_names(const Offloads& offloads);

} // namespace bondtrace
