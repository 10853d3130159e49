// SPDX-License-Identifier: GPL-2.0-or-later
// tc programs on every link that is traced.
#include "tc.skel.h"
#include "user/trace/skeleton.h"
#include "user/trace/tc_links.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

namespace bondtrace {
namespace {

class TcRung : public Rung {
  public:
    TcRung(SkeletonPointer<tc_bpf> skeleton, TcLinks links)
        : skeleton_(std::move(skeleton)), links_(std::move(links)) {}
    [[nodiscard]] Attachment attachment() const override { return Attachment::tc; }
    [[nodiscard]] bpf_object* object() const override { return skeleton_->obj; }

    Result<void> add_link(int ifindex, const bt_link& link) override {
        const auto key = static_cast<std::uint32_t>(ifindex);
        if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.bt_links), &key, &link, BPF_ANY) != 0)
            return fail_errno(errno, fmt::format("adding interface {} to map bt_links", ifindex));
        return links_.add(ifindex);
    }

    Result<void> remove_link(int ifindex) override {
        const auto key = static_cast<std::uint32_t>(ifindex);
        if (bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.bt_links), &key) != 0 && errno != ENOENT)
            return fail_errno(errno, fmt::format("removing interface {} from map bt_links", ifindex));
        return links_.remove(ifindex);
    }

  private:
    SkeletonPointer<tc_bpf> skeleton_;
    TcLinks links_; // goes first
};

} // namespace

Result<std::unique_ptr<Rung>> open_tc(const RungConfig& config) {
    auto opened = open_skeleton<tc_bpf>(config);
    if (!opened) return tl::make_unexpected(opened.error());
    tc_bpf& skeleton = **opened;
    if (const int error = bpf_map__set_max_entries(skeleton.maps.bt_links, config.slots); error != 0)
        return libbpf_failure(-error, "sizing map bt_links");
    if (const int error = tc_bpf::load(&skeleton); error != 0)
        return libbpf_failure(-error, "loading the BPF programs");
    auto links = TcLinks::open(*config.netns, bpf_program__fd(skeleton.progs.bt_tc_rx),
                               bpf_program__fd(skeleton.progs.bt_tc_tx));
    if (!links) return tl::make_unexpected(links.error());
    return std::make_unique<TcRung>(std::move(*opened), std::move(*links));
}

} // namespace bondtrace
