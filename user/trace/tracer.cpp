// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/tracer.h"

#include "bondtrace.skel.h"
#include "user/base/fd.h"
#include "user/trace/batch.h"
#include "user/trace/flow_caches.h"
#include "user/trace/map_memory.h"
#include "user/trace/support.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bondtrace {

namespace {

// libbpf has one print function a process; loading happens on one thread.
bool print_libbpf = false;
std::string last_libbpf_warning;

int libbpf_print(libbpf_print_level level, const char* format, va_list arguments) {
    std::array<char, 4096> line{};
    const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
    if (print_libbpf) std::fputs(line.data(), stderr);
    if (level == LIBBPF_WARN && last_libbpf_warning.empty()) last_libbpf_warning = line.data();
    return length;
}

struct SkeletonDestroy {
    void operator()(bondtrace_bpf* skeleton) const { bondtrace_bpf__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<bondtrace_bpf, SkeletonDestroy>;

tl::unexpected<Error> bpf_failure(int error, std::string_view what) {
    while (!last_libbpf_warning.empty() && last_libbpf_warning.back() == '\n')
        last_libbpf_warning.pop_back();
    std::string advice =
        "run again with -v for the verifier's log, and `bondtrace check` for what this kernel allows";
    if (!last_libbpf_warning.empty()) advice = last_libbpf_warning + "\n" + advice;
    return fail_errno(error, what, advice);
}

// Waits for a grace period, so that no program is still counting for a bond that was taken out of the map.
Result<void> wait_for_programs() {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0U, 0) != 0)
        return fail_errno(errno, "waiting for the tracing programs to finish (membarrier)");
    return {};
}

void add(bt_count& sum, const bt_count& part) {
    sum.packets += part.packets;
    sum.bytes += part.bytes;
    sum.added_packets += part.added_packets;
    sum.added_bytes += part.added_bytes;
}

void add(bt_slave_totals& sum, const bt_slave_totals& part) {
    add(sum.tx, part.tx);
    add(sum.rx, part.rx);
    add(sum.tx_untracked, part.tx_untracked);
    add(sum.rx_untracked, part.rx_untracked);
    add(sum.rx_inactive, part.rx_inactive);
    add(sum.tx_control, part.tx_control);
    add(sum.rx_control, part.rx_control);
    sum.tx_unparsed += part.tx_unparsed;
    sum.rx_unparsed += part.rx_unparsed;
}

void add(bt_stats& sum, const bt_stats& part) {
    sum.slots_full += part.slots_full;
    sum.consumed_unknown += part.consumed_unknown;
}

// Sum over CPUs of element `index` of a per-CPU array.
template<typename T> Result<T> read_per_cpu(const bpf_map* map, std::uint32_t index, std::vector<T>& buffer) {
    if (bpf_map_lookup_elem(bpf_map__fd(map), &index, buffer.data()) != 0)
        return fail_errno(errno, fmt::format("reading map {}", bpf_map__name(map)));
    T sum{};
    for (const T& part : buffer)
        add(sum, part);
    return sum;
}

// One CPU's counters of a slot while that CPU counts: each is right by itself.
bt_slave_totals load(const bt_slave_totals& totals) {
    bt_slave_totals now;
    auto* to = reinterpret_cast<std::uint64_t*>(&now);
    const auto* from = reinterpret_cast<const std::uint64_t*>(&totals);
    static_assert(sizeof(now) % sizeof(*to) == 0);
    for (std::size_t i = 0; i < sizeof(now) / sizeof(*to); ++i)
        to[i] = std::atomic_ref(const_cast<std::uint64_t&>(from[i])).load(std::memory_order_relaxed);
    return now;
}

// Whether a program can be interrupted by another one of its CPU at any time (CONFIG_PREEMPT_RT).
bool is_realtime_kernel() {
    const Fd file(open("/sys/kernel/realtime", O_RDONLY | O_CLOEXEC));
    char answer = '0';
    return file.valid() && ::read(file.get(), &answer, 1) == 1 && answer == '1';
}

} // namespace

struct Tracer::State {
    Skeleton skeleton;
    std::size_t possible_cpus = 0;
    std::uint32_t bond_places = 0;
    MapMemory<bt_bond> bond_memory;
    MapMemory<bt_slave_totals> totals; // of each CPU, one after the other
    MapMemory<bt_cache> caches;        // one a CPU
    std::uint32_t slots = 0;           // of a CPU
    struct Counted {
        std::uint32_t place = 0;                                  // in map bt_bonds
        std::array<std::uint32_t, BT_MAX_SLAVES> slave_ifindex{}; // as last read
    };
    std::vector<Counted> bonds;
    bool counting = false;
    bool settled = true; // no program is still counting for a bond that was taken out

    Result<void> settle() {
        if (settled) return {};
        settled = true;
        return wait_for_programs();
    }

    // Brings the slaves that the programs added into `bonds`.
    void refresh() {
        for (Counted& counted : bonds)
            for (std::size_t i = 0; i < BT_MAX_SLAVES; ++i)
                counted.slave_ifindex[i] = std::atomic_ref(place(counted).slave_ifindex[i]).load();
    }

    bt_bond& place(const Counted& counted) { return bond_memory[counted.place]; }

    Fd run_time_stats; // the kernel measures while it is open

    Result<ProgramStats> program_stats() const;
};

Tracer::Tracer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracer::Tracer(Tracer&&) noexcept = default;
Tracer& Tracer::operator=(Tracer&&) noexcept = default;
Tracer::~Tracer() = default;

Result<Tracer> Tracer::attach(const TraceConfig& config) {
    print_libbpf = config.verbose;
    last_libbpf_warning.clear();
    libbpf_set_print(libbpf_print);

    const auto support = probe_support(false);
    if (!support) return tl::make_unexpected(support.error());
    if (const auto possible = support->fentry(); !possible) return tl::make_unexpected(possible.error());

    auto state = std::make_unique<State>();
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return fail_errno(-cpus, "asking for the number of possible CPUs");
    state->possible_cpus = static_cast<std::size_t>(cpus);

    state->skeleton.reset(bondtrace_bpf__open());
    if (!state->skeleton) return bpf_failure(errno, "opening the BPF programs");
    bondtrace_bpf& skeleton = *state->skeleton;
    for (const HookSupport& hook : support->hooks) {
        if (hook.in_btf) continue;
        bpf_program* program = nullptr;
        bpf_object__for_each_program(program,
                                     skeleton.obj) if (std::string_view(bpf_program__section_name(program))
                                                           .ends_with(hook.hook.function))
            bpf_program__set_autoload(program, false);
    }
    if (support->port_slave_offset)
        skeleton.rodata->bt_port_slave_offset = *support->port_slave_offset;
    else
        bpf_program__set_autoload(skeleton.progs.bt_lacpdu, false);
    // Room to spare, so that hardly a place is taken twice.
    state->bond_places = std::bit_ceil(std::max<std::uint32_t>(config.max_bonds * 8, 16));
    skeleton.rodata->bt_bond_places = state->bond_places;
    timespec tick{};
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0)
        return fail_errno(errno, "asking for the clock's resolution");
    skeleton.rodata->bt_tick_ns =
        static_cast<std::uint64_t>(tick.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(tick.tv_nsec);
    state->slots = config.max_bonds * BT_MAX_SLAVES;
    skeleton.rodata->bt_slots = state->slots;
    skeleton.rodata->bt_caching = is_realtime_kernel() ? 0 : 1;
    const auto cpu_count = static_cast<std::uint32_t>(cpus);
    const std::array sizes{
        std::pair{skeleton.maps.bt_bonds, state->bond_places},
        std::pair{skeleton.maps.bt_flows, config.max_flows},
        std::pair{skeleton.maps.bt_totals, cpu_count * state->slots},
        std::pair{skeleton.maps.bt_caches, cpu_count},
    };
    for (const auto& [map, size] : sizes)
        if (const int error = bpf_map__set_max_entries(map, size); error != 0)
            return bpf_failure(-error, fmt::format("sizing map {}", bpf_map__name(map)));
    if (const int error = bondtrace_bpf__load(&skeleton); error != 0)
        return bpf_failure(-error, "loading the BPF programs");
    auto bonds = MapMemory<bt_bond>::map(skeleton.maps.bt_bonds);
    if (!bonds) return tl::make_unexpected(bonds.error());
    auto totals = MapMemory<bt_slave_totals>::map(skeleton.maps.bt_totals);
    if (!totals) return tl::make_unexpected(totals.error());
    auto caches = MapMemory<bt_cache>::map(skeleton.maps.bt_caches);
    if (!caches) return tl::make_unexpected(caches.error());
    state->bond_memory = std::move(*bonds);
    state->totals = std::move(*totals);
    state->caches = std::move(*caches);
    if (const int error = bondtrace_bpf__attach(&skeleton); error != 0)
        return bpf_failure(-error, "attaching the BPF programs");
    return Tracer(std::move(state));
}

Result<void> Tracer::count_bond(bt_device device, std::span<const int> slave_ifindexes) {
    State& state = *state_;
    const std::uint32_t first = bt_bond_place(device, state.bond_places);
    for (std::uint32_t probe = 0; probe < BT_BOND_PROBES; ++probe) {
        const std::uint32_t place = (first + probe) & (state.bond_places - 1);
        bt_bond& bond = state.bond_memory[place];
        if (bond.device.ifindex != 0) continue;
        bond = {};
        bond.first_slot = static_cast<std::uint32_t>(state.bonds.size()) * BT_MAX_SLAVES;
        std::size_t used = 0;
        for (const int ifindex : slave_ifindexes)
            if (used < BT_MAX_SLAVES) bond.slave_ifindex[used++] = static_cast<std::uint32_t>(ifindex);
        bond.device.netns = device.netns;
        // From here on the programs count.
        std::atomic_ref(bond.device.ifindex).store(device.ifindex, std::memory_order_release);
        state.bonds.push_back({place, {}});
        state.counting = true;
        return {};
    }
    return fail(ErrorKind::unavailable, "there is no room for one more bond in map bt_bonds",
                "name fewer bonds");
}

Result<void> Tracer::stop() {
    State& state = *state_;
    if (!state.counting) return {};
    for (const State::Counted& counted : state.bonds)
        std::atomic_ref(state.place(counted).device.ifindex).store(0, std::memory_order_release);
    state.counting = false;
    state.settled = false;
    return {};
}

Result<void> Tracer::reset() {
    State& state = *state_;
    if (const auto settled = state.settle(); !settled) return settled;
    const int flows = bpf_map__fd(state.skeleton->maps.bt_flows);
    bt_flow_key key{};
    while (bpf_map_get_next_key(flows, nullptr, &key) == 0)
        if (bpf_map_delete_elem(flows, &key) != 0) return fail_errno(errno, "clearing map bt_flows");
    // Nobody counts any more.
    std::fill(state.totals.all().begin(), state.totals.all().end(), bt_slave_totals{});
    std::fill(state.caches.all().begin(), state.caches.all().end(), bt_cache{});
    const std::vector<bt_stats> no_stats(state.possible_cpus);
    const std::uint32_t zero = 0;
    if (bpf_map_update_elem(bpf_map__fd(state.skeleton->maps.bt_counters), &zero, no_stats.data(), BPF_ANY) !=
        0)
        return fail_errno(errno, "clearing map bt_counters");
    state.bonds.clear();
    return {};
}

Result<ProgramStats> Tracer::State::program_stats() const {
    ProgramStats stats;
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, skeleton->obj) {
        const int fd = bpf_program__fd(program);
        if (fd < 0) continue; // not loaded: this driver has no such function
        bpf_prog_info info{};
        std::uint32_t size = sizeof(info);
        if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0)
            return fail_errno(errno, "reading a program's statistics");
        stats.recursion_misses += info.recursion_misses;
        stats.runs += info.run_cnt;
        stats.run_ns += info.run_time_ns;
    }
    return stats;
}

Result<TraceReading> Tracer::read() const {
    State& state = *state_;
    if (const auto settled = state.settle(); !settled) return tl::make_unexpected(settled.error());
    TraceReading reading;

    // Flows first, slaves after: a slot that a flow names is then known.
    const int flows = bpf_map__fd(state.skeleton->maps.bt_flows);
    FlowCaches caches(state.caches.all());
    auto raw =
        read_hash<bt_flow_key, bt_flow_value>(flows, bpf_map__max_entries(state.skeleton->maps.bt_flows));
    if (!raw) return tl::make_unexpected(raw.error());
    caches.add_to(*raw, [flows](const bt_flow_key& key) -> std::optional<bt_flow_value> {
        bt_flow_value value{};
        if (bpf_map_lookup_elem(flows, &key, &value) != 0) return std::nullopt;
        return value;
    });
    state.refresh();

    reading.flows.reserve(raw->size());
    for (const auto& [key, value] : *raw) {
        const std::size_t bond = key.slot / BT_MAX_SLAVES;
        if (bond >= state.bonds.size())
            return fail(ErrorKind::internal, "a flow entry names an unknown bond");
        const std::uint32_t ifindex = state.bonds[bond].slave_ifindex[key.slot % BT_MAX_SLAVES];
        reading.flows.push_back({key, value, bond, static_cast<int>(ifindex)});
    }

    for (std::size_t i = 0; i < state.bonds.size(); ++i) {
        for (std::uint32_t place = 0; place < BT_MAX_SLAVES; ++place) {
            const std::uint32_t ifindex = state.bonds[i].slave_ifindex[place];
            if (ifindex == 0) break;
            const auto slot = static_cast<std::uint32_t>(i) * BT_MAX_SLAVES + place;
            bt_slave_totals sum{};
            for (std::size_t cpu = 0; cpu < state.possible_cpus; ++cpu)
                add(sum, load(state.totals[cpu * state.slots + slot]));
            reading.totals.push_back({i, static_cast<int>(ifindex), sum});
        }
    }

    std::vector<bt_stats> stats(state.possible_cpus);
    const auto sum = read_per_cpu(state.skeleton->maps.bt_counters, 0, stats);
    if (!sum) return tl::make_unexpected(sum.error());
    reading.stats = *sum;
    const auto programs = state.program_stats();
    if (!programs) return tl::make_unexpected(programs.error());
    reading.programs = *programs;
    return reading;
}

Result<void> Tracer::measure_cost() {
    Fd fd(bpf_enable_stats(BPF_STATS_RUN_TIME));
    if (!fd.valid()) return fail_errno(errno, "switching on the kernel's statistics of BPF programs");
    state_->run_time_stats = std::move(fd);
    return {};
}

std::string Tracer::attachment() const {
    return "fentry";
}

std::string libbpf_version() {
    return libbpf_version_string() + 1; /* "v1.1" */
}

std::vector<std::string> compiled_attachments() {
    return {"fentry"};
}

} // namespace bondtrace
