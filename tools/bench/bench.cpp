// SPDX-License-Identifier: GPL-2.0-or-later
// Times the counting core, and somebody else's tc program, in ns per packet by BPF_PROG_TEST_RUN. The
// machine's speed drifts: only numbers of the same run compare, which is why everything is measured in turn,
// round after round, and of each the median counts.
#include "bench_count.skel.h"
#include "bench_reference.skel.h"
#include "bench_vary.skel.h"
#include "bpf/abi.h"
#include "tools/bench/packets.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sched.h>

namespace bondtrace::bench {
namespace {

struct Fail {
    std::string what;
};

template<auto destroy> struct With {
    template<typename T> void operator()(T* object) const { destroy(object); }
};
using Vary = std::unique_ptr<bench_vary_bpf, With<bench_vary_bpf__destroy>>;
using Count = std::unique_ptr<bench_count_bpf, With<bench_count_bpf__destroy>>;
using Reference = std::unique_ptr<bench_reference_bpf, With<bench_reference_bpf__destroy>>;
using Object = std::unique_ptr<bpf_object, With<bpf_object__close>>;

struct Options {
    std::string object, program;
    std::uint32_t repeat = 300'000, most_flows = 1U << 20U;
    unsigned rounds = 7;
    std::size_t size = 64;
    bool json = false, quick = false;
};

// What is timed: a name and a program; the empty one is what is subtracted.
struct Subject {
    std::string name;
    int program;
};

// How the packets come.
struct Load {
    std::uint32_t flows = 1; // a power of two
    unsigned cpus = 1;
    bool own_flows = true; // of each CPU
};

// A packet behind the program that varies it, for one CPU.
class Lane {
  public:
    Lane(const Packet& packet, std::uint32_t flows, std::uint32_t first_flow) : packet_(packet) {
        vary_.reset(bench_vary_bpf__open());
        if (!vary_) throw Fail{"cannot open vary.bpf.o"};
        vary_->rodata->port_offset = packet.port_offset;
        vary_->rodata->flow_mask = flows - 1;
        vary_->rodata->first_flow = first_flow;
        if (bench_vary_bpf__load(vary_.get()) != 0) throw Fail{"cannot load vary.bpf.o"};
    }

    [[nodiscard]] int null_program() const { return bpf_program__fd(vary_->progs.null); }

    // ns per packet.
    double run(int program, std::uint32_t repeat) {
        const std::uint32_t zero = 0;
        if (bpf_map_update_elem(bpf_map__fd(vary_->maps.target), &zero, &program, BPF_ANY) != 0)
            throw Fail{fmt::format("cannot chain the program: {}", std::strerror(errno))};
        LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet_.bytes.data(),
                    .data_size_in = static_cast<std::uint32_t>(packet_.bytes.size()),
                    .repeat = static_cast<int>(repeat));
        if (bpf_prog_test_run_opts(bpf_program__fd(vary_->progs.vary), &options) != 0)
            throw Fail{fmt::format("BPF_PROG_TEST_RUN: {}", std::strerror(errno))};
        if (static_cast<std::int32_t>(options.retval) == -1) throw Fail{"the tail call did not happen"};
        return options.duration;
    }

  private:
    const Packet& packet_;
    Vary vary_;
};

// The slowest of the CPUs, which run at once.
double run_lanes(std::vector<Lane>& lanes, int program, std::uint32_t repeat) {
    if (lanes.size() == 1) return lanes[0].run(program, repeat);
    std::vector<double> ns(lanes.size());
    std::vector<std::string> failures(lanes.size());
    std::vector<std::thread> threads;
    for (std::size_t cpu = 0; cpu < lanes.size(); ++cpu)
        threads.emplace_back([&, cpu] {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(cpu, &set);
            if (sched_setaffinity(0, sizeof(set), &set) != 0) failures[cpu] = "cannot choose a CPU";
            try {
                ns[cpu] = lanes[cpu].run(program, repeat);
            } catch (const Fail& failure) {
                failures[cpu] = failure.what;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const std::string& failure : failures)
        if (!failure.empty()) throw Fail{failure};
    return *std::max_element(ns.begin(), ns.end());
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

// The median of each subject, the empty program first; a round before them warms up, and fills the flow
// tables.
std::vector<double> time_subjects(const Packet& packet, const Load& load,
                                  const std::vector<Subject>& subjects, const Options& options) {
    std::vector<Lane> lanes;
    for (unsigned cpu = 0; cpu < load.cpus; ++cpu)
        lanes.emplace_back(packet, load.flows, load.own_flows ? cpu * load.flows : 0);
    std::vector<std::vector<double>> rounds(subjects.size() + 1);
    const std::uint32_t repeat = std::max(options.repeat, load.flows); // each flow at least once
    for (unsigned round = 0; round <= options.rounds; ++round)
        for (std::size_t i = 0; i <= subjects.size(); ++i) {
            const double ns =
                run_lanes(lanes, i == 0 ? lanes[0].null_program() : subjects[i - 1].program, repeat);
            if (round > 0) rounds[i].push_back(ns);
        }
    std::vector<double> medians;
    medians.reserve(rounds.size());
    for (auto& values : rounds)
        medians.push_back(median(std::move(values)));
    return medians;
}

// A tc program out of an object file of the user's.
int load_foreign(const Options& options, Object& object) {
    object.reset(bpf_object__open_file(options.object.c_str(), nullptr));
    if (!object) throw Fail{fmt::format("cannot open {}: {}", options.object, std::strerror(errno))};
    bpf_program* wanted = bpf_object__find_program_by_name(object.get(), options.program.c_str());
    if (!wanted) throw Fail{fmt::format("{} has no program {}", options.object, options.program)};
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object.get()) bpf_program__set_autoload(program, program == wanted);
    bpf_program__set_type(wanted, BPF_PROG_TYPE_SCHED_CLS);
    if (const int error = bpf_object__load(object.get()); error != 0)
        throw Fail{fmt::format("cannot load {}: {}", options.object, std::strerror(-error))};
    return bpf_program__fd(wanted);
}

Count load_count(std::uint32_t max_flows, std::uint32_t cpus) {
    Count count(bench_count_bpf__open());
    constexpr std::uint32_t bond_places = 16;
    if (!count) throw Fail{"cannot open count.bpf.o"};
    count->rodata->bt_bond_places = bond_places;
    count->rodata->bt_slots = BT_MAX_SLAVES;
    if (bpf_map__set_max_entries(count->maps.bt_bonds, bond_places) != 0 ||
        bpf_map__set_max_entries(count->maps.bt_flows, max_flows) != 0 ||
        bpf_map__set_max_entries(count->maps.bt_totals, cpus * BT_MAX_SLAVES) != 0 ||
        bpf_map__set_max_entries(count->maps.bt_caches, cpus) != 0 || bench_count_bpf__load(count.get()) != 0)
        throw Fail{"cannot load count.bpf.o (root? BPF allowed here?)"};
    bt_bond bond{};
    bond.device = {1, 1};
    bond.slave_ifindex[0] = 1;
    const std::uint32_t place = bt_bond_place(bond.device, bond_places);
    if (bpf_map_update_elem(bpf_map__fd(count->maps.bt_bonds), &place, &bond, BPF_ANY) != 0)
        throw Fail{"cannot fill bt_bonds"};
    return count;
}

Reference load_reference(std::uint32_t max_flows) {
    Reference reference(bench_reference_bpf__open());
    if (!reference || bpf_map__set_max_entries(reference->maps.flows, max_flows) != 0 ||
        bench_reference_bpf__load(reference.get()) != 0)
        throw Fail{"cannot load reference.bpf.o"};
    return reference;
}

// A benchmark of something that does not do its work is none: everything run must have been counted.
void check_totals(const bench_count_bpf& count, std::uint32_t cpus, std::uint64_t expected) {
    std::uint64_t packets = 0, untracked = 0;
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
        const std::uint32_t index = cpu * BT_MAX_SLAVES;
        bt_slave_totals totals{};
        if (bpf_map_lookup_elem(bpf_map__fd(count.maps.bt_totals), &index, &totals) != 0)
            throw Fail{"cannot read bt_totals"};
        packets += totals.tx.packets;
        untracked += totals.tx_untracked.packets;
    }
    if (packets != expected || untracked != 0)
        throw Fail{fmt::format("{} of {} packets counted, {} untracked", packets, expected, untracked)};
}

std::vector<Load> loads(const Options& options, bool first_packet) {
    std::vector<Load> all{{1}, {64}};
    if (!options.quick)
        for (const std::uint32_t flows : {1U << 10U, 1U << 16U, 1U << 20U})
            if (flows <= options.most_flows && (flows < (1U << 20U) || first_packet)) all.push_back({flows});
    if (first_packet && !options.quick && std::thread::hardware_concurrency() >= 2) {
        all.push_back({1, 2, false});
        all.push_back({64, 2, true});
    }
    return all;
}

void run(const Options& options) {
    const auto cpus = static_cast<std::uint32_t>(libbpf_num_possible_cpus());
    Object foreign;
    const int foreign_program = options.object.empty() ? -1 : load_foreign(options, foreign);

    nlohmann::json document{
        {"schema", "bondtrace.bench/1"}, {"unit", "ns"}, {"rows", nlohmann::json::array()}};
    if (!options.json) {
        fmt::print(
            "ns per packet of {} bytes: of the empty program, and above it; x: compared with the reference\n",
            options.size);
        fmt::print("{:<14} {:>8} {:>12} {:>6} {:>9} {:>9} {:>14} {:>14}{}\n", "packet", "flows", "CPUs",
                   "empty", "untraced", "reference", "tc", "fentry, kprobe",
                   foreign_program >= 0 ? fmt::format(" {:>20}", options.program) : "");
    }
    bool first_packet = true;
    for (const Packet& packet : make_packets(options.size)) {
        for (const Load& load : loads(options, first_packet)) {
            if (load.flows > 1 && packet.port_offset == 0) continue;
            // Tables of its own for each row: what another one left would be met in this one.
            const std::uint32_t max_flows = 2 * load.flows * load.cpus + 64;
            const Count count = load_count(max_flows, cpus);
            const Reference reference = load_reference(max_flows);
            std::vector<Subject> subjects{{"untraced", bpf_program__fd(count->progs.untraced)},
                                          {"reference", bpf_program__fd(reference->progs.reference)},
                                          {"tc", bpf_program__fd(count->progs.count_tc)},
                                          {"probe", bpf_program__fd(count->progs.count_probe)}};
            if (foreign_program >= 0) subjects.push_back({options.program, foreign_program});
            const std::vector<double> ns = time_subjects(packet, load, subjects, options);
            const std::uint64_t packets =
                std::uint64_t{std::max(options.repeat, load.flows)} * (options.rounds + 1);
            check_totals(*count, cpus, packets * load.cpus * 2); // by both ways of reading

            nlohmann::json row{{"packet", packet.name},
                               {"flows", load.flows},
                               {"cpus", load.cpus},
                               {"same_flows", load.cpus > 1 && !load.own_flows},
                               {"empty", ns[0]}};
            for (std::size_t i = 0; i < subjects.size(); ++i)
                row[subjects[i].name] = ns[i + 1] - ns[0];
            document["rows"].push_back(row);
            if (options.json) continue;
            const double yardstick = ns[2] - ns[0];
            const auto compared = [&](std::size_t subject) {
                return fmt::format("{:.0f} ({:.2f} x)", ns[subject] - ns[0],
                                   (ns[subject] - ns[0]) / yardstick);
            };
            const std::string cpu_text =
                load.cpus == 1 ? "1"
                               : fmt::format("{} {}", load.cpus, load.own_flows ? "own flows" : "one flow");
            fmt::print("{:<14} {:>8} {:>12} {:>6.0f} {:>9.0f} {:>9.0f} {:>14} {:>14}{}\n", packet.name,
                       load.flows, cpu_text, ns[0], ns[1] - ns[0], yardstick, compared(3), compared(4),
                       foreign_program >= 0 ? fmt::format(" {:>20}", compared(5)) : "");
            std::fflush(stdout);
        }
        first_packet = false;
    }
    if (options.json) fmt::print("{}\n", document.dump(2));
}

} // namespace
} // namespace bondtrace::bench

int main(int argc, char** argv) {
    using namespace bondtrace::bench;
    CLI::App app{"Times bondtrace's counting core per packet (needs root; no bond needed).\n"
                 "Example: bondtrace-bench --object other.bpf.o --program tc_count"};
    Options options;
    auto* object = app.add_option("--object", options.object, "also time a tc program from this object file");
    app.add_option("--program", options.program, "its name")->needs(object);
    app.add_option("--repeat", options.repeat, "packets a round")
        ->check(CLI::Range(1U, 100'000'000U))
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "rounds; their median counts")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    app.add_option("--most-flows", options.most_flows, "leave out rows of more flows")
        ->check(CLI::Range(1U, 1U << 20U))
        ->capture_default_str();
    app.add_option("--size", options.size, "bytes a packet")
        ->check(CLI::Range(60U, 1500U))
        ->capture_default_str();
    app.add_flag("--quick", options.quick, "only 1 and 64 flows");
    app.add_flag("--json", options.json, "the numbers as JSON");
    CLI11_PARSE(app, argc, argv);
    try {
        if (!options.object.empty() && options.program.empty()) throw Fail{"--object needs --program"};
        run(options);
    } catch (const Fail& failure) {
        fmt::print(stderr, "bondtrace-bench: {}\n", failure.what);
        return 1;
    }
    return 0;
}
