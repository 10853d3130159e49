// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/kernel/support/program.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bondtrace::test {
namespace {

using nlohmann::json;

// Names in what bpftool lists of this kind of object.
std::vector<json> bpf_objects(const std::string& kind) {
    const Output shown = capture({"bpftool", "-j", kind, "show"});
    EXPECT_EQ(shown.status, 0) << shown.err;
    const json list = json::parse(shown.out, nullptr, false);
    return list.is_array() ? list.get<std::vector<json>>() : std::vector<json>{};
}

bool is_ours(const std::string& name) {
    for (const char* start : {"bt_", "fentry_b", "kprobe_b", "tc_b"}) // the last are .rodata and .bss
        if (name.starts_with(start)) return true;
    return false;
}

} // namespace

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t now_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

Program::Program(const std::vector<std::string>& arguments) {
    static int count = 0;
    out_ = fmt::format("/tmp/program-{}-{}", ::getpid(), ++count);
    err_ = out_ + ".err";
    std::vector<std::string> argv{BONDTRACE_PROGRAM};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    process_.emplace(argv, out_, err_);
}

Program::~Program() {
    process_.reset();
    ::unlink(out_.c_str());
    ::unlink(err_.c_str());
}

void Program::signal(int number) const {
    EXPECT_EQ(::kill(pid(), number), 0) << "signal " << number;
}

bool Program::has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid();
}

int Program::stop(int signal, std::chrono::milliseconds timeout) {
    return process_->stop(signal, timeout);
}

testing::AssertionResult Program::await_counting() const {
    constexpr std::chrono::minutes patience(5); // hundreds of slaves on an emulated machine
    const bool counting = await(
        [&] { return read_file(err_).find("bondtrace: counting on ") != std::string::npos || has_ended(); },
        patience);
    if (counting && !has_ended()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "it does not count: " << errors();
}

std::string Program::errors() const {
    std::istringstream stream(read_file(err_));
    std::string errors;
    for (std::string line; std::getline(stream, line);)
        if (!line.starts_with("libbpf: ")) errors += line + "\n"; // thousands of lines, with -v
    return errors;
}

const std::vector<json>& Program::documents() {
    if (!stream_.is_open()) stream_.open(out_);
    stream_.clear(); // there may be more behind what was the end
    for (std::string piece; std::getline(stream_, piece); begun_.clear()) {
        begun_ += piece;
        if (stream_.eof()) return documents_;
        json line = json::parse(begun_, nullptr, false);
        if (line.is_object() && line.contains("schema")) documents_.push_back(std::move(line));
    }
    return documents_;
}

json Program::document() {
    if (!documents().empty()) return documents_.back();
    const json whole = json::parse(read_file(out_), nullptr, false); // one document of many lines
    return whole.is_object() ? whole : json();
}

testing::AssertionResult Program::await_document(const std::function<bool(const json&)>& condition,
                                                 std::chrono::milliseconds timeout) {
    bool found = false;
    std::optional<std::size_t> asked; // of how many documents the last did not do
    static_cast<void>(await(
        [&] {
            const bool ended = has_ended(); // first: what it wrote before its end counts
            const std::size_t written = documents().size();
            if (written == 0 || asked == written) return ended;
            asked = written;
            found = condition(documents_.back());
            return found || ended;
        },
        timeout));
    if (found) return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << (has_ended() ? "it has ended; " : "") << errors() << "the last document: " << document();
}

std::uint64_t memory_kib(pid_t pid, const std::string& name) {
    std::istringstream stream(read_file(fmt::format("/proc/{}/status", pid)));
    for (std::string line; std::getline(stream, line);)
        if (line.starts_with(name + ":")) return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
    ADD_FAILURE() << "there is no " << name << " of process " << pid;
    return 0;
}

std::chrono::milliseconds cpu_time(pid_t pid) {
    const std::string text = read_file(fmt::format("/proc/{}/stat", pid));
    // The name in parentheses may hold anything; utime and stime are the 14th and 15th of all, the 12th and
    // 13th behind it.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) {
        ADD_FAILURE() << "there is no process " << pid;
        return {};
    }
    std::istringstream stream(text.substr(name_end + 1));
    const std::vector<std::string> fields{std::istream_iterator<std::string>(stream), {}};
    const long long ticks = std::atoll(fields.at(11).c_str()) + std::atoll(fields.at(12).c_str());
    return std::chrono::milliseconds(ticks * 1000 / ::sysconf(_SC_CLK_TCK));
}

std::string left_in_kernel() {
    std::string left;
    std::vector<std::uint64_t> programs;
    for (const json& program : bpf_objects("prog")) {
        const std::string name = program.value("name", "");
        if (!is_ours(name)) continue;
        programs.push_back(program.at("id"));
        left += "program " + name + " ";
    }
    for (const json& map : bpf_objects("map"))
        if (const std::string name = map.value("name", ""); is_ours(name)) left += "map " + name + " ";
    for (const json& link : bpf_objects("link"))
        for (const std::uint64_t program : programs)
            if (link.value("prog_id", 0U) == program) left += "link " + link.dump() + " ";
    return left + read_file("/sys/kernel/tracing/kprobe_events");
}

json named(const json& list, const std::string& name) {
    for (const json& one : list)
        if (one.at("name") == name) return one;
    ADD_FAILURE() << "there is no " << name << " in " << list;
    return nullptr;
}

void expect_conservation(const json& document, const json& bond) {
    const json& losses = document.at("losses");
    for (const char* loss : {"recursion_misses", "slots_full", "consumed_unknown", "reading_skew"})
        EXPECT_EQ(losses.at(loss), 0) << loss;
    const bool complete = document.value("flows_idle", 0) == 0;
    for (const json& slave : bond.at("slaves")) {
        SCOPED_TRACE(slave.at("name"));
        for (const char* direction : {"tx", "rx"}) {
            SCOPED_TRACE(direction);
            const json& sum = slave.at(direction);
            for (const char* unit : {"packets", "bytes", "wire_packets", "wire_bytes"}) {
                std::uint64_t flows = sum.at("untracked").at(unit);
                for (const json& flow : bond.at("flows"))
                    for (const json& use : flow.at(direction))
                        if (use.at("slave") == slave.at("name")) flows += use.at(unit).get<std::uint64_t>();
                if (complete)
                    EXPECT_EQ(flows, sum.at(unit)) << unit;
                else
                    EXPECT_LE(flows, sum.at(unit)) << unit;
            }
            // veth with TSO counts skbs as they are handed over. What it does not take, since the other end
            // is down, it counts apart, without the bytes.
            std::uint64_t dropped = 0;
            if (direction == std::string("tx") && slave.contains("faults"))
                dropped = slave.at("faults").at("tx_dropped");
            for (const char* unit : {"packets", "bytes"}) {
                const bool bytes = unit == std::string("bytes");
                if (bytes && dropped > 0) continue;
                EXPECT_EQ(
                    sum.at(unit).get<std::uint64_t>() + sum.at("control").at(unit).get<std::uint64_t>(),
                    slave.at("counters").at(fmt::format("{}_{}", direction, unit)).get<std::uint64_t>() +
                        dropped)
                    << unit;
            }
        }
    }
}

} // namespace bondtrace::test
