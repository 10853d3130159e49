// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/support.h"

#include "user/base/privileges.h"
#include "user/trace/bonding_btf.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

namespace bondtrace {

namespace {

bool exists(const char* path) {
    std::error_code ignored; // not there and not allowed to look are the same to the caller
    return std::filesystem::exists(path, ignored);
}

// "[none] integrity confidentiality" -> "none".
std::string chosen_lockdown() {
    std::ifstream file("/sys/kernel/security/lockdown");
    std::string line;
    if (!std::getline(file, line)) return {};
    const auto open = line.find('[');
    const auto close = line.find(']', open);
    if (open == std::string::npos || close == std::string::npos) return {};
    return line.substr(open + 1, close - open - 1);
}

std::vector<cap_value_t> capabilities_for(Attachment attachment) {
    switch (attachment) {
    case Attachment::fentry:
        // Reading the BTF of a module by its id is still CAP_SYS_ADMIN's, beside CAP_BPF and CAP_PERFMON.
        return {CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN};
    case Attachment::kprobe:
        return {CAP_BPF, CAP_PERFMON};
    case Attachment::tc:
        return {CAP_BPF, CAP_NET_ADMIN};
    }
    return {};
}

} // namespace

const std::vector<Hook>& hooks() {
    static const std::vector<Hook> all{
        {"bond_dev_queue_xmit", "sent packets: the driver has chosen the slave", true},
        {"bond_handle_frame", "received packets, delivered or dropped as inactive", true},
        {"ad_lacpdu_send", "LACPDUs that the driver sends beside the flows", false},
        {"alb_send_lp_vid", "learning packets of balance-tlb and balance-alb", false},
    };
    return all;
}

std::string kernel_release() {
    utsname name{};
    return uname(&name) == 0 ? name.release : "unknown";
}

void read_symbols(Support& support, std::istream& kallsyms) {
    std::string line;
    while (std::getline(kallsyms, line)) {
        // "ffffffffc0a1b2c0 t bond_dev_queue_xmit\t[bonding]"
        const auto type = line.find(' ');
        if (type == std::string::npos || line.size() < type + 3) continue;
        support.symbols_readable = true;
        const std::string_view rest = std::string_view(line).substr(type + 3);
        const std::string_view name = rest.substr(0, rest.find('\t'));
        for (HookSupport& hook : support.hooks) {
            const std::string_view function = hook.hook.function;
            if (!name.starts_with(function)) continue;
            if (name == function) hook.in_symbols = true;
            // What ends in ".cold" is the unlikely part of a function, not a function.
            if (name.size() > function.size() && name[function.size()] == '.' && !name.ends_with(".cold"))
                hook.variant = name;
        }
    }
    for (HookSupport& hook : support.hooks)
        if (hook.in_symbols) hook.variant.clear();
}

void read_symbols(Support& support) {
    std::ifstream file("/proc/kallsyms");
    read_symbols(support, file);
}

Result<Support> probe_support() {
    Support support;
    support.kernel = kernel_release();

    constexpr std::array<cap_value_t, 4> needed{CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN, CAP_NET_ADMIN};
    auto missing = missing_capabilities(needed);
    if (!missing) return tl::make_unexpected(missing.error());
    support.missing_capabilities = std::move(*missing);

    support.lockdown = chosen_lockdown();
    support.bonding_present = exists("/sys/module/bonding");
    support.realtime = exists("/sys/kernel/realtime");
    support.kprobe_events = exists("/sys/bus/event_source/devices/kprobe/type");
    const BondingBtf btf = BondingBtf::load();
    support.kernel_btf = btf.has_kernel();
    for (const Hook& hook : hooks())
        support.hooks.push_back(
            {.hook = hook, .in_btf = btf.has_function(hook.function), .in_symbols = false, .variant = {}});
    support.bonding_btf = support.hooks.front().in_btf;
    support.port_slave_offset = btf.member_offset("port", "slave");
    return support;
}

Result<void> Support::has_capabilities(Attachment attachment) const {
    const std::vector<cap_value_t> needed = capabilities_for(attachment);
    const auto missing = bondtrace::missing_capabilities(needed);
    if (!missing) return tl::make_unexpected(missing.error());
    if (missing->empty()) return {};
    return fail(ErrorKind::unavailable,
                fmt::format("tracing needs more rights: {} {} missing", fmt::join(*missing, ", "),
                            missing->size() == 1 ? "is" : "are"),
                "run as root (sudo), in a container with these capabilities added; or give them to the "
                "program: setcap cap_bpf,cap_perfmon,cap_net_admin+ep FILE (fentry: cap_sys_admin, too)");
}

// What fentry and kprobe have in common.
Result<void> Support::driver_functions() const {
    if (lockdown == "confidentiality")
        return fail(ErrorKind::unavailable,
                    "kernel lockdown is in confidentiality mode: BPF programs may not read kernel memory",
                    "boot without lockdown=confidentiality (integrity is enough for Secure Boot)");
    if (!bonding_present)
        return fail(ErrorKind::unavailable, "the bonding driver is not loaded, so this kernel has no bond",
                    "modprobe bonding max_bonds=0; a team, Open vSwitch or ECMP group is no kernel bond: "
                    "name its links "
                    "with --links");
    if (!kernel_btf)
        return fail(
            ErrorKind::unavailable,
            fmt::format("kernel {} has no BTF (/sys/kernel/btf/vmlinux is not there): bond functions cannot "
                        "be traced",
                        kernel),
            "use a kernel with CONFIG_DEBUG_INFO_BTF=y, as stock Debian, Ubuntu and RHEL kernels have");
    return {};
}

Result<void> Support::fentry() const {
    if (const auto possible = driver_functions(); !possible) return possible;
    if (!bonding_btf)
        return fail(
            ErrorKind::unavailable,
            fmt::format(
                "kernel {} has no BTF of the bonding module: bond functions cannot be traced by fentry",
                kernel),
            "use a kernel of 5.11 or later with CONFIG_DEBUG_INFO_BTF_MODULES=y (Debian 12's has it)");
    for (const HookSupport& hook : hooks)
        if (hook.hook.required && !hook.in_btf)
            return fail(
                ErrorKind::unavailable,
                fmt::format("this bonding driver has no function {} to attach to", hook.hook.function),
                "please report the kernel's version and configuration");
    return {};
}

Result<void> Support::kprobe() const {
    if (const auto possible = driver_functions(); !possible) return possible;
    if (!kprobe_events)
        return fail(ErrorKind::unavailable,
                    "this kernel offers no kprobes as perf events (/sys/bus/event_source/devices/kprobe is "
                    "not there)",
                    "use a kernel with CONFIG_KPROBE_EVENTS=y and CONFIG_PERF_EVENTS=y");
    if (!symbols_readable)
        return fail(ErrorKind::unavailable,
                    "the names of the kernel's functions cannot be read (/proc/kallsyms)",
                    "mount /proc, and do not hide it");
    for (const HookSupport& hook : hooks) {
        if (!hook.hook.required || hook.in_symbols) continue;
        if (!hook.variant.empty())
            return fail(
                ErrorKind::unavailable,
                fmt::format(
                    "the compiler has made {} of the driver's {}, whose arguments need not be the same",
                    hook.variant, hook.hook.function),
                "please report the kernel's version and configuration");
        return fail(ErrorKind::unavailable,
                    fmt::format("this bonding driver has no function {} to attach to", hook.hook.function),
                    "please report the kernel's version and configuration");
    }
    return {};
}

Result<void> Support::allows(Attachment attachment, bool need_bonding) const {
    if (const auto held = has_capabilities(attachment); !held) return held;
    switch (attachment) {
    case Attachment::fentry:
        return fentry();
    case Attachment::kprobe:
        return kprobe();
    case Attachment::tc:
        break;
    }
    if (need_bonding && !bonding_present) return driver_functions();
    return {};
}

} // namespace bondtrace
