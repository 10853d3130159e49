// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/audit.h"

#include "tests/kernel/support/command.h"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A file in the temporary directory that is removed at the end.
class Scratch {
  public:
    explicit Scratch(const char* suffix)
        : path_(fmt::format("{}audit-{}-{}.{}", testing::TempDir(), getpid(), ++count, suffix)) {}
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { std::remove(path_.c_str()); }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    static inline int count = 0;
    std::string path_;
};

Audited judged(int status, const std::string& document, const std::string& errors) {
    Audited audited;
    audited.status = status;
    audited.document = json::parse(document, nullptr, false);
    EXPECT_FALSE(audited.document.is_discarded()) << document << errors;
    if (audited.document.is_discarded())
        audited.document = {{"bonds", json::array()}, {"findings", json::array()}};
    return audited;
}

} // namespace

testing::AssertionResult fits_schema(const std::string& document) {
    const Scratch file("json");
    std::ofstream(file.path()) << document;
    return run({BONDTRACE_SOURCE_DIR "/tools/validate-json",
                BONDTRACE_SOURCE_DIR "/docs/schema/audit.schema.json", file.path()});
}

const json* Audited::find(const std::string& id, const std::string& slave) const {
    for (const json& finding : document.at("findings"))
        if (finding.at("id") == id && (slave.empty() || finding.value("slave", "") == slave)) return &finding;
    return nullptr;
}

std::string Audited::says(const std::string& id) const {
    const json* const finding = find(id);
    return finding ? finding->dump() : std::string();
}

std::string Audited::worst() const { // most severe first
    const json& findings = document.at("findings");
    return findings.empty() ? "none" : findings.at(0).at("severity").get<std::string>();
}

std::set<std::string> Audited::faults() const {
    std::set<std::string> faults;
    for (const json& finding : document.at("findings")) {
        const auto severity = finding.at("severity").get<std::string>();
        const std::string slave = finding.value("slave", "");
        if (severity != "info")
            faults.insert(fmt::format("{} {}{}{}", severity, finding.at("id").get<std::string>(),
                                      slave.empty() ? "" : " ", slave));
    }
    return faults;
}

const json* Audited::slave(const std::string& name) const {
    for (const json& slave : bond().at("slaves"))
        if (slave.at("name") == name) return &slave;
    return nullptr;
}

std::vector<unsigned> Audited::split(const char* direction) const {
    std::vector<unsigned> flows;
    for (const json& slave : balance(direction).at("slaves"))
        flows.push_back(slave.at("flows").get<unsigned>());
    return flows;
}

Audited audit_while(const std::string& netns, const std::function<Result<void>()>& traffic,
                    const std::vector<std::string>& options) {
    const Scratch out("out"), err("err");
    int status = -1;
    {
        std::vector<std::string> argv{BONDTRACE_PROGRAM, "audit", "bond0",  "--netns", netns,
                                      "--for",           "1h",    "--json", "-v"};
        argv.insert(argv.end(), options.begin(), options.end());
        Background running(argv, out.path(), err.path());
        EXPECT_TRUE(await([&] {
            return read_file(err.path()).find("bondtrace: counting") != std::string::npos;
        })) << read_file(err.path());
        const auto done = traffic();
        EXPECT_TRUE(done) << done.error().what;
        status = running.stop(SIGINT);
    }
    return judged(status, read_file(out.path()), read_file(err.path()));
}

Audited audit_now(const std::string& netns, const std::vector<std::string>& options) {
    std::vector<std::string> argv{BONDTRACE_PROGRAM, "audit", "--netns", netns, "--for", "0", "--json"};
    argv.insert(argv.end(), options.begin(), options.end());
    const Output output = capture(argv);
    return judged(output.status, output.out, output.err);
}

} // namespace bondtrace::test
