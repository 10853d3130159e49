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

void look_for_symbols(Support& support) {
    std::ifstream file("/proc/kallsyms");
    std::string line;
    while (std::getline(file, line)) {
        // "ffffffffc0a1b2c0 t bond_dev_queue_xmit\t[bonding]"
        const auto type = line.find(' ');
        if (type == std::string::npos || line.size() < type + 3) continue;
        support.symbols_readable = true;
        const std::string_view rest = std::string_view(line).substr(type + 3);
        const std::string_view name = rest.substr(0, rest.find('\t'));
        for (HookSupport& hook : support.hooks)
            if (name == hook.hook.function) hook.in_symbols = true;
    }
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

Result<Support> probe_support(bool with_symbols) {
    Support support;
    support.kernel = kernel_release();

    // Reading the BTF of a module by its id is still CAP_SYS_ADMIN's, beside CAP_BPF and CAP_PERFMON.
    constexpr std::array<cap_value_t, 3> needed{CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN};
    auto missing = missing_capabilities(needed);
    if (!missing) return tl::make_unexpected(missing.error());
    support.missing_capabilities = std::move(*missing);

    support.lockdown = chosen_lockdown();
    support.bonding_present = exists("/sys/module/bonding");
    support.realtime = exists("/sys/kernel/realtime");
    const BondingBtf btf = BondingBtf::load();
    support.kernel_btf = btf.has_kernel();
    for (const Hook& hook : hooks())
        support.hooks.push_back({.hook = hook, .in_btf = btf.has_function(hook.function)});
    support.bonding_btf = support.hooks.front().in_btf;
    support.port_slave_offset = btf.member_offset("port", "slave");
    if (with_symbols) look_for_symbols(support);
    return support;
}

Result<void> Support::fentry() const {
    if (!missing_capabilities.empty())
        return fail(ErrorKind::unavailable,
                    fmt::format("tracing needs more rights: {} {} missing",
                                fmt::join(missing_capabilities, ", "),
                                missing_capabilities.size() == 1 ? "is" : "are"),
                    "run as root (sudo), in a container with these capabilities added");
    if (lockdown == "confidentiality")
        return fail(ErrorKind::unavailable,
                    "kernel lockdown is in confidentiality mode: BPF programs may not read kernel memory",
                    "boot without lockdown=confidentiality (integrity is enough for Secure Boot)");
    if (!bonding_present)
        return fail(ErrorKind::unavailable, "the bonding driver is not loaded, so this kernel has no bond",
                    "modprobe bonding max_bonds=0; a team, Open vSwitch or ECMP group is no kernel bond");
    if (!kernel_btf)
        return fail(
            ErrorKind::unavailable,
            fmt::format("kernel {} has no BTF (/sys/kernel/btf/vmlinux is not there): bond functions cannot "
                        "be traced",
                        kernel),
            "use a kernel with CONFIG_DEBUG_INFO_BTF=y, as stock Debian, Ubuntu and RHEL kernels have");
    if (!bonding_btf)
        return fail(
            ErrorKind::unavailable,
            fmt::format("kernel {} has no BTF of the bonding module: bond functions cannot be traced",
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

} // namespace bondtrace
