// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/tc_links.h"

#include "user/base/program_names.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bondtrace {
namespace {

// Of the kernel's headers since 6.6, which the build need not have.
constexpr std::uint32_t bpf_tcx_ingress = 46, bpf_tcx_egress = 47;
constexpr std::uint32_t bpf_f_before = 1U << 3U;

// The part of union bpf_attr that BPF_LINK_CREATE takes for TCX.
struct TcxLinkCreate {
    std::uint32_t program = 0;
    std::uint32_t ifindex = 0;
    std::uint32_t attach_type = 0;
    std::uint32_t flags = 0;
    std::uint32_t relative = 0;
    std::uint32_t padding = 0;
    std::uint64_t expected_revision = 0;
};

// At the head of the link's programs; a negative errno on failure.
int create_tcx_link(int program, int ifindex, TcDirection direction) {
    TcxLinkCreate attributes;
    attributes.program = static_cast<std::uint32_t>(program);
    attributes.ifindex = static_cast<std::uint32_t>(ifindex);
    attributes.attach_type = direction == TcDirection::in ? bpf_tcx_ingress : bpf_tcx_egress;
    attributes.flags = bpf_f_before;
    const long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
    return fd < 0 ? -errno : static_cast<int>(fd);
}

// First the lower half of the range, so that 1 is left to those who insist on being first; then, where others
// are before us anyway, whatever is free.
std::vector<std::uint32_t> priorities(TcDirection direction, const std::vector<TcFilter>& present) {
    std::uint32_t lowest = UINT32_MAX;
    std::array<bool, tc_mark::most_priority + 1> foreign{};
    for (const TcFilter& filter : present) {
        if (filter.direction != direction || tc_mark::is_ours(filter)) continue;
        // The place of our own filters is listed, too, as one without handle.
        const bool own_place =
            filter.handle == 0 && std::any_of(present.begin(), present.end(), [&](const TcFilter& other) {
                return other.direction == direction && other.priority == filter.priority &&
                       tc_mark::is_ours(other);
            });
        if (own_place) continue;
        lowest = std::min(lowest, filter.priority);
        if (filter.priority <= tc_mark::most_priority) foreign[filter.priority] = true;
    }
    std::vector<std::uint32_t> result;
    if (lowest > 2) result.push_back(2);
    if (lowest > 1) result.push_back(1);
    for (std::uint32_t priority = 2; priority <= tc_mark::most_priority; ++priority)
        if (!foreign[priority] && std::find(result.begin(), result.end(), priority) == result.end())
            result.push_back(priority);
    return result;
}

// Whether nothing is left at the place of a link's filters.
Result<bool> is_empty(TcNetlink& tc, int ifindex) {
    const auto left = tc.filters(ifindex);
    if (!left) return tl::make_unexpected(left.error());
    return left->empty();
}

Result<void> remove_leftovers_of(TcNetlink& tc, const NetNs& netns, int ifindex) {
    const auto filters = tc.filters(ifindex);
    if (!filters) return tl::make_unexpected(filters.error());
    bool removed = false, made_qdisc = false;
    for (const TcFilter& filter : *filters) {
        if (!tc_mark::is_ours(filter)) continue;
        // Held while its leftovers are removed, lest a run that starts just now takes the number.
        const auto owner = TcOwner::claim(netns, filter.handle & TcOwner::max_id);
        if (!owner) return tl::make_unexpected(owner.error());
        if (!*owner) continue; // it lives
        if (const auto gone = tc.remove_filter(ifindex, filter); !gone) return gone;
        removed = true;
        made_qdisc |= (filter.handle & tc_mark::made_qdisc) != 0;
    }
    if (!removed || !made_qdisc) return {};
    const auto empty = is_empty(tc, ifindex);
    if (!empty) return tl::make_unexpected(empty.error());
    return *empty ? tc.remove_clsact(ifindex) : Result<void>{};
}

} // namespace

bool tc_mark::is_ours(const TcFilter& filter) {
    return filter.kind == "bpf" && (filter.handle & handle_mask) == handle &&
           filter.name.starts_with(tc_program_prefix);
}

Result<void> remove_tc_leftovers(const NetNs& netns) {
    auto tc = TcNetlink::open(netns);
    if (!tc) return tl::make_unexpected(tc.error());
    const auto places = tc->places();
    if (!places) return tl::make_unexpected(places.error());
    std::vector<int> ifindexes;
    for (const TcPlace& place : *places) {
        if (place.kind != "clsact") continue;
        const auto filters = tc->filters(place.ifindex);
        if (!filters) return tl::make_unexpected(filters.error());
        if (std::any_of(filters->begin(), filters->end(), tc_mark::is_ours))
            ifindexes.push_back(place.ifindex);
    }
    if (ifindexes.empty()) return {};
    const auto lock = TcOwner::lock(netns);
    if (!lock) return tl::make_unexpected(lock.error());
    for (const int ifindex : ifindexes)
        if (const auto removed = remove_leftovers_of(*tc, netns, ifindex); !removed) return removed;
    return {};
}

Result<TcLinks> TcLinks::open(const NetNs& netns, int program_in, int program_out) {
    auto tc = TcNetlink::open(netns);
    if (!tc) return tl::make_unexpected(tc.error());
    auto owner = TcOwner::claim(netns);
    if (!owner) return tl::make_unexpected(owner.error());
    return TcLinks(netns, std::move(*tc), std::move(*owner), program_in, program_out);
}

TcLinks::~TcLinks() {
    // Nobody is left to be told; what cannot be removed now is marked, and the next run tries again.
    for (const auto& [ifindex, attached] : attached_)
        static_cast<void>(take_away(ifindex, attached));
}

Result<bool> TcLinks::add_tcx(int ifindex, Attached& attached) {
    if (has_tcx_ == false) return false;
    // The kernel looks the interface up in the namespace of the caller.
    const auto done = run_in(netns_, [&]() -> Result<int> {
        for (const TcDirection direction : {TcDirection::in, TcDirection::out}) {
            const bool in = direction == TcDirection::in;
            const int fd = create_tcx_link(in ? program_in_ : program_out_, ifindex, direction);
            if (fd < 0) return -fd;
            (in ? attached.in : attached.out) = Fd(fd);
        }
        return 0;
    });
    if (!done) return tl::make_unexpected(done.error());
    if (*done == 0) {
        has_tcx_ = true;
        return true;
    }
    attached.in.reset();
    if (is_gone(*done)) return true;
    if (*done == EINVAL && !has_tcx_.value_or(false)) { // before 6.6
        has_tcx_ = false;
        return false;
    }
    return fail_errno(*done, fmt::format("attaching to interface {} by TCX", ifindex));
}

Result<void> TcLinks::add_filter(int ifindex, TcDirection direction, const std::vector<TcFilter>& present,
                                 Attached& attached) {
    const bool in = direction == TcDirection::in;
    TcFilter filter{.direction = direction,
                    .priority = 0,
                    .handle = tc_mark::handle | owner_.id() | (attached.made_qdisc ? tc_mark::made_qdisc : 0),
                    .kind = "bpf",
                    .name = std::string(tc_program_prefix) + (in ? "rx" : "tx")};
    int last = ENOSPC;
    for (const std::uint32_t priority : priorities(direction, present)) {
        filter.priority = priority;
        const auto error = tc_.add_filter(ifindex, filter, in ? program_in_ : program_out_);
        if (!error) return tl::make_unexpected(error.error());
        if (is_gone(*error)) return {};
        if (*error == 0) {
            attached.filters.push_back(std::move(filter));
            return {};
        }
        last = *error;
        if (last == EPERM || last == ENOMEM) break;
    }
    return fail_errno(last,
                      fmt::format("adding a filter to interface {} ({})", ifindex, in ? "ingress" : "egress"),
                      "see what is there: tc filter show dev LINK ingress; tc filter show dev LINK egress");
}

Result<void> TcLinks::add_filters(int ifindex, Attached& attached) {
    const auto lock = TcOwner::lock(netns_);
    if (!lock) return tl::make_unexpected(lock.error());
    const auto made = tc_.add_clsact(ifindex);
    if (!made) return tl::make_unexpected(made.error());
    attached.made_qdisc = *made;
    const auto present = tc_.filters(ifindex);
    if (!present) return tl::make_unexpected(present.error());
    if (!*made) {
        const auto places = tc_.places();
        if (!places) return tl::make_unexpected(places.error());
        for (const TcPlace& place : *places)
            if (place.ifindex == ifindex && place.kind != "clsact")
                return fail(
                    ErrorKind::unavailable,
                    fmt::format(
                        "interface {} has an {} qdisc, which leaves no place for a filter on what is sent",
                        ifindex, place.kind),
                    "replace it by a clsact qdisc: tc qdisc del dev LINK ingress; tc qdisc add dev LINK "
                    "clsact");
        // A qdisc that was made for others of ours is inherited, so that the last of us removes it.
        attached.made_qdisc = std::any_of(present->begin(), present->end(), [](const TcFilter& filter) {
            return tc_mark::is_ours(filter) && (filter.handle & tc_mark::made_qdisc) != 0;
        });
    }
    for (const TcDirection direction : {TcDirection::in, TcDirection::out})
        if (const auto added = add_filter(ifindex, direction, *present, attached); !added) return added;
    return {};
}

Result<void> TcLinks::add(int ifindex) {
    if (attached_.contains(ifindex)) return {};
    Attached attached;
    const auto by_tcx = add_tcx(ifindex, attached);
    if (!by_tcx) return tl::make_unexpected(by_tcx.error());
    if (!*by_tcx)
        if (const auto added = add_filters(ifindex, attached); !added) {
            static_cast<void>(take_away(ifindex, attached)); // the first error is the one to tell
            return added;
        }
    attached_.emplace(ifindex, std::move(attached));
    return {};
}

Result<void> TcLinks::take_away(int ifindex, const Attached& attached) {
    if (attached.filters.empty() && !attached.made_qdisc) return {};
    const auto lock = TcOwner::lock(netns_);
    if (!lock) return tl::make_unexpected(lock.error());
    for (const TcFilter& filter : attached.filters)
        if (const auto removed = tc_.remove_filter(ifindex, filter); !removed) return removed;
    if (!attached.made_qdisc) return {};
    const auto empty = is_empty(tc_, ifindex);
    if (!empty) return tl::make_unexpected(empty.error());
    return *empty ? tc_.remove_clsact(ifindex) : Result<void>{};
}

Result<void> TcLinks::remove(int ifindex) {
    const auto found = attached_.find(ifindex);
    if (found == attached_.end()) return {};
    const Attached attached = std::move(found->second);
    attached_.erase(found);
    return take_away(ifindex, attached);
}

} // namespace bondtrace
