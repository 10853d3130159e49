// SPDX-License-Identifier: GPL-2.0-or-later
// What a peer that means no good can do to a server, and what it cannot.
#include "tests/unit/traffic/server_fixture.h"
#include "user/traffic/control_channel.h"
#include "user/traffic/data_header.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include <dirent.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace::traffic {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

void say(const Fd& fd, std::string_view bytes) {
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

std::string greeting() {
    return {control_greeting.begin(), control_greeting.end()};
}

// The server ends the connection (or resets it) and has said nothing before.
bool is_dropped(const Fd& fd) {
    char byte = 0;
    const ssize_t some = recv(fd.get(), &byte, 1, 0);
    return some == 0 || (some < 0 && errno != EAGAIN);
}

// The server does as it should for others.
void expect_service(const TestServer& server) {
    ClientRequest request = request_to(server, 2);
    request.options.duration = 100ms;
    const auto outcome = run_client(request, {}, {});
    ASSERT_TRUE(outcome) << outcome.error().what;
    EXPECT_EQ(outcome->established, 2U);
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR* const directory = opendir("/proc/self/fd");
    if (!directory) return 0;
    while (readdir(directory))
        ++count;
    closedir(directory);
    return count;
}

ServerConfig impatient() {
    ServerConfig config;
    config.limits.handshake_time = 300ms;
    config.limits.silence = 500ms;
    return config;
}

TEST(HostileClient, Garbage) {
    TestServer server(impatient());
    std::mt19937 random(3);
    for (int i = 0; i < 50; ++i) {
        const Fd fd = connect_to(server);
        std::string bytes(8 + random() % 100, '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random());
        say(fd, bytes);
        EXPECT_TRUE(is_dropped(fd));
    }
    expect_service(server);
    EXPECT_EQ(server.stop().strays, 50U);
}

TEST(HostileClient, HttpAndOthersAreDropped) {
    TestServer server(impatient());
    for (const char* hello :
         {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "SSH-2.0-x\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01"}) {
        const Fd fd = connect_to(server);
        say(fd, hello);
        EXPECT_TRUE(is_dropped(fd)) << hello;
    }
    expect_service(server);
}

TEST(HostileClient, SlowGreetings) {
    TestServer server(impatient());
    std::vector<Fd> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(connect_to(server));
        say(slow.back(), "btc"); // and no more
    }
    const auto begin = Clock::now();
    for (const Fd& fd : slow)
        EXPECT_TRUE(is_dropped(fd));
    EXPECT_LT(Clock::now() - begin, 5s);
    expect_service(server);
    EXPECT_EQ(server.stop().strays, 20U);
}

TEST(HostileClient, MoreSlowOnesThanAreHeld) {
    ServerConfig config;
    config.limits.handshakes = 10;
    config.limits.handshake_time = 1h; // they would stay
    TestServer server(std::move(config));
    std::vector<Fd> slow;
    for (int i = 0; i < 50; ++i)
        slow.push_back(connect_to(server));
    for (int i = 0; i < 39; ++i) // the oldest make room
        EXPECT_TRUE(is_dropped(slow[static_cast<std::size_t>(i)])) << i;
    expect_service(server);
}

TEST(HostileClient, SilenceAfterTheGreeting) {
    TestServer server(impatient());
    const Fd quiet = connect_to(server);
    say(quiet, greeting());
    EXPECT_TRUE(is_dropped(quiet));
    const Fd half = connect_to(server);
    say(half, greeting() + std::string("\0\0\0\x20{\"ty", 9));
    EXPECT_TRUE(is_dropped(half));
    expect_service(server);
}

TEST(HostileClient, HugeLength) {
    TestServer server;
    const Fd fd = connect_to(server);
    say(fd, greeting() + "\xff\xff\xff\xff");
    EXPECT_TRUE(is_dropped(fd));
    const auto refused = server.await(ServerEvent::Kind::refused);
    EXPECT_THAT(refused[0].event.text, HasSubstr("4294967295 bytes"));
    expect_service(server);
}

TEST(HostileClient, TooManyClients) {
    ServerConfig config;
    config.limits.sessions = 3;
    TestServer server(std::move(config));
    std::vector<Fd> held;
    for (int i = 0; i < 3; ++i) {
        held.push_back(connect_to(server));
        say(held.back(), greeting() + frame(HelloMessage{protocol_version, "x"}));
        char byte = 0;
        ASSERT_EQ(recv(held.back().get(), &byte, 1, 0), 1) << "its hello was answered: it is in";
    }
    const auto outcome = run_client(request_to(server, 1), {}, {});
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().what, HasSubstr("serves 3 clients already"));
    held.clear();
}

TEST(HostileClient, TooManyFlows) {
    ServerConfig config;
    config.limits.flows = 10;
    TestServer server(std::move(config));
    const auto outcome = run_client(request_to(server, 11), {}, {});
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().what, HasSubstr("11 flows are asked for"));
    EXPECT_TRUE(run_client(request_to(server, 10), {}, {})) << "what was refused is given back";
}

TEST(HostileClient, AnotherVersion) {
    TestServer server;
    ControlChannel channel(connect_to(server), "the server");
    say(Fd(dup(channel.fd())), greeting());
    ASSERT_TRUE(channel.send(HelloMessage{99, "9.9"}, 1s));
    const auto hello = channel.wait(5s, -1);
    ASSERT_TRUE(hello) << hello.error().what;
    EXPECT_EQ(std::get<HelloMessage>(**hello).protocol, protocol_version);
    EXPECT_FALSE(channel.wait(5s, -1)) << "it has ended the connection";
    const auto refused = server.await(ServerEvent::Kind::refused);
    EXPECT_THAT(refused[0].event.text, HasSubstr("version 99"));
}

// The control connection of a test that was accepted, and its token.
struct Agreed {
    std::optional<ControlChannel> channel;
    Token token{};
};

Agreed agree(const TestServer& server, const TestOptions& options, std::uint32_t flows) {
    Agreed agreed;
    Fd fd = connect_to(server);
    say(fd, greeting());
    agreed.channel.emplace(std::move(fd), "the server");
    EXPECT_TRUE(agreed.channel->send(HelloMessage{protocol_version, "x"}, 1s));
    EXPECT_TRUE(agreed.channel->send(RequestMessage{options, flows}, 1s));
    EXPECT_TRUE(std::holds_alternative<HelloMessage>(**agreed.channel->wait(5s, -1)));
    const auto accepted = agreed.channel->wait(5s, -1);
    EXPECT_TRUE(accepted && *accepted && std::holds_alternative<AcceptedMessage>(**accepted));
    agreed.token = std::get<AcceptedMessage>(**accepted).token;
    return agreed;
}

std::string hello_of(const Token& token, std::uint32_t flow) {
    const auto bytes = encode(DataHello{token, flow});
    return {bytes.begin(), bytes.end()};
}

TEST(HostileClient, WrongToken) {
    TestServer server;
    Agreed agreed = agree(server, TestOptions{}, 2);
    Token wrong = agreed.token;
    wrong[15] ^= 1;
    const Fd stray = connect_to(server);
    say(stray, hello_of(wrong, 0));
    EXPECT_TRUE(is_dropped(stray));
    const Fd beyond = connect_to(server);
    say(beyond, hello_of(agreed.token, 2)); // flows are 0 and 1
    EXPECT_TRUE(is_dropped(beyond));
    const Fd first = connect_to(server), again = connect_to(server);
    say(first, hello_of(agreed.token, 1));
    // Once it is in, the same flow does not come a second time.
    ASSERT_TRUE(agreed.channel->send(StartMessage{1}, 1s));
    while (true) {
        const auto message = agreed.channel->wait(5s, -1);
        ASSERT_TRUE(message && *message);
        if (std::holds_alternative<StartedMessage>(**message)) break;
    }
    say(again, hello_of(agreed.token, 1));
    EXPECT_TRUE(is_dropped(again));
    agreed.channel.reset();
    EXPECT_EQ(server.stop().strays, 3U);
}

TEST(HostileClient, TokensDiffer) {
    TestServer server;
    std::set<Token> tokens;
    for (int i = 0; i < 8; ++i)
        tokens.insert(agree(server, TestOptions{}, 1).token);
    EXPECT_EQ(tokens.size(), 8U);
}

TEST(HostileClient, DiesWithinATest) {
    TestServer server;
    {
        Agreed agreed = agree(server, TestOptions{}, 1);
        const Fd flow = connect_to(server);
        say(flow, hello_of(agreed.token, 0) + std::string(1'000, 'x'));
        ASSERT_TRUE(agreed.channel->send(StartMessage{1}, 1s));
        server.await(ServerEvent::Kind::began);
    } // both connections end
    const auto finished = server.await(ServerEvent::Kind::finished);
    EXPECT_THAT(finished[0].event.text, HasSubstr("ended the connection"));
    EXPECT_EQ(sums_of(finished[0].result).received, 1'000U) << "what there was is told";
    expect_service(server);
    EXPECT_EQ(server.stop().partial, 1U);
}

TEST(HostileClient, SaysNothingWithinATest) {
    TestServer server(impatient());
    Agreed agreed = agree(server, TestOptions{}, 1);
    const Fd flow = connect_to(server);
    say(flow, hello_of(agreed.token, 0));
    ASSERT_TRUE(agreed.channel->send(StartMessage{1}, 1s));
    const auto finished = server.await(ServerEvent::Kind::finished);
    EXPECT_THAT(finished[0].event.text, HasSubstr("said nothing"));
    expect_service(server);
}

TEST(HostileClient, NobodyElsesAddress) {
    ServerConfig config;
    config.allow = {*parse_prefix("192.0.2.0/24"), *parse_prefix("2001:db8::/32")};
    TestServer server(std::move(config));
    EXPECT_TRUE(is_dropped(connect_to(server)));
    EXPECT_FALSE(run_client(request_to(server, 1), {}, {}));
    EXPECT_EQ(server.stop().disallowed, 2U);
}

TEST(HostileClient, LeavesNoDescriptorsBehind) {
    TestServer server(impatient());
    expect_service(server);
    server.await(ServerEvent::Kind::finished);
    // A session's descriptors go when its thread has ended: wait for that by asking again.
    const auto settled = [] {
        std::size_t last = 0, now = open_descriptors();
        const auto end = Clock::now() + 5s;
        for (int same = 0; same < 20 && Clock::now() < end; same = now == last ? same + 1 : 0) {
            last = now;
            std::this_thread::sleep_for(10ms);
            now = open_descriptors();
        }
        return now;
    };
    const std::size_t before = settled();
    for (int i = 0; i < 20; ++i) {
        const Fd garbage = connect_to(server);
        say(garbage, "nonsense nonsense nonsense nonsense");
        Agreed dies = agree(server, TestOptions{}, 4);
        const Fd flow = connect_to(server);
        say(flow, hello_of(dies.token, 3));
    }
    EXPECT_EQ(settled(), before);
}

} // namespace
} // namespace bondtrace::traffic
