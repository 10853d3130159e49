// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/observe_plan.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace bondtrace::traffic {
namespace {

constexpr double luck = 1e-9;
// Flows in a row that nobody saw, or that were on several slaves, before that is taken for the rule.
constexpr std::size_t patience = 64;

// Flows after which one of `slaves` is still empty by chance with a probability of `luck`.
std::size_t enough(std::size_t slaves) {
    const double others = 1.0 - 1.0 / static_cast<double>(slaves);
    return static_cast<std::size_t>(std::ceil(std::log(luck) / std::log(others)));
}

} // namespace

ObservePlan::ObservePlan(std::vector<std::string> slaves, std::vector<std::size_t> wanted)
    : slaves_(std::move(slaves)), wanted_(std::move(wanted)), kept_(slaves_.size()), since_(slaves_.size()) {
    wanted_.resize(slaves_.size());
}

ObservePlan::Verdict ObservePlan::opened(std::span<const std::size_t> slaves) {
    ++opens_;
    unseen_ = slaves.empty() ? unseen_ + 1 : 0;
    spread_ = slaves.size() > 1 ? spread_ + 1 : 0;
    if (slaves.size() != 1 || slaves.front() >= slaves_.size()) return Verdict::reset;
    const std::size_t slave = slaves.front();
    for (std::size_t other = 0; other < since_.size(); ++other)
        since_[other] = other == slave ? 0 : since_[other] + 1;
    if (kept_[slave] >= wanted_[slave]) return Verdict::reset;
    ++kept_[slave];
    return Verdict::keep;
}

ObservePlan::Verdict ObservePlan::moved(std::size_t from, std::size_t to) {
    if (from == to) return Verdict::keep;
    ++moves_;
    ended(from);
    if (to >= slaves_.size() || kept_[to] >= wanted_[to]) return Verdict::reset;
    ++kept_[to];
    return Verdict::keep;
}

void ObservePlan::ended(std::size_t slave) {
    if (slave < kept_.size() && kept_[slave] > 0) --kept_[slave];
}

std::size_t ObservePlan::missing() const {
    std::size_t count = 0;
    for (std::size_t slave = 0; slave < wanted_.size(); ++slave)
        count += wanted_[slave] - std::min(wanted_[slave], kept_[slave]);
    return count;
}

std::size_t ObservePlan::next_batch(std::size_t most) const {
    return std::min(most, missing());
}

std::optional<std::string> ObservePlan::hopeless() const {
    if (complete()) return std::nullopt;
    if (unseen_ >= patience)
        return fmt::format("the tracer has seen none of the last {} flows on a slave that is usable: do they "
                           "leave through the bond?",
                           unseen_);
    if (spread_ >= patience)
        return fmt::format(
            "the last {} flows were on several slaves each: the mode spreads packets, not flows", spread_);
    for (std::size_t slave = 0; slave < wanted_.size(); ++slave)
        if (kept_[slave] < wanted_[slave] && slaves_.size() > 1 && since_[slave] >= enough(slaves_.size()))
            return fmt::format("{} has carried none of the last {} flows, and wants {} more: what varies "
                               "between these flows does not decide about the slave",
                               slaves_[slave], since_[slave], wanted_[slave] - kept_[slave]);
    return std::nullopt;
}

} // namespace bondtrace::traffic
