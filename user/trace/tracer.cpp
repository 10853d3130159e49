// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/tracer.h"

#include "bondtrace.skel.h"
#include "user/trace/batch.h"
#include "user/trace/support.h"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
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
    void operator()(::bondtrace* skeleton) const { bondtrace__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<::bondtrace, SkeletonDestroy>;

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

} // namespace

struct Tracer::State {
    Skeleton skeleton;
    std::size_t possible_cpus = 0;
    struct Counted {
        bt_device device{};
        bt_bond bond{}; // as last read
    };
    std::vector<Counted> bonds;
    bool counting = false;

    // Brings the slaves that the programs added into `bonds`.
    Result<void> refresh() {
        for (Counted& counted : bonds)
            if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.bt_bonds), &counted.device, &counted.bond) !=
                0)
                return fail_errno(errno, "reading map bt_bonds");
        return {};
    }

    Result<std::uint64_t> recursion_misses() const;
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

    state->skeleton.reset(bondtrace__open());
    if (!state->skeleton) return bpf_failure(errno, "opening the BPF programs");
    ::bondtrace& skeleton = *state->skeleton;
    for (const HookSupport& hook : support->hooks) {
        if (hook.in_btf) continue;
        bpf_program* program = nullptr;
        bpf_object__for_each_program(program,
                                     skeleton.obj) if (std::string_view(bpf_program__section_name(program))
                                                           .ends_with(hook.hook.function))
            bpf_program__set_autoload(program, false);
    }
    const std::array sizes{
        std::pair{skeleton.maps.bt_bonds, config.max_bonds},
        std::pair{skeleton.maps.bt_flows, config.max_flows},
        std::pair{skeleton.maps.bt_totals, config.max_bonds * BT_MAX_SLAVES},
    };
    for (const auto& [map, size] : sizes)
        if (const int error = bpf_map__set_max_entries(map, size); error != 0)
            return bpf_failure(-error, fmt::format("sizing map {}", bpf_map__name(map)));
    if (const int error = bondtrace__load(&skeleton); error != 0)
        return bpf_failure(-error, "loading the BPF programs");
    if (const int error = bondtrace__attach(&skeleton); error != 0)
        return bpf_failure(-error, "attaching the BPF programs");
    return Tracer(std::move(state));
}

Result<void> Tracer::count_bond(bt_device device, std::span<const int> slave_ifindexes) {
    State& state = *state_;
    bt_bond bond{};
    bond.first_slot = static_cast<std::uint32_t>(state.bonds.size()) * BT_MAX_SLAVES;
    std::size_t used = 0;
    for (const int ifindex : slave_ifindexes) {
        if (used == BT_MAX_SLAVES) break; // the rest is counted as bt_stats::slots_full
        bond.slave_ifindex[used++] = static_cast<std::uint32_t>(ifindex);
    }
    if (bpf_map_update_elem(bpf_map__fd(state.skeleton->maps.bt_bonds), &device, &bond, BPF_NOEXIST) != 0)
        return fail_errno(errno, "adding a bond to map bt_bonds");
    state.bonds.push_back({device, bond});
    state.counting = true;
    return {};
}

Result<void> Tracer::stop() {
    State& state = *state_;
    if (!state.counting) return {};
    const int map = bpf_map__fd(state.skeleton->maps.bt_bonds);
    for (State::Counted& counted : state.bonds) {
        // In one step where the kernel can (5.14): a slave that appears in between is not lost.
        if (bpf_map_lookup_and_delete_elem(map, &counted.device, &counted.bond) == 0) continue;
        if (bpf_map_lookup_elem(map, &counted.device, &counted.bond) != 0 ||
            bpf_map_delete_elem(map, &counted.device) != 0)
            return fail_errno(errno, "taking a bond out of map bt_bonds");
    }
    state.counting = false;
    return wait_for_programs();
}

Result<void> Tracer::reset() {
    State& state = *state_;
    const int flows = bpf_map__fd(state.skeleton->maps.bt_flows);
    bt_flow_key key{};
    while (bpf_map_get_next_key(flows, nullptr, &key) == 0)
        if (bpf_map_delete_elem(flows, &key) != 0) return fail_errno(errno, "clearing map bt_flows");
    const std::vector<bt_slave_totals> no_totals(state.possible_cpus);
    const auto slots = static_cast<std::uint32_t>(state.bonds.size()) * BT_MAX_SLAVES;
    for (std::uint32_t slot = 0; slot < slots; ++slot)
        if (bpf_map_update_elem(bpf_map__fd(state.skeleton->maps.bt_totals), &slot, no_totals.data(),
                                BPF_ANY) != 0)
            return fail_errno(errno, "clearing map bt_totals");
    const std::vector<bt_stats> no_stats(state.possible_cpus);
    const std::uint32_t zero = 0;
    if (bpf_map_update_elem(bpf_map__fd(state.skeleton->maps.bt_counters), &zero, no_stats.data(), BPF_ANY) !=
        0)
        return fail_errno(errno, "clearing map bt_counters");
    state.bonds.clear();
    return {};
}

Result<std::uint64_t> Tracer::State::recursion_misses() const {
    std::uint64_t misses = 0;
    const bpf_program* program = nullptr;
    bpf_object__for_each_program(program, skeleton->obj) {
        const int fd = bpf_program__fd(program);
        if (fd < 0) continue; // not loaded: this driver has no such function
        bpf_prog_info info{};
        std::uint32_t size = sizeof(info);
        if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0)
            return fail_errno(errno, "reading a program's statistics");
        misses += info.recursion_misses;
    }
    return misses;
}

Result<TraceReading> Tracer::read() const {
    State& state = *state_;
    TraceReading reading;

    // Flows first, slaves after: a slot that a flow names is then known.
    auto raw = read_hash<bt_flow_key, bt_flow_value>(bpf_map__fd(state.skeleton->maps.bt_flows),
                                                     bpf_map__max_entries(state.skeleton->maps.bt_flows));
    if (!raw) return tl::make_unexpected(raw.error());
    if (state.counting)
        if (const auto refreshed = state.refresh(); !refreshed) return tl::make_unexpected(refreshed.error());

    reading.flows.reserve(raw->size());
    for (const auto& [key, value] : *raw) {
        const std::size_t bond = key.slot / BT_MAX_SLAVES;
        if (bond >= state.bonds.size())
            return fail(ErrorKind::internal, "a flow entry names an unknown bond");
        const std::uint32_t ifindex = state.bonds[bond].bond.slave_ifindex[key.slot % BT_MAX_SLAVES];
        reading.flows.push_back({key, value, bond, static_cast<int>(ifindex)});
    }

    std::vector<bt_slave_totals> totals(state.possible_cpus);
    for (std::size_t i = 0; i < state.bonds.size(); ++i) {
        for (std::uint32_t place = 0; place < BT_MAX_SLAVES; ++place) {
            const std::uint32_t ifindex = state.bonds[i].bond.slave_ifindex[place];
            if (ifindex == 0) break;
            const auto slot = static_cast<std::uint32_t>(i) * BT_MAX_SLAVES + place;
            const auto sum = read_per_cpu(state.skeleton->maps.bt_totals, slot, totals);
            if (!sum) return tl::make_unexpected(sum.error());
            reading.totals.push_back({i, static_cast<int>(ifindex), *sum});
        }
    }

    std::vector<bt_stats> stats(state.possible_cpus);
    const auto sum = read_per_cpu(state.skeleton->maps.bt_counters, 0, stats);
    if (!sum) return tl::make_unexpected(sum.error());
    reading.stats = *sum;
    const auto misses = state.recursion_misses();
    if (!misses) return tl::make_unexpected(misses.error());
    reading.recursion_misses = *misses;
    return reading;
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
