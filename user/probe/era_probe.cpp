// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/probe/era_probe.h"

#include "user/hash/era_search.h"
#include "user/probe/scratch_bond.h"

#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace bondtrace {
namespace {

// Present while the driver is in the kernel, built in or loaded.
constexpr const char* driver = "/sys/module/bonding";

// On a thread that belongs to nothing else: it ends in another network namespace than it began in.
Result<std::optional<Era>> probe_here() {
    auto bond = ScratchBond::make();
    if (!bond) return tl::make_unexpected(bond.error());
    EraSearch search(ScratchBond::slaves);
    std::optional<HashPolicy> policy;
    for (const EraQuestion& question : search.questions()) {
        if (policy != question.policy) {
            if (const auto set = bond->set_policy(question.policy); !set)
                return tl::make_unexpected(set.error());
            policy = question.policy;
        }
        const auto index = bond->send(question.frame);
        if (!index) return tl::make_unexpected(index.error());
        search.answer(question, *index);
    }
    if (search.remaining().empty()) return std::optional<Era>();
    return std::optional(search.remaining().front());
}

std::string release() {
    utsname name{};
    return ::uname(&name) == 0 ? name.release : "unknown";
}

Result<EraFinding> find_once() {
    const auto probed = probe_era();
    if (!probed)
        return assume_era(release(),
                          fmt::format("from release {}, not probed: {}", release(), probed.error().what));
    if (!*probed)
        return fail(ErrorKind::unavailable,
                    fmt::format("this kernel ({}) chooses slaves as none that is known: no prediction is "
                                "possible",
                                release()),
                    "a newer bondtrace may know it; --era predicts for another kernel");
    return EraFinding{**probed, EraSource::probed, {}};
}

} // namespace

Result<std::optional<Era>> probe_era() {
    if (::access(driver, F_OK) != 0) return fail(ErrorKind::unavailable, "the bonding driver is not loaded");
    std::optional<Result<std::optional<Era>>> answer;
    try {
        std::thread([&] { answer.emplace(probe_here()); }).join();
    } catch (const std::system_error& failure) {
        return fail(ErrorKind::unavailable, fmt::format("starting a thread: {}", failure.what()));
    }
    return std::move(*answer);
}

Result<EraFinding> find_era() {
    static const Result<EraFinding> found = find_once();
    return found;
}

Result<EraFinding> find_era_for_checking() {
    EraFinding assumed = assume_era(release(), fmt::format("from release {}", release()));
    if (assumed.era.low_bit == LowBit::dropped_by_ports) return assumed;
    return find_era();
}

} // namespace bondtrace
