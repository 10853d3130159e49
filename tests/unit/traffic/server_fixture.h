// SPDX-License-Identifier: GPL-2.0-or-later
// A server on loopback, on a thread of the test.
#pragma once

#include "user/base/fd.h"
#include "user/traffic/client.h"
#include "user/traffic/server.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace bondtrace::traffic {

class StopSwitch {
  public:
    StopSwitch();
    void flip() const;
    [[nodiscard]] StopToken token() const { return {fd_.get()}; }

  private:
    Fd fd_;
};

class TestServer {
  public:
    explicit TestServer(ServerConfig config = {});
    ~TestServer(); // stops it

    [[nodiscard]] std::uint16_t port() const { return port_; }
    // Ends it (with `once`, waits for its end); what it did.
    ServerReport stop();
    ServerReport wait();
    void begin_to_stop() const { stop_.flip(); }

    struct Seen {
        ServerEvent event;
        EndResult result; // finished
    };
    // Everything of that kind so far.
    std::vector<Seen> seen(ServerEvent::Kind kind);
    // Waits until there are `count` of them; fails the test when there are not in time.
    std::vector<Seen> await(ServerEvent::Kind kind, std::size_t count = 1);

  private:
    StopSwitch stop_;
    ServerConfig config_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Seen> events_;
    std::uint16_t port_ = 0;
    Result<ServerReport> report_ = ServerReport{};
    std::thread thread_;
};

// A test of `flows` flows to that server, whose ports the kernel chooses.
ClientRequest request_to(const TestServer& server, std::size_t flows, bool v6 = false);

// A connected TCP socket to the server.
Fd connect_to(const TestServer& server);

struct Sums {
    std::uint64_t sent = 0, received = 0, sent_packets = 0, received_packets = 0, established = 0, failed = 0;
};
Sums sums_of(const EndResult& end);

// As run_client(), without progress; a failure of the test when it fails.
TestOutcome run(const ClientRequest& request, StopToken stop = {});
// Nothing failed, and every byte that one end sent was received by the other, flow by flow.
void expect_complete(const TestOutcome& outcome);

} // namespace bondtrace::traffic
