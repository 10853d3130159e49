// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/traffic_program.h"

#include "tests/kernel/support/namespace.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace bondtrace::test {

Kept::Kept(const std::string& name, const std::vector<std::string>& argv)
    : out_(fmt::format("/tmp/traffic-{}-{}.out", name, getpid())),
      err_(fmt::format("/tmp/traffic-{}-{}.err", name, getpid())), process_(argv, out_, err_) {}

Kept::~Kept() {
    std::remove(out_.c_str());
    std::remove(err_.c_str());
}

testing::AssertionResult Kept::says(const std::string& text) const {
    if (await([&] { return err().find(text) != std::string::npos; })) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "it does not say \"" << text << "\" but: " << err();
}

std::vector<std::string> server_in(const std::string& netns, const std::string& more) {
    std::vector<std::string> argv{program, "traffic", "server", "--netns", netns};
    for (std::string& word : words(more))
        argv.push_back(std::move(word));
    return argv;
}

std::vector<std::string> client_in(const std::string& netns, const std::string& host,
                                   const std::string& more) {
    std::vector<std::string> argv{program, "traffic", "client", host, "--netns", netns, "--json"};
    for (std::string& word : words(more))
        argv.push_back(std::move(word));
    return argv;
}

// The client's document; a failure of the test when it ends otherwise than with `status`.
nlohmann::json run_client(const std::string& netns, const std::string& host, const std::string& more,
                          int status) {
    const Output output = capture(client_in(netns, host, more), std::chrono::seconds(180));
    EXPECT_EQ(output.status, status) << output.err;
    auto document = nlohmann::json::parse(output.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << output.out << output.err;
    return document;
}

} // namespace bondtrace::test
