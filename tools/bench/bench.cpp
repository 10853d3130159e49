// SPDX-License-Identifier: GPL-2.0-or-later
// Times the counting core, or somebody else's tc program, in ns per packet by BPF_PROG_TEST_RUN: an empty
// program, an untraced bond's packet and the core in turn, over packets x flows, in one run. The machine's
// speed drifts: only numbers of the same run compare, and of several rounds the smallest counts.
#include "bench_count.skel.h"
#include "bench_reference.skel.h"
#include "bench_vary.skel.h"
#include "bpf/abi.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

namespace {

struct Packet {
    std::string name;
    std::vector<std::uint8_t> bytes;
    std::uint32_t port_offset; // of the source port
};

// Frames of `size` bytes; checksums are not looked at by any program under test.
std::vector<Packet> make_packets(std::size_t size) {
    const std::vector<std::uint8_t> macs{0x02, 0, 0, 0, 0x0b, 0x02, 0x02, 0, 0, 0, 0x0a, 0x01};
    const std::vector<std::uint8_t> ipv4_tcp{0x45, 0, 0,  0, 0,    0x01, 0,    0,    64, 6,    0, 0, 10, 0,
                                             0,    1, 10, 0, 0,    2,    0x9c, 0x40, 1,  0xbb, 0, 0, 0,  1,
                                             0,    0, 0,  1, 0x50, 0x10, 3,    0xe8, 0,  0,    0, 0};
    std::vector<std::uint8_t> ipv6_udp(48);
    ipv6_udp[0] = 0x60;
    ipv6_udp[6] = 17;
    ipv6_udp[7] = 64;
    for (const std::size_t address : {8U, 24U}) {
        ipv6_udp[address] = 0x20;
        ipv6_udp[address + 1] = 0x01;
        ipv6_udp[address + 15] = static_cast<std::uint8_t>(address / 8);
    }
    const auto frame = [&](std::vector<std::uint8_t> ethertype, const std::vector<std::uint8_t>& payload) {
        std::vector<std::uint8_t> bytes = macs;
        bytes.insert(bytes.end(), ethertype.begin(), ethertype.end());
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        bytes.resize(std::max(size, bytes.size()));
        return bytes;
    };
    return {{"IPv4 TCP", frame({0x08, 0x00}, ipv4_tcp), 14 + 20},
            {"IPv6 UDP", frame({0x86, 0xdd}, ipv6_udp), 14 + 40},
            {"VLAN IPv4 TCP", frame({0x81, 0x00, 0, 100, 0x08, 0x00}, ipv4_tcp), 18 + 20}};
}

struct Fail {
    std::string what;
};

struct VaryDestroy {
    void operator()(bench_vary_bpf* skeleton) const { bench_vary_bpf__destroy(skeleton); }
};
struct CountDestroy {
    void operator()(bench_count_bpf* skeleton) const { bench_count_bpf__destroy(skeleton); }
};
struct ReferenceDestroy {
    void operator()(bench_reference_bpf* skeleton) const { bench_reference_bpf__destroy(skeleton); }
};
struct ObjectClose {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
};

// ns per packet of `program` behind the port-varying program: the smallest of `rounds`, after one to warm up
// (and to fill the flow table).
double time_program(int program, const Packet& packet, std::uint32_t flows, std::uint32_t repeat,
                    unsigned rounds) {
    const std::unique_ptr<bench_vary_bpf, VaryDestroy> vary(bench_vary_bpf__open());
    if (!vary) throw Fail{"cannot open vary.bpf.o"};
    vary->rodata->port_offset = packet.port_offset;
    vary->rodata->port_mask = flows - 1;
    if (bench_vary_bpf__load(vary.get()) != 0) throw Fail{"cannot load vary.bpf.o"};
    const std::uint32_t zero = 0;
    if (program < 0) program = bpf_program__fd(vary->progs.null);
    if (bpf_map_update_elem(bpf_map__fd(vary->maps.target), &zero, &program, BPF_ANY) != 0)
        throw Fail{fmt::format("cannot chain the program: {}", std::strerror(errno))};

    const int timed = flows == 1 ? program : bpf_program__fd(vary->progs.vary);
    double best = 0;
    for (unsigned round = 0; round <= rounds; ++round) {
        LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet.bytes.data(),
                    .data_size_in = static_cast<std::uint32_t>(packet.bytes.size()),
                    .repeat = static_cast<int>(repeat));
        if (bpf_prog_test_run_opts(timed, &options) != 0)
            throw Fail{fmt::format("BPF_PROG_TEST_RUN: {}", std::strerror(errno))};
        if (static_cast<std::int32_t>(options.retval) == -1) throw Fail{"the tail call did not happen"};
        if (round == 1 || (round > 1 && options.duration < best)) best = options.duration;
    }
    return best;
}

// A tc program out of an object file of the user's.
int load_foreign(const std::string& file, const std::string& name,
                 std::unique_ptr<bpf_object, ObjectClose>& object) {
    object.reset(bpf_object__open_file(file.c_str(), nullptr));
    if (!object) throw Fail{fmt::format("cannot open {}: {}", file, std::strerror(errno))};
    bpf_program* wanted = bpf_object__find_program_by_name(object.get(), name.c_str());
    if (!wanted) throw Fail{fmt::format("{} has no program {}", file, name)};
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object.get()) bpf_program__set_autoload(program, program == wanted);
    bpf_program__set_type(wanted, BPF_PROG_TYPE_SCHED_CLS);
    if (const int error = bpf_object__load(object.get()); error != 0)
        throw Fail{fmt::format("cannot load {}: {}", file, std::strerror(-error))};
    return bpf_program__fd(wanted);
}

void run(const std::string& object_file, const std::string& program_name, std::uint32_t repeat,
         unsigned rounds, std::size_t size) {
    const std::unique_ptr<bench_count_bpf, CountDestroy> count(bench_count_bpf__open());
    constexpr std::uint32_t max_flows =
        4 * 65536; // as many entries as the largest run makes, for every kind of packet
    constexpr std::uint32_t bond_places = 16;
    if (!count) throw Fail{"cannot open count.bpf.o"};
    count->rodata->bt_bond_places = bond_places;
    count->rodata->bt_slots = BT_MAX_SLAVES;
    const auto cpus = static_cast<std::uint32_t>(libbpf_num_possible_cpus());
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
    const std::unique_ptr<bench_reference_bpf, ReferenceDestroy> reference(
        bench_reference_bpf__open_and_load());
    if (!reference) throw Fail{"cannot load reference.bpf.o"};
    std::unique_ptr<bpf_object, ObjectClose> foreign;
    const int foreign_program = object_file.empty() ? -1 : load_foreign(object_file, program_name, foreign);

    fmt::print("ns per packet of {} bytes, the empty program included; x: compared with the reference\n",
               size);
    fmt::print("{:<14} {:>6} {:>6} {:>9} {:>9} {:>16}{}\n", "packet", "flows", "empty", "untraced",
               "reference", "bondtrace", foreign ? fmt::format(" {:>20}", program_name) : "");
    for (const Packet& packet : make_packets(size)) {
        for (const std::uint32_t flows : {1U, 64U, 1024U, 65536U}) {
            const auto time = [&](int program) {
                return time_program(program, packet, flows, repeat, rounds);
            };
            const double null = time(-1);
            const double untraced = time(bpf_program__fd(count->progs.untraced));
            const double yardstick = time(bpf_program__fd(reference->progs.reference));
            const auto compared = [&](int program) {
                const double ns = time(program);
                return fmt::format("{:.0f} ({:.2f} x)", ns, ns / yardstick);
            };
            fmt::print("{:<14} {:>6} {:>6.0f} {:>9.0f} {:>9.0f} {:>16}{}\n", packet.name, flows, null,
                       untraced, yardstick, compared(bpf_program__fd(count->progs.count)),
                       foreign ? fmt::format(" {:>20}", compared(foreign_program)) : "");
            std::fflush(stdout);
        }
    }

    // A benchmark of something that does not do its work is none: everything run must have been counted.
    std::uint64_t packets = 0, untracked = 0;
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
        const std::uint32_t index = cpu * BT_MAX_SLAVES;
        bt_slave_totals totals{};
        if (bpf_map_lookup_elem(bpf_map__fd(count->maps.bt_totals), &index, &totals) != 0)
            throw Fail{"cannot read bt_totals"};
        packets += totals.tx.packets;
        untracked += totals.tx_untracked.packets;
    }
    const std::uint64_t expected = std::uint64_t{repeat} * (rounds + 1) * 12;
    if (packets != expected || untracked != 0)
        throw Fail{fmt::format("{} of {} packets counted, {} untracked", packets, expected, untracked)};
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"Times bondtrace's counting core per packet (needs root; no bond needed).\n"
                 "Example: bench --object other.bpf.o --program tc_count"};
    std::string object_file, program_name;
    std::uint32_t repeat = 1000000;
    unsigned rounds = 5;
    std::size_t size = 64;
    auto* object = app.add_option("--object", object_file, "also time a tc program from this object file");
    app.add_option("--program", program_name, "its name")->needs(object);
    app.add_option("--repeat", repeat, "packets a round")
        ->check(CLI::Range(1U, 100000000U))
        ->capture_default_str();
    app.add_option("--rounds", rounds, "rounds; the fastest counts")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    app.add_option("--size", size, "bytes a packet")->check(CLI::Range(60U, 1500U))->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        if (!object_file.empty() && program_name.empty()) throw Fail{"--object needs --program"};
        run(object_file, program_name, repeat, rounds, size);
    } catch (const Fail& failure) {
        fmt::print(stderr, "bench: {}\n", failure.what);
        return 1;
    }
    return 0;
}
