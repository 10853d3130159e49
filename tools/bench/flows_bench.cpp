// SPDX-License-Identifier: GPL-2.0-or-later
// From a flow table of the kernel to a report: what reading it, joining directions, predicting, ordering and
// writing JSON take, in time and memory, for growing tables. The programs, the maps and the code that reads
// them are the product's own, attached by tc to a link of a namespace of its own; BPF_PROG_TEST_RUN sends the
// packets. Each size is measured in a process of its own, so that its memory is its own.
#include "tools/bench/own_objects.h"
#include "tools/bench/stream.h"
#include "user/base/netns.h"
#include "user/flow/sort.h"
#include "user/hash/era.h"
#include "user/live/live_json.h"
#include "user/report/flows_build.h"
#include "user/report/json_writer.h"
#include "user/trace/observation.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <net/if.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bondtrace::bench {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Options {
    std::uint32_t most_flows = 1U << 20U;
    unsigned rounds = 7;
    bool json = false;
};

struct Size {
    std::uint32_t flows = 0; // entries of the table: one a direction; a power of two
    bool one_way = false;    // each a conversation of its own
    bool live = false;       // what the live table makes of it, not a report
};

template<typename T> T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().what);
    return std::move(*result);
}
double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// A line of /proc/self/status, in MB: of what this process has in RAM, or has had at most.
double megabytes(std::string_view line) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (double kilobytes = 0; word == line && status >> kilobytes) return kilobytes * 1024 / 1e6;
    throw std::runtime_error("/proc/self/status has no such line");
}
double peak_megabytes() {
    return megabytes("VmHWM:");
}

// Of the process's CPU time: nothing here waits, and a machine that does other things at the same time
// disturbs it less.
class Stopwatch {
  public:
    // Milliseconds since the last call.
    double lap() {
        const double now = cpu_milliseconds();
        return now - std::exchange(last_, now);
    }

  private:
    static double cpu_milliseconds() {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
    }
    double last_ = cpu_milliseconds();
};

Observation observe(std::uint32_t flows) {
    if (unshare(CLONE_NEWNET) != 0) throw std::runtime_error("cannot make a network namespace (root?)");
    if (std::system("ip link add bench0 type veth peer name bench1") != 0)
        throw std::runtime_error("cannot make a veth pair");
    TraceConfig config;
    config.max_flows = flows;
    config.links = {"bench0"};
    return must(Observation::start(must(NetNs::current()), {}, config));
}

// Two packets of each flow, by the programs that are attached.
void fill(const Size& size) {
    const std::uint32_t conversations = size.one_way ? size.flows : size.flows / 2;
    const int ifindex = static_cast<int>(if_nametoindex("bench0"));
    std::vector<Stream> streams{{0, false, {.count = conversations, .first = 0, .swapped = false}}};
    if (!size.one_way)
        streams.push_back({std::thread::hardware_concurrency() > 1 ? 1U : 0U,
                           true,
                           {.count = conversations, .first = 0, .swapped = true}});
    const std::atomic<bool> once = true;
    must(run_streams(must(NetNs::current()), ifindex, streams, 2 * conversations, once));
}

// As if the link were the only slave of a bond, so that there is something to predict.
void make_bond(Observed& observed) {
    Bond& bond = observed.bonds.at(0).bond;
    bond.group = false;
    bond.mode = BondMode::balance_xor;
    bond.policy = HashPolicy::layer34;
    for (FlowEntry& flow : observed.flows) {
        flow.value.hash_flags |= BT_HASH_NOTED | BT_HASH_USABLE;
        flow.value.mode = static_cast<std::uint8_t>(bond.mode);
        flow.value.policy = static_cast<std::uint8_t>(bond.policy);
        flow.value.usable_index = 0;
        flow.value.usable_count = 1;
    }
}

// A benchmark of something that does not do its work is none.
void check(const FlowsReport& report, const Size& size) {
    const std::uint64_t conversations = size.one_way ? size.flows : size.flows / 2;
    std::uint64_t packets = 0;
    for (const Conversation& flow : report.flows)
        packets += flow.tx_total().packets + flow.rx_total().packets;
    if (report.flows.size() != conversations || packets != 2ULL * size.flows ||
        report.losses.untracked_packets != 0)
        throw std::runtime_error(fmt::format("{} conversations of {}, {} packets of {}, {} untracked",
                                             report.flows.size(), conversations, packets, 2ULL * size.flows,
                                             report.losses.untracked_packets));
}

Json measure(const Size& size, const Options& options) {
    Observation observation = observe(size.flows);
    fill(size);
    std::vector<double> read, join, whole, elapsed;
    for (unsigned round = 0; round < options.rounds; ++round) {
        const auto started = Clock::now();
        Stopwatch watch;
        const Observed observed = must(observation.snapshot());
        read.push_back(watch.lap());
        const FlowsReport report = build_flows_report(observed, {}, "");
        join.push_back(watch.lap());
        whole.push_back(read.back() + join.back());
        elapsed.push_back(std::chrono::duration<double, std::milli>(Clock::now() - started).count());
        check(report, size);
    }
    Json row{
        {"flows", size.flows},
        {"conversations", size.one_way ? size.flows : size.flows / 2},
        {"read_ms", median(read)},
        {"join_ms", median(join)},
        {"read_and_join_ms", median(whole)},
        {"read_and_join_elapsed_ms", median(elapsed)},
        {"read_and_join_mb", peak_megabytes()},
        {"map_bytes_per_flow", static_cast<double>(must(map_bytes(must(own_map("bt_flows"))))) / size.flows}};

    // The rest of what `bondtrace flows --json` does.
    Stopwatch watch;
    Observed observed = must(observation.finish());
    make_bond(observed);
    FlowsReport report = build_flows_report(observed, {}, "");
    watch.lap();
    add_predictions(report, observed, {must(parse_era("6.12")), EraSource::given, {}}, false);
    row["predict_ms"] = watch.lap();
    sort_conversations(report.flows, SortKey::bytes, report.names(), {});
    row["sort_ms"] = watch.lap();
    std::size_t bytes = 0;
    write_flows_json(report, [&bytes](const std::string& piece) {
        bytes += piece.size();
        return true;
    });
    row["json_ms"] = watch.lap();
    row["json_bytes"] = bytes;
    row["json_mb"] = peak_megabytes();
    if (report.bonds.at(0).agreement.agree != row["conversations"])
        throw std::runtime_error("not every flow was predicted");
    return row;
}

// What `bondtrace live --json` has in memory: three readings, of which the last two are written, to nobody.
Json measure_live(const Size& size) {
    Observation observation = observe(size.flows);
    fill(size);
    LiveModel model;
    FlowView view;
    std::size_t bytes = 0;
    double update_ms = 0, json_ms = 0;
    Json row{{"flows", size.flows}, {"conversations", size.one_way ? size.flows : size.flows / 2}};
    for (unsigned number = 0; number < 3; ++number) {
        Observed observed = must(observation.snapshot());
        make_bond(observed);
        Stopwatch watch;
        LiveReading reading = make_reading(std::move(observed), {}, "", "");
        reading.report.era = EraFinding{must(parse_era("6.12")), EraSource::given, {}};
        model.update(std::move(reading));
        view.rebuild(model, {});
        update_ms = watch.lap();
        if (number == 0) continue;
        if (number == 1) row["table_peak_mb"] = peak_megabytes();
        if (number == 1) row["table_mb"] = megabytes("VmRSS:");
        watch.lap();
        bytes = 0;
        write_live_json(model, view, {}, [&bytes](const std::string& piece) {
            bytes += piece.size();
            return true;
        });
        json_ms = watch.lap();
    }
    if (view.rows().size() != row["conversations"]) throw std::runtime_error("not every flow is shown");
    row["update_ms"] = update_ms;
    row["json_ms"] = json_ms;
    row["json_bytes"] = bytes;
    row["json_peak_mb"] = peak_megabytes();
    return row;
}

// In a process of its own, which answers by a pipe.
Json measure_apart(const Size& size, const Options& options) {
    std::array<int, 2> pipe_fds{};
    if (pipe(pipe_fds.data()) != 0) throw std::runtime_error("cannot make a pipe");
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot fork");
    if (child == 0) {
        Json answer;
        try {
            answer = size.live ? measure_live(size) : measure(size, options);
        } catch (const std::exception& failure) {
            answer = {{"error", failure.what()}};
        }
        const std::string text = answer.dump();
        const bool written =
            write(pipe_fds[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
        _exit(written ? 0 : 1);
    }
    close(pipe_fds[1]);
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = read(pipe_fds[0], buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(got));
    close(pipe_fds[0]);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        throw std::runtime_error(fmt::format("the process that measures {} flows has died", size.flows));
    Json row = Json::parse(text);
    if (row.contains("error")) throw std::runtime_error(row["error"].get<std::string>());
    return row;
}

// The table of the size that is the default, and of the largest.
void run_live(const Options& options, Json& rows) {
    if (!options.json)
        fmt::print("\nthe live table: ms of CPU time of a reading, MB of the process\n{:>9} {:>13} {:>8} "
                   "{:>8} {:>8} "
                   "{:>8} {:>9} {:>8}\n",
                   "flows", "conversations", "ms", "MB", "at peak", "JSON", "of MB", "at peak");
    for (const Size& size : {Size{std::min(1U << 16U, options.most_flows), false, true},
                             Size{std::min(1U << 16U, options.most_flows), true, true}}) {
        const Json row = measure_apart(size, options);
        rows.push_back(row);
        if (options.json) continue;
        const auto number = [&](const char* name) { return row.at(name).get<double>(); };
        fmt::print("{:>9} {:>13} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>9.1f} {:>8.1f}\n",
                   row["flows"].get<std::uint64_t>(), row["conversations"].get<std::uint64_t>(),
                   number("update_ms"), number("table_mb"), number("table_peak_mb"), number("json_ms"),
                   number("json_bytes") / 1e6, number("json_peak_mb"));
        std::fflush(stdout);
    }
}

void run(const Options& options) {
    Json document{{"schema", "bondtrace.flows-bench/1"}, {"rows", Json::array()}, {"live", Json::array()}};
    if (!options.json) {
        fmt::print(
            "ms of CPU time, and MB of the process at its peak; read: kernel to entries, join: entries to "
            "conversations\n");
        fmt::print("{:>9} {:>13} {:>8} {:>8} {:>11} {:>8} {:>6} {:>9} {:>8} {:>8} {:>9} {:>6} {:>14}\n",
                   "flows", "conversations", "read", "join", "read + join", "elapsed", "MB", "predict",
                   "sort", "JSON", "of MB", "MB", "map bytes/flow");
    }
    std::vector<Size> sizes;
    for (std::uint32_t flows = 1U << 10U; flows <= options.most_flows; flows *= 4)
        sizes.push_back({flows, false, false});
    sizes.push_back({sizes.back().flows, true, false});
    for (const Size& size : sizes) {
        const Json row = measure_apart(size, options);
        document["rows"].push_back(row);
        if (options.json) continue;
        const auto number = [&](const char* name) { return row.at(name).get<double>(); };
        fmt::print(
            "{:>9} {:>13} {:>8.1f} {:>8.1f} {:>11.1f} {:>8.1f} {:>6.0f} {:>9.1f} {:>8.1f} {:>8.1f} {:>9.1f} "
            "{:>6.0f} {:>14.0f}\n",
            row["flows"].get<std::uint64_t>(), row["conversations"].get<std::uint64_t>(), number("read_ms"),
            number("join_ms"), number("read_and_join_ms"), number("read_and_join_elapsed_ms"),
            number("read_and_join_mb"), number("predict_ms"), number("sort_ms"), number("json_ms"),
            number("json_bytes") / 1e6, number("json_mb"), number("map_bytes_per_flow"));
        std::fflush(stdout);
    }
    run_live(options, document["live"]);
    if (options.json) fmt::print("{}\n", document.dump(2));
}

} // namespace
} // namespace bondtrace::bench

int main(int argc, char** argv) {
    using namespace bondtrace::bench;
    CLI::App app{
        "Times reading, joining and writing flow tables of growing size (needs root; no bond needed)."};
    Options options;
    app.add_option("--rounds", options.rounds, "readings; their median counts")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    app.add_option("--most-flows", options.most_flows, "leave out larger tables")
        ->check(CLI::Range(1U << 10U, 1U << 22U))
        ->capture_default_str();
    app.add_flag("--json", options.json, "the numbers as JSON");
    CLI11_PARSE(app, argc, argv);
    try {
        run(options);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "flows_bench: {}\n", failure.what());
        return 1;
    }
    return 0;
}
