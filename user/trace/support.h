// SPDX-License-Identifier: GPL-2.0-or-later
// What this kernel and these privileges allow: asked of the running system, never concluded from a version
// number.
#pragma once

#include "user/base/result.h"
#include "user/trace/attachment.h"

#include <cstdint>
#include <istream>
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
    // Where there is no symbol of that name: a variant of it that the compiler has made, whose arguments may
    // be others.
    std::string variant; // "bond_handle_frame.isra.0"
};

struct Support {
    std::string kernel;                            // uname release
    std::vector<std::string> missing_capabilities; // "cap_bpf", ...; of all that any attachment needs
    std::string lockdown;          // "none", "integrity", "confidentiality"; empty: no lockdown here
    bool bonding_present = false;  // loaded or built in
    bool kernel_btf = false;       // /sys/kernel/btf/vmlinux
    bool bonding_btf = false;      // types and functions of the bonding driver
    bool symbols_readable = false; // /proc/kallsyms was read and shows names
    bool kprobe_events = false;    // kprobes by perf_event_open(), which need no tracefs
    std::vector<HookSupport> hooks;
    bool realtime = false; // PREEMPT_RT
    // Of the slave in the driver's struct port, which CO-RE cannot find where the kernel has another struct
    // of that name.
    std::optional<std::uint32_t> port_slave_offset;

    // The first thing that stands in the way of an attachment, as an Error with advice; nothing when it
    // should work. kprobe needs what read_symbols() finds. tc on links that are no slaves needs no bonding
    // driver: `need_bonding`.
    [[nodiscard]] Result<void> allows(Attachment attachment, bool need_bonding = true) const;

  private:
    [[nodiscard]] Result<void> has_capabilities(Attachment attachment) const;
    [[nodiscard]] Result<void> driver_functions() const;
    [[nodiscard]] Result<void> fentry() const;
    [[nodiscard]] Result<void> kprobe() const;
};

// Everything but the symbols.
Result<Support> probe_support();
// Adds what /proc/kallsyms tells of the hooks, which takes a moment.
void read_symbols(Support& support);
// The same from another place, for tests.
void read_symbols(Support& support, std::istream& kallsyms);

// uname's release.
std::string kernel_release();

} // namespace bondtrace
