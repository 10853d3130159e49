// SPDX-License-Identifier: GPL-2.0-or-later
// Times the counting core, and somebody else's tc program, in ns per packet by BPF_PROG_TEST_RUN. The
// machine's speed drifts: only numbers of the same run compare, which is why everything is measured in turn,
// round after round, and of each the median counts.
#include "bench_count.skel.h"
#include "bench_probe.skel.h"
#include "bench_reference.skel.h"
#include "bpf/abi.h"
#include "tools/bench/lane.h"
#include "tools/bench/packets.h"
#include "user/base/netns.h"

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
template<typename Skeleton> struct DestroySkeleton {
    void operator()(Skeleton* skeleton) const { Skeleton::destroy(skeleton); }
};
template<typename Skeleton> using Core = std::unique_ptr<Skeleton, DestroySkeleton<Skeleton>>;
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

template<typename T> T must(Result<T> result) {
    if (!result) throw Fail{result.error().what};
    return std::move(*result);
}

// The slowest of the CPUs, which run at once.
double run_lanes(std::vector<Lane>& lanes, int program, std::uint32_t repeat) {
    if (lanes.size() == 1) return must(lanes[0].run(program, repeat));
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
                ns[cpu] = must(lanes[cpu].run(program, repeat));
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
        lanes.push_back(must(Lane::open(
            packet,
            {.count = load.flows, .first = load.own_flows ? cpu * load.flows : 0, .swapped = false})));
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

// An object with the counting core, which counts for `device` as if it were a bond and its slave.
template<typename Skeleton>
Core<Skeleton> load_core(bt_device device, std::uint32_t max_flows, std::uint32_t cpus) {
    Core<Skeleton> core(Skeleton::open());
    constexpr std::uint32_t bond_places = 16;
    if (!core) throw Fail{"cannot open the counting core"};
    core->rodata->bt_bond_places = bond_places;
    core->rodata->bt_slots = BT_MAX_SLAVES;
    if (bpf_map__set_max_entries(core->maps.bt_bonds, bond_places) != 0 ||
        bpf_map__set_max_entries(core->maps.bt_flows, max_flows) != 0 ||
        bpf_map__set_max_entries(core->maps.bt_totals, cpus * BT_MAX_SLAVES) != 0 ||
        bpf_map__set_max_entries(core->maps.bt_caches, cpus) != 0 || Skeleton::load(core.get()) != 0)
        throw Fail{"cannot load the counting core (root? BPF allowed here?)"};
    bt_bond bond{};
    bond.device = device;
    bond.slave_ifindex[0] = device.ifindex;
    const std::uint32_t place = bt_bond_place(bond.device, bond_places);
    if (bpf_map_update_elem(bpf_map__fd(core->maps.bt_bonds), &place, &bond, BPF_ANY) != 0)
        throw Fail{"cannot fill bt_bonds"};
    return core;
}

Reference load_reference(std::uint32_t max_flows) {
    Reference reference(bench_reference_bpf__open());
    if (!reference || bpf_map__set_max_entries(reference->maps.flows, max_flows) != 0 ||
        bench_reference_bpf__load(reference.get()) != 0)
        throw Fail{"cannot load reference.bpf.o"};
    return reference;
}

// A benchmark of something that does not do its work is none: everything run must have been counted.
template<typename Skeleton>
void check_totals(const Skeleton& core, std::uint32_t cpus, std::uint64_t expected) {
    std::uint64_t packets = 0, untracked = 0;
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
        const std::uint32_t index = cpu * BT_MAX_SLAVES;
        bt_slave_totals totals{};
        if (bpf_map_lookup_elem(bpf_map__fd(core.maps.bt_totals), &index, &totals) != 0)
            throw Fail{"cannot read bt_totals"};
        packets += totals.tx.packets + totals.rx.packets;
        untracked += totals.tx_untracked.packets + totals.rx_untracked.packets;
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

    // What BPF_PROG_TEST_RUN gives its packets for a device.
    const bt_device loopback{must(NetNs::current()).inode(), 1};
    nlohmann::json document{
        {"schema", "bondtrace.bench/1"}, {"unit", "ns"}, {"rows", nlohmann::json::array()}};
    if (!options.json) {
        fmt::print(
            "ns per packet of {} bytes: of the empty program, and above it; x: compared with the reference\n",
            options.size);
        fmt::print("{:<14} {:>8} {:>12} {:>6}", "packet", "flows", "CPUs", "empty");
        for (const char* name :
             {"untraced", "reference", "tc", "fentry sent", "kprobe sent", "probed received"})
            fmt::print(" {:>15}", name);
        fmt::print("{}\n", foreign_program >= 0 ? fmt::format(" {:>15}", options.program) : "");
    }
    bool first_packet = true;
    for (const Packet& packet : make_packets(options.size)) {
        for (const Load& load : loads(options, first_packet)) {
            if (load.flows > 1 && packet.port_offset == 0) continue;
            // Tables of its own for each row: what another one left would be met in this one.
            const std::uint32_t max_flows = 2 * load.flows * load.cpus + 64;
            const auto count = load_core<bench_count_bpf>({1, 1}, max_flows, cpus);
            const auto probe = load_core<bench_probe_bpf>(loopback, 2 * max_flows, cpus);
            const Reference reference = load_reference(max_flows);
            std::vector<Subject> subjects{{"untraced", bpf_program__fd(count->progs.untraced)},
                                          {"reference", bpf_program__fd(reference->progs.reference)},
                                          {"tc", bpf_program__fd(count->progs.count_tc)},
                                          {"fentry_sent", bpf_program__fd(count->progs.count_probe)},
                                          {"probed_sent", bpf_program__fd(probe->progs.sent)},
                                          {"probed_received", bpf_program__fd(probe->progs.received)}};
            if (foreign_program >= 0) subjects.push_back({options.program, foreign_program});
            const std::vector<double> ns = time_subjects(packet, load, subjects, options);
            const std::uint64_t packets =
                std::uint64_t{std::max(options.repeat, load.flows)} * (options.rounds + 1);
            check_totals(*count, cpus, packets * load.cpus * 2); // each by two programs
            check_totals(*probe, cpus, packets * load.cpus * 2);

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
            const std::string cpu_text =
                load.cpus == 1 ? "1"
                               : fmt::format("{} {}", load.cpus, load.own_flows ? "own flows" : "one flow");
            fmt::print("{:<14} {:>8} {:>12} {:>6.0f}", packet.name, load.flows, cpu_text, ns[0]);
            for (std::size_t i = 1; i < ns.size(); ++i)
                fmt::print(" {:>15}",
                           fmt::format("{:.0f} ({:.2f} x)", ns[i] - ns[0], (ns[i] - ns[0]) / yardstick));
            fmt::print("\n");
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
