// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/bench/lane.h"

#include "bench_vary.skel.h"

#include <cerrno>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

namespace bondtrace::bench {

void Lane::Destroy::operator()(bench_vary_bpf* vary) const {
    bench_vary_bpf__destroy(vary);
}

Lane::Lane(const Packet& packet, Vary vary) : packet_(&packet), vary_(std::move(vary)) {}
Lane::Lane(Lane&&) noexcept = default;
Lane& Lane::operator=(Lane&&) noexcept = default;
Lane::~Lane() = default;

Result<Lane> Lane::open(const Packet& packet, const LaneFlows& flows) {
    Vary vary(bench_vary_bpf__open());
    if (!vary) return fail_errno(errno, "opening vary.bpf.o");
    vary->rodata->port_offset = packet.port_offset;
    vary->rodata->flow_mask = flows.count - 1;
    vary->rodata->first_flow = flows.first;
    vary->rodata->swapped = flows.swapped ? 1 : 0;
    if (const int error = bench_vary_bpf__load(vary.get()); error != 0)
        return fail_errno(-error, "loading vary.bpf.o (root? BPF allowed here?)");
    return Lane(packet, std::move(vary));
}

int Lane::null_program() const {
    return bpf_program__fd(vary_->progs.null);
}

Result<double> Lane::run(int program, std::uint32_t repeat, std::uint32_t ifindex) {
    const std::uint32_t zero = 0;
    if (bpf_map_update_elem(bpf_map__fd(vary_->maps.target), &zero, &program, BPF_ANY) != 0)
        return fail_errno(errno, "chaining the program to be run");
    __sk_buff context{};
    context.ifindex = ifindex;
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet_->bytes.data(),
                .data_size_in = static_cast<std::uint32_t>(packet_->bytes.size()),
                .repeat = static_cast<int>(repeat));
    if (ifindex != 0) {
        options.ctx_in = &context;
        options.ctx_size_in = sizeof(context);
    }
    if (bpf_prog_test_run_opts(bpf_program__fd(vary_->progs.vary), &options) != 0)
        return fail_errno(errno, "running a program by BPF_PROG_TEST_RUN");
    if (static_cast<std::int32_t>(options.retval) == vary_->rodata->no_target)
        return fail(ErrorKind::internal, "the tail call to the program to be run did not happen");
    return options.duration;
}

} // namespace bondtrace::bench
