// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/tracer.h"

#include "user/base/fd.h"
#include "user/base/huge_pages.h"
#include "user/trace/batch.h"
#include "user/trace/flow_caches.h"
#include "user/trace/libbpf_log.h"
#include "user/trace/map_memory.h"
#include "user/trace/rung.h"
#include "user/trace/support.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bondtrace {

namespace {

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
    sum.entry_missed += part.entry_missed;
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
    std::array<__u64, sizeof(totals) / sizeof(__u64)> words{};
    static_assert(sizeof(words) == sizeof(totals));
    const auto* from = reinterpret_cast<const __u64*>(&totals); // all its members are of this type
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = std::atomic_ref(const_cast<__u64&>(from[i])).load(std::memory_order_relaxed);
    return std::bit_cast<bt_slave_totals>(words);
}

// Whether a program can be interrupted by another one of its CPU at any time (CONFIG_PREEMPT_RT).
bool is_realtime_kernel() {
    const Fd file(open("/sys/kernel/realtime", O_RDONLY | O_CLOEXEC));
    char answer = '0';
    return file.valid() && ::read(file.get(), &answer, 1) == 1 && answer == '1';
}

} // namespace

struct Tracer::State {
    std::unique_ptr<Rung> rung;
    std::vector<std::string> passed_over;
    const bpf_map *flows = nullptr, *counters = nullptr, *claims = nullptr;
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

namespace {

Result<std::unique_ptr<Rung>> open_rung(Attachment attachment, const RungConfig& config) {
    switch (attachment) {
    case Attachment::fentry:
        return open_fentry(config);
    case Attachment::kprobe:
        return open_kprobe(config);
    case Attachment::tc:
        return open_tc(config);
    }
    return fail(ErrorKind::internal, "an attachment that does not exist was asked for");
}

struct Opened {
    std::unique_ptr<Rung> rung;
    std::vector<std::string> passed_over;
};

// One that was asked for, or the first that works. By what the kernel has, and by loading: never by its
// version.
Result<Opened> climb(const RungConfig& settings, const TraceConfig& config) {
    auto support = probe_support();
    if (!support) return tl::make_unexpected(support.error());
    RungConfig with_support = settings;
    with_support.support = &*support;
    const bool on_links = !config.links.empty();
    if (on_links && config.attach.value_or(Attachment::tc) != Attachment::tc)
        return fail(ErrorKind::usage,
                    fmt::format("links that are no bond's cannot be traced by {}", to_text(*config.attach)),
                    "leave --attach away, or say --attach tc");
    Opened opened;
    std::optional<Error> first;
    for (const Attachment attachment : all_attachments) {
        if (config.attach.value_or(attachment) != attachment) continue;
        if (on_links && attachment != Attachment::tc) continue;
        if (attachment == Attachment::kprobe) read_symbols(*support);
        start_libbpf_log(config.verbose);
        const auto possible = support->allows(attachment, !on_links);
        auto rung = possible ? open_rung(attachment, with_support) : tl::make_unexpected(possible.error());
        if (rung) {
            opened.rung = std::move(*rung);
            return opened;
        }
        opened.passed_over.push_back(fmt::format("{}: {}", to_text(attachment), rung.error().what));
        if (!first) first = rung.error();
    }
    // The advice for the best attachment is the best advice; the others' reasons are named with it.
    if (opened.passed_over.size() > 1) {
        first->what = fmt::format("no attachment works here; {}", fmt::join(opened.passed_over, "; "));
    }
    return tl::make_unexpected(*first);
}

Result<const bpf_map*> find_map(const bpf_object* object, const char* name) {
    const bpf_map* const map = bpf_object__find_map_by_name(object, name);
    if (!map) return fail(ErrorKind::internal, fmt::format("the BPF object has no map {}", name));
    return map;
}

template<typename T>
Result<void> map_memory(const bpf_object* object, const char* name, MapMemory<T>& memory) {
    const auto map = find_map(object, name);
    if (!map) return tl::make_unexpected(map.error());
    auto mapped = MapMemory<T>::map(*map);
    if (!mapped) return tl::make_unexpected(mapped.error());
    memory = std::move(*mapped);
    return {};
}

} // namespace

Result<Tracer> Tracer::attach(const NetNs& netns, const TraceConfig& config) {
    auto state = std::make_unique<State>();
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return fail_errno(-cpus, "asking for the number of possible CPUs");
    state->possible_cpus = static_cast<std::size_t>(cpus);
    // Room to spare, so that hardly a place is taken twice.
    state->bond_places = std::bit_ceil(std::max<std::uint32_t>(config.max_bonds * 8, 16));
    state->slots = config.max_bonds * BT_MAX_SLAVES;

    auto opened = climb({.max_flows = config.max_flows,
                         .bond_places = state->bond_places,
                         .slots = state->slots,
                         .cpus = static_cast<std::uint32_t>(cpus),
                         .caching = !is_realtime_kernel(),
                         .netns = &netns,
                         .support = nullptr},
                        config);
    if (!opened) return tl::make_unexpected(opened.error());
    state->rung = std::move(opened->rung);
    state->passed_over = std::move(opened->passed_over);
    const bpf_object* const object = state->rung->object();
    for (const auto& [name, map] :
         {std::pair{"bt_flows", &state->flows}, std::pair{"bt_counters", &state->counters},
          std::pair{"bt_claims", &state->claims}}) {
        const auto found = find_map(object, name);
        if (!found) return tl::make_unexpected(found.error());
        *map = *found;
    }
    if (const auto mapped = map_memory(object, "bt_bonds", state->bond_memory); !mapped)
        return tl::make_unexpected(mapped.error());
    if (const auto mapped = map_memory(object, "bt_totals", state->totals); !mapped)
        return tl::make_unexpected(mapped.error());
    if (const auto mapped = map_memory(object, "bt_caches", state->caches); !mapped)
        return tl::make_unexpected(mapped.error());
    return Tracer(std::move(state));
}

Result<void> Tracer::add_link(int ifindex, const bt_link& link) {
    return state_->rung->add_link(ifindex, link);
}

Result<void> Tracer::remove_link(int ifindex) {
    return state_->rung->remove_link(ifindex);
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
    const int flows = bpf_map__fd(state.flows);
    bt_flow_key key{};
    while (bpf_map_get_next_key(flows, nullptr, &key) == 0)
        if (bpf_map_delete_elem(flows, &key) != 0) return fail_errno(errno, "clearing map bt_flows");
    // Nobody counts any more.
    std::fill(state.totals.all().begin(), state.totals.all().end(), bt_slave_totals{});
    std::fill(state.caches.all().begin(), state.caches.all().end(), bt_cache{});
    std::uint32_t claimed = 0;
    while (bpf_map_get_next_key(bpf_map__fd(state.claims), nullptr, &claimed) == 0)
        if (bpf_map_delete_elem(bpf_map__fd(state.claims), &claimed) != 0)
            return fail_errno(errno, "clearing map bt_claims");
    const std::vector<bt_stats> no_stats(state.possible_cpus);
    const std::uint32_t zero = 0;
    if (bpf_map_update_elem(bpf_map__fd(state.counters), &zero, no_stats.data(), BPF_ANY) != 0)
        return fail_errno(errno, "clearing map bt_counters");
    state.bonds.clear();
    return {};
}

Result<ProgramStats> Tracer::State::program_stats() const {
    ProgramStats stats;
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, rung->object()) {
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
    const int flows = bpf_map__fd(state.flows);
    FlowCaches caches(state.caches.all());
    const std::uint32_t most = bpf_map__max_entries(state.flows);
    reserve_large(reading.flows, most);
    const auto read = read_hash<bt_flow_key, bt_flow_value>(
        flows, most, [&](const bt_flow_key& key, const bt_flow_value& value) {
            reading.flows.push_back({key, value, 0, 0});
        });
    if (!read) return tl::make_unexpected(read.error());
    caches.add_to(reading.flows, [flows](const bt_flow_key& key) -> std::optional<bt_flow_value> {
        bt_flow_value value{};
        if (bpf_map_lookup_elem(flows, &key, &value) != 0) return std::nullopt;
        return value;
    });
    state.refresh();

    for (FlowEntry& flow : reading.flows) {
        flow.bond = flow.key.slot / BT_MAX_SLAVES;
        if (flow.bond >= state.bonds.size())
            return fail(ErrorKind::internal, "a flow entry names an unknown bond");
        const auto& slaves = state.bonds[flow.bond].slave_ifindex;
        flow.slave_ifindex = static_cast<int>(slaves[flow.key.slot % BT_MAX_SLAVES]);
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
    const auto sum = read_per_cpu(state.counters, 0, stats);
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

Attachment Tracer::attachment() const {
    return state_->rung->attachment();
}

const std::vector<std::string>& Tracer::passed_over() const {
    return state_->passed_over;
}

std::string libbpf_version() {
    return libbpf_version_string() + 1; /* "v1.1" */
}

std::vector<std::string> compiled_attachments() {
    std::vector<std::string> names;
    names.reserve(all_attachments.size());
    for (const Attachment attachment : all_attachments)
        names.emplace_back(to_text(attachment));
    return names;
}

} // namespace bondtrace
