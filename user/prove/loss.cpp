// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/prove/loss.h"

#include "user/audit/statistics.h"

namespace bondtrace {
namespace {

constexpr double least_rate = 0.002, many_times = 5, luck = 1e-6;
constexpr std::uint64_t least_lost = 20;
constexpr double nearly_full = 0.9;

} // namespace

std::vector<LossySlave> lossy_slaves(std::span<const SlaveLoss> slaves) {
    std::uint64_t sent = 0, lost = 0;
    for (const SlaveLoss& slave : slaves) {
        sent += slave.sent;
        lost += slave.lost;
    }
    std::vector<LossySlave> lossy;
    for (std::size_t i = 0; i < slaves.size(); ++i) {
        const SlaveLoss& slave = slaves[i];
        if (slave.lost < least_lost || slave.rate() < least_rate || slave.sent >= sent) continue;
        const double others = static_cast<double>(lost - slave.lost) / static_cast<double>(sent - slave.sent);
        if (slave.rate() < many_times * others) continue;
        const double part = static_cast<double>(slave.sent) / static_cast<double>(sent);
        const double probability = binomial_at_least(lost, part, slave.lost);
        if (probability < luck) lossy.push_back({i, probability, slave.load >= nearly_full});
    }
    return lossy;
}

std::vector<std::size_t> black_holes(std::span<const SlaveLoss> slaves) {
    constexpr std::uint64_t no_accident = 2;
    std::vector<std::size_t> holes;
    bool others_work = false;
    for (std::size_t i = 0; i < slaves.size(); ++i) {
        const SlaveLoss& slave = slaves[i];
        if (slave.flows >= no_accident && slave.failed == slave.flows)
            holes.push_back(i);
        else if (slave.failed != 0)
            return {}; // failures have another reason
        else if (slave.flows != 0)
            others_work = true;
    }
    return others_work ? holes : std::vector<std::size_t>{};
}

} // namespace bondtrace
