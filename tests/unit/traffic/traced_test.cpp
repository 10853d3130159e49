// SPDX-License-Identifier: GPL-2.0-or-later
// A server that traces, over loopback: what its tracer saw comes back flow by flow.
#include "tests/unit/traffic/server_fixture.h"

#include <atomic>
#include <memory>

#include <gmock/gmock.h>

namespace bondtrace::traffic {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

// What a tracer saw, as a server that has one hands it over.
class FakeTracer : public TestTracer {
  public:
    explicit FakeTracer(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
    ~FakeTracer() override { --alive_; }
    Result<EndTrace> finish(Transport transport, const std::vector<FlowResult>& flows) override {
        EXPECT_EQ(transport, Transport::tcp);
        EndTrace trace;
        trace.bond = "bond7";
        trace.slaves.resize(2);
        for (std::size_t i = 0; i < flows.size(); ++i)
            trace.flows.push_back({{{1, i, 2 * i}}, {{0, flows[i].address.remote_port, 1}}});
        return trace;
    }

  private:
    std::atomic<int>& alive_;
};

TEST(Trace, IsHandedOverFlowByFlow) {
    std::atomic<int> alive = 0;
    std::atomic<std::size_t> announced = 0;
    ServerConfig config;
    config.trace = [&](std::size_t flows) -> Result<std::unique_ptr<TestTracer>> {
        announced = flows;
        return std::make_unique<FakeTracer>(alive);
    };
    TestServer server(std::move(config));
    constexpr std::size_t flows = 150; // more than one message holds
    ClientRequest request = request_to(server, flows);
    request.trace = true;
    request.options.rate = 1e5;
    int collected = 0;
    request.collected = [&] { ++collected; };
    const TestOutcome outcome = run(request);
    expect_complete(outcome);
    EXPECT_EQ(outcome.untraced, "");
    EXPECT_EQ(collected, 1);
    EXPECT_EQ(announced, flows);
    ASSERT_TRUE(outcome.far);
    EXPECT_EQ(outcome.far->bond, "bond7");
    ASSERT_EQ(outcome.far->flows.size(), flows);
    for (std::size_t i = 0; i < flows; ++i) {
        EXPECT_EQ(outcome.far->flows[i].tx, (std::vector<TracedUse>{{1, i, 2 * i}}));
        // The flow of that position, from the server's own point of view.
        EXPECT_EQ(outcome.far->flows[i].rx.at(0).packets, outcome.client.flows[i].address.local_port);
    }
    EXPECT_EQ(alive, 0) << "it is not kept beyond the test";
    // And the next test may have one.
    request.options.duration = 100ms;
    EXPECT_TRUE(run(request).far);
}

TEST(Trace, IsOnlyForThoseWhoAsk) {
    std::atomic<int> made = 0;
    ServerConfig config;
    config.trace = [&](std::size_t) -> Result<std::unique_ptr<TestTracer>> {
        ++made;
        return fail(ErrorKind::unavailable, "no rights");
    };
    TestServer server(std::move(config));
    ClientRequest request = request_to(server, 1);
    request.options.duration = 100ms;
    EXPECT_FALSE(run(request).far);
    EXPECT_EQ(made, 0);
    request.trace = true;
    const TestOutcome outcome = run(request);
    expect_complete(outcome);
    EXPECT_EQ(made, 1);
    EXPECT_FALSE(outcome.far);
    EXPECT_EQ(outcome.untraced, "no rights");
}

TEST(Trace, IsNotThereWithoutATracer) {
    TestServer server;
    ClientRequest request = request_to(server, 1);
    request.options.duration = 100ms;
    request.trace = true;
    const TestOutcome outcome = run(request);
    EXPECT_FALSE(outcome.far);
    EXPECT_THAT(outcome.untraced, HasSubstr("--trace"));
}

} // namespace
} // namespace bondtrace::traffic
