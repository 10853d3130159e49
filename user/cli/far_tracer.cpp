// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/far_tracer.h"

#include "user/cli/followed_observation.h"
#include "user/prove/match.h"
#include "user/report/flows_build.h"

#include <algorithm>
#include <utility>

namespace bondtrace {
namespace {

using namespace traffic;

class BondTracer : public TestTracer {
  public:
    explicit BondTracer(std::unique_ptr<FollowedObservation> observation)
        : observation_(std::move(observation)) {}

    Result<EndTrace> finish(Transport transport, const std::vector<FlowResult>& flows) override {
        const auto observed = observation_->finish();
        if (!observed) return tl::make_unexpected(observed.error());
        ReportHeader header;
        header.attach = observed->attachment;
        const FlowsReport report = build_flows_report(*observed, std::move(header), {});
        std::vector<FlowAddress> addresses;
        addresses.reserve(flows.size());
        for (const FlowResult& flow : flows)
            addresses.push_back(flow.address);
        return trace_of(report, 0, match_flows(report, 0, transport, addresses));
    }

  private:
    std::unique_ptr<FollowedObservation> observation_;
};

} // namespace

std::uint32_t entries_for(std::size_t flows) {
    constexpr std::size_t directions = 2, slaves = 2; // a flow that moves has entries of both
    return static_cast<std::uint32_t>(flows * directions * slaves);
}

TracerFactory bond_tracer(const NetNs& netns, const std::string& bond, const TraceConfig& config) {
    return [netns, bond, config](std::size_t flows) -> Result<std::unique_ptr<TestTracer>> {
        TraceConfig roomy = config;
        roomy.max_flows = std::max(roomy.max_flows, entries_for(flows));
        auto observation = FollowedObservation::start(netns, {bond}, roomy);
        if (!observation) return tl::make_unexpected(observation.error());
        (*observation)->follow();
        return std::make_unique<BondTracer>(std::move(*observation));
    };
}

} // namespace bondtrace
