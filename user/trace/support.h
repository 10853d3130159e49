// SPDX-License-Identifier: GPL-2.0-or-later
// What this kernel and these privileges allow: asked of the running system, never concluded from a version
// number.
#pragma once

#include "user/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

// A function of the bonding driver that is attached to.
struct Hook {
    const char* function;
    const char* purpose;
    bool required;
};
// All of them; the required first.
const std::vector<Hook>& hooks();

struct HookSupport {
    Hook hook;
    bool in_btf = false;
    bool in_symbols = false; // meaningful when Support::symbols_readable
};

struct Support {
    std::string kernel;                            // uname release
    std::vector<std::string> missing_capabilities; // "cap_bpf", ...
    std::string lockdown;          // "none", "integrity", "confidentiality"; empty: no lockdown here
    bool bonding_present = false;  // loaded or built in
    bool kernel_btf = false;       // /sys/kernel/btf/vmlinux
    bool bonding_btf = false;      // types and functions of the bonding driver
    bool symbols_readable = false; // /proc/kallsyms was read and shows names
    std::vector<HookSupport> hooks;
    bool realtime = false; // PREEMPT_RT
    // Of the slave in the driver's struct port, which CO-RE cannot find where the kernel has another struct
    // of that name.
    std::optional<std::uint32_t> port_slave_offset;

    // The first thing that stands in the way of fentry, as an Error with advice; nothing when it should work.
    [[nodiscard]] Result<void> fentry() const;
};

// `with_symbols`: also read /proc/kallsyms, which takes a moment.
Result<Support> probe_support(bool with_symbols);

// uname's release.
std::string kernel_release();

} // namespace bondtrace
