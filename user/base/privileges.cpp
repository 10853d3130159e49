// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/privileges.h"

#include <cerrno>
#include <memory>

#include <sys/prctl.h>

namespace bondtrace {

namespace {

struct CapFree {
    void operator()(void* memory) const { cap_free(memory); }
};
using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, CapFree>;

} // namespace

Result<std::vector<std::string>> missing_capabilities(std::span<const cap_value_t> wanted) {
    const Caps caps(cap_get_proc());
    if (!caps) return fail_errno(errno, "reading this process's capabilities");
    std::vector<std::string> missing;
    for (const cap_value_t cap : wanted) {
        cap_flag_value_t set = CAP_CLEAR;
        // A capability that this kernel does not know is not missing: an older one covers it (CAP_SYS_ADMIN).
        if (cap_get_flag(caps.get(), cap, CAP_EFFECTIVE, &set) != 0 || !CAP_IS_SUPPORTED(cap)) continue;
        if (set == CAP_SET) continue;
        const std::unique_ptr<char, CapFree> name(cap_to_name(cap));
        missing.emplace_back(name ? name.get() : "?");
    }
    return missing;
}

Result<void> drop_capabilities_except(std::span<const cap_value_t> keep) {
    const Caps now(cap_get_proc());
    const Caps caps(cap_init());
    if (!now || !caps) return fail_errno(errno, "reading this process's capabilities");
    for (const cap_value_t cap : keep) {
        cap_flag_value_t set = CAP_CLEAR;
        if (cap_get_flag(now.get(), cap, CAP_PERMITTED, &set) != 0 || set != CAP_SET) continue;
        cap_set_flag(caps.get(), CAP_PERMITTED, 1, &cap, CAP_SET);
        cap_set_flag(caps.get(), CAP_EFFECTIVE, 1, &cap, CAP_SET);
    }
    if (cap_set_proc(caps.get()) != 0) return fail_errno(errno, "dropping capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno(errno, "setting no_new_privs");
    return {};
}

} // namespace bondtrace
