// SPDX-License-Identifier: GPL-2.0-or-later
// kprobes and kretprobes on the same functions. Held by perf events, that is descriptors: libbpf makes them
// without tracefs where the kernel has the kprobe PMU, which Support::kprobe() asks for, so that nothing
// outlives the process.
#include "kprobe.skel.h"
#include "user/trace/skeleton.h"

namespace bondtrace {
namespace {

class KprobeRung : public Rung {
  public:
    explicit KprobeRung(SkeletonPointer<kprobe_bpf> skeleton) : skeleton_(std::move(skeleton)) {}
    [[nodiscard]] Attachment attachment() const override { return Attachment::kprobe; }
    [[nodiscard]] bpf_object* object() const override { return skeleton_->obj; }

  private:
    SkeletonPointer<kprobe_bpf> skeleton_;
};

} // namespace

Result<std::unique_ptr<Rung>> open_kprobe(const RungConfig& config) {
    auto opened = open_skeleton<kprobe_bpf>(config);
    if (!opened) return tl::make_unexpected(opened.error());
    kprobe_bpf& skeleton = **opened;
    leave_out_missing(skeleton.obj, *config.support, [](const HookSupport& hook) { return hook.in_symbols; });
    if (const int error = kprobe_bpf::load(&skeleton); error != 0)
        return libbpf_failure(-error, "loading the BPF programs");
    if (const int error = kprobe_bpf::attach(&skeleton); error != 0)
        return libbpf_failure(-error, "attaching the BPF programs");
    return std::make_unique<KprobeRung>(std::move(*opened));
}

} // namespace bondtrace
