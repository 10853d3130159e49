// SPDX-License-Identifier: GPL-2.0-or-later
// What is the same for the skeletons of all rungs: opening, the settings of the counting core, loading.
#pragma once

#include "user/base/result.h"
#include "user/trace/libbpf_log.h"
#include "user/trace/rung.h"

#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <bpf/libbpf.h>

namespace bondtrace {

template<typename Skeleton> struct SkeletonDestroy {
    void operator()(Skeleton* skeleton) const { Skeleton::destroy(skeleton); }
};
template<typename Skeleton> using SkeletonPointer = std::unique_ptr<Skeleton, SkeletonDestroy<Skeleton>>;

// Sets what the counting core leaves to user space (see account.bpf.h).
template<typename Skeleton> Result<SkeletonPointer<Skeleton>> open_skeleton(const RungConfig& config) {
    SkeletonPointer<Skeleton> skeleton(Skeleton::open());
    if (!skeleton) return libbpf_failure(errno, "opening the BPF programs");
    skeleton->rodata->bt_bond_places = config.bond_places;
    timespec tick{};
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0)
        return fail_errno(errno, "asking for the clock's resolution");
    skeleton->rodata->bt_tick_ns =
        static_cast<std::uint64_t>(tick.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(tick.tv_nsec);
    skeleton->rodata->bt_slots = config.slots;
    skeleton->rodata->bt_caching = config.caching ? 1 : 0;
    const std::array sizes{
        std::pair{skeleton->maps.bt_bonds, config.bond_places},
        std::pair{skeleton->maps.bt_claims, config.slots},
        std::pair{skeleton->maps.bt_flows, config.max_flows},
        std::pair{skeleton->maps.bt_totals, config.cpus * config.slots},
        std::pair{skeleton->maps.bt_caches, config.cpus},
    };
    for (const auto& [map, size] : sizes)
        if (const int error = bpf_map__set_max_entries(map, size); error != 0)
            return libbpf_failure(-error, std::string("sizing map ") + bpf_map__name(map));
    return skeleton;
}

// Leaves the programs of hooks that this driver does not have unloaded; the required ones are known to be
// there.
template<typename Available>
void leave_out_missing(bpf_object* object, const Support& support, Available available) {
    for (const HookSupport& hook : support.hooks) {
        if (available(hook)) continue;
        bpf_program* program = nullptr;
        while ((program = bpf_object__next_program(object, program)) != nullptr)
            if (std::string_view(bpf_program__section_name(program)).ends_with(hook.hook.function))
                bpf_program__set_autoload(program, false);
    }
}

} // namespace bondtrace
