// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/traffic/server_fixture.h"

#include "user/traffic/socket_address.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace::traffic {
namespace {

constexpr auto patience = std::chrono::seconds(30);

} // namespace

StopSwitch::StopSwitch() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopSwitch::flip() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(fd_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
}

TestServer::TestServer(ServerConfig config) : config_(std::move(config)) {
    config_.port = 0;
    if (config_.version.empty()) config_.version = "test";
    thread_ = std::thread([this] {
        report_ = run_server(
            config_,
            [this](const ServerEvent& event) {
                const std::lock_guard lock(mutex_);
                events_.push_back({event, event.result ? *event.result : EndResult{}});
                events_.back().event.result = nullptr;
                changed_.notify_all();
            },
            stop_.token());
        const std::lock_guard lock(mutex_);
        changed_.notify_all();
    });
    const auto listening = await(ServerEvent::Kind::listening);
    if (listening.empty()) return;
    const std::string& where = listening.front().event.peer;
    port_ = static_cast<std::uint16_t>(std::stoi(where.substr(where.rfind(':') + 1)));
}

TestServer::~TestServer() {
    if (!thread_.joinable()) return;
    stop_.flip();
    thread_.join();
}

ServerReport TestServer::stop() {
    stop_.flip();
    return wait();
}

ServerReport TestServer::wait() {
    thread_.join();
    EXPECT_TRUE(report_) << report_.error().what;
    return report_.value_or(ServerReport{});
}

std::vector<TestServer::Seen> TestServer::seen(ServerEvent::Kind kind) {
    const std::lock_guard lock(mutex_);
    std::vector<Seen> result;
    for (const Seen& seen : events_)
        if (seen.event.kind == kind) result.push_back(seen);
    return result;
}

std::vector<TestServer::Seen> TestServer::await(ServerEvent::Kind kind, std::size_t count) {
    const auto enough = [&] {
        std::size_t so_far = 0;
        for (const Seen& seen : events_)
            so_far += seen.event.kind == kind ? 1 : 0;
        return so_far >= count;
    };
    {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, patience, enough)) << "the server has not said it in time";
    }
    return seen(kind);
}

ClientRequest request_to(const TestServer& server, std::size_t flows, bool v6) {
    ClientRequest request;
    request.host = v6 ? *parse_ip("::1") : *parse_ip("127.0.0.1");
    request.port = server.port();
    request.version = "test";
    request.options.duration = std::chrono::milliseconds(500);
    request.options.interval = std::chrono::milliseconds(100);
    request.flows.assign(flows, FlowAddress{IpAddress{v6, {}}, request.host, 0, request.port});
    return request;
}

Fd connect_to(const TestServer& server) {
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress address = to_socket_address(*parse_ip("127.0.0.1"), server.port());
    EXPECT_EQ(connect(fd.get(), address.get(), address.length), 0);
    const timeval limit{10, 0}; // so that a test that fails ends
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

Sums sums_of(const EndResult& end) {
    Sums sums;
    for (const FlowResult& flow : end.flows) {
        sums.sent += flow.sent_bytes;
        sums.received += flow.received_bytes;
        sums.sent_packets += flow.sent_packets;
        sums.received_packets += flow.received_packets;
        sums.established += flow.established ? 1 : 0;
        sums.failed += flow.failure.empty() ? 0 : 1;
    }
    return sums;
}

TestOutcome run(const ClientRequest& request, StopToken stop) {
    auto outcome = run_client(request, {}, stop);
    EXPECT_TRUE(outcome) << outcome.error().what;
    return outcome ? std::move(*outcome) : TestOutcome{};
}

void expect_complete(const TestOutcome& outcome) {
    EXPECT_FALSE(outcome.broken) << outcome.broken->what;
    EXPECT_EQ(outcome.established, outcome.asked);
    ASSERT_TRUE(outcome.server);
    ASSERT_EQ(outcome.client.flows.size(), outcome.asked);
    ASSERT_EQ(outcome.server->flows.size(), outcome.asked);
    for (std::size_t i = 0; i < outcome.asked; ++i) {
        const FlowResult &client = outcome.client.flows[i], &server = outcome.server->flows[i];
        EXPECT_TRUE(client.established && server.established) << i;
        EXPECT_EQ(client.failure + server.failure, "") << i;
        EXPECT_EQ(client.sent_bytes, server.received_bytes) << i;
        EXPECT_EQ(server.sent_bytes, client.received_bytes) << i;
        EXPECT_EQ(client.address.local, server.address.remote) << i;
        EXPECT_EQ(client.address.local_port, server.address.remote_port) << i;
        EXPECT_EQ(client.address.remote, server.address.local) << i;
        EXPECT_EQ(client.address.remote_port, server.address.local_port) << i;
    }
}

} // namespace bondtrace::traffic
