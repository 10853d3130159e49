// SPDX-License-Identifier: GPL-2.0-or-later
// fentry and fexit on the functions of the bonding driver, which need its BTF. Held by links, that is
// descriptors.
#include "fentry.skel.h"
#include "user/trace/skeleton.h"

namespace bondtrace {
namespace {

class FentryRung : public Rung {
  public:
    explicit FentryRung(SkeletonPointer<fentry_bpf> skeleton) : skeleton_(std::move(skeleton)) {}
    [[nodiscard]] Attachment attachment() const override { return Attachment::fentry; }
    [[nodiscard]] bpf_object* object() const override { return skeleton_->obj; }

  private:
    SkeletonPointer<fentry_bpf> skeleton_;
};

} // namespace

Result<std::unique_ptr<Rung>> open_fentry(const RungConfig& config) {
    auto opened = open_skeleton<fentry_bpf>(config);
    if (!opened) return tl::make_unexpected(opened.error());
    fentry_bpf& skeleton = **opened;
    leave_out_missing(skeleton.obj, *config.support, [](const HookSupport& hook) { return hook.in_btf; });
    if (config.support->port_slave_offset)
        skeleton.rodata->bt_port_slave_offset = *config.support->port_slave_offset;
    else
        bpf_program__set_autoload(skeleton.progs.bt_lacpdu, false);
    if (const int error = fentry_bpf::load(&skeleton); error != 0)
        return libbpf_failure(-error, "loading the BPF programs");
    if (const int error = fentry_bpf::attach(&skeleton); error != 0)
        return libbpf_failure(-error, "attaching the BPF programs");
    return std::make_unique<FentryRung>(std::move(*opened));
}

} // namespace bondtrace
