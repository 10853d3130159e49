// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/device_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {

std::string_view to_text(ProgramHook hook) {
    switch (hook) {
    case ProgramHook::tc_ingress:
        return "tc ingress";
    case ProgramHook::tc_egress:
        return "tc egress";
    case ProgramHook::tcx_ingress:
        return "tcx ingress";
    case ProgramHook::tcx_egress:
        return "tcx egress";
    case ProgramHook::xdp:
        break;
    }
    return "XDP";
}

std::array<std::pair<std::string_view, bool>, 7> offload_names(const Offloads& offloads) {
    return {{{"tso", offloads.tso},
             {"gso", offloads.gso},
             {"gro", offloads.gro},
             {"lro", offloads.lro},
             {"rx_vlan_filter", offloads.rx_vlan_filter},
             {"hw_tc", offloads.hw_tc},
             {"tls_tx", offloads.tls_tx}}};
}

std::string describe(const AttachedProgram& program) {
    std::string text(to_text(program.hook));
    if (!program.kind.empty()) text += " " + program.kind;
    if (!program.name.empty()) text += " " + program.name;
    if (program.id != 0) text += fmt::format(" (program {})", program.id);
    if (!program.actions.empty()) text += fmt::format(" ({})", fmt::join(program.actions, ", "));
    return text;
}

} // namespace bondtrace
