// SPDX-License-Identifier: GPL-2.0-or-later
// bondtrace itself, running beside a test, and what of it is in the kernel.
#pragma once

#include "tests/kernel/support/command.h"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace bondtrace::test {

// A run that writes JSON lines (live) or one document at its end (flows).
class Program {
  public:
    // Starts bondtrace with these arguments; it takes the attachment of BONDTRACE_ATTACH like any other.
    explicit Program(const std::vector<std::string>& arguments);
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program();

    [[nodiscard]] pid_t pid() const { return process_->pid(); }
    void signal(int number) const;
    // True when it ended by itself; it is not reaped yet.
    [[nodiscard]] bool has_ended() const;
    // As Background::stop().
    int stop(int signal, std::chrono::milliseconds timeout = usual_timeout);

    // With -v it says so on standard error.
    [[nodiscard]] testing::AssertionResult await_counting() const;
    // What it has written to standard error itself.
    [[nodiscard]] std::string errors() const;
    // The lines that were written completely so far, each a document.
    const std::vector<nlohmann::json>& documents();
    // The last of them, or the one document of a run that writes one; null when there is none.
    nlohmann::json document();
    // Waits for a document like that; the failure shows the last one.
    testing::AssertionResult await_document(const std::function<bool(const nlohmann::json&)>& condition,
                                            std::chrono::milliseconds timeout = usual_timeout);

  private:
    std::string out_, err_;
    std::ifstream stream_;
    std::string begun_; // a line of which the end is not there yet
    std::vector<nlohmann::json> documents_;
    std::optional<Background> process_;
};

// A value of /proc/PID/status, in KiB, such as VmRSS; 0 and a failure of the test when it cannot be read.
std::uint64_t memory_kib(pid_t pid, const std::string& name);
// Processor time that the process has used so far, in user space and in the kernel.
std::chrono::milliseconds cpu_time(pid_t pid);

std::string read_file(const std::string& path);

// CLOCK_MONOTONIC, as in the documents.
std::uint64_t now_ns();

// Names of programs, maps, BPF links and kprobe events of ours that are in the kernel; empty: none.
std::string left_in_kernel();

// The interface of this name among a document's; a failure of the test, and null, when there is none.
nlohmann::json named(const nlohmann::json& list, const std::string& name);

// For each slave of the bond: its flows and what found no room add up to its sum, and with control frames to
// the kernel's counter, to the packet and the byte. Of a document that was written when nothing passed; where
// it leaves out flows that are idle, the others add up to less.
void expect_conservation(const nlohmann::json& document, const nlohmann::json& bond);

} // namespace bondtrace::test
