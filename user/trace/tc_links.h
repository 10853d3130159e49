// SPDX-License-Identifier: GPL-2.0-or-later
// Programs on single links, in and out: by TCX links where the kernel has them, which vanish with the
// process, otherwise by filters of a clsact qdisc, which stand beside those of others and are marked, so that
// a later run can clear away what a killed one has left.
#pragma once

#include "user/base/fd.h"
#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/trace/tc_netlink.h"
#include "user/trace/tc_owner.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace bondtrace {

// The mark of a filter of ours: handles 0xb07dxxxx, names bt_tc_*. In the lower half: who owns it, and
// whether the qdisc was made for it.
namespace tc_mark {
inline constexpr std::uint32_t handle = 0xb07d0000, handle_mask = 0xffff0000, made_qdisc = 0x8000;
inline constexpr std::uint32_t most_priority = 15; // the range in which ours are
bool is_ours(const TcFilter& filter);
} // namespace tc_mark

// Removes what killed runs have left on the links of `netns`, and the qdiscs that were made for nothing else.
// Looks first; where there is nothing to remove no privilege is needed.
Result<void> remove_tc_leftovers(const NetNs& netns);

class TcLinks {
  public:
    // The programs' descriptors are the caller's and must stay open.
    static Result<TcLinks> open(const NetNs& netns, int program_in, int program_out);
    TcLinks(TcLinks&&) noexcept = default;
    TcLinks& operator=(TcLinks&&) = delete;
    ~TcLinks();

    // A link that has vanished is no error.
    Result<void> add(int ifindex);
    Result<void> remove(int ifindex);

  private:
    struct Attached {
        Fd in, out; // TCX
        std::vector<TcFilter> filters;
        bool made_qdisc = false;
    };

    TcLinks(NetNs netns, TcNetlink tc, TcOwner owner, int program_in, int program_out)
        : netns_(std::move(netns)), tc_(std::move(tc)), owner_(std::move(owner)), program_in_(program_in),
          program_out_(program_out) {}
    // True when done; false when this kernel has no TCX.
    Result<bool> add_tcx(int ifindex, Attached& attached);
    Result<void> add_filters(int ifindex, Attached& attached);
    Result<void> add_filter(int ifindex, TcDirection direction, const std::vector<TcFilter>& present,
                            Attached& attached);
    Result<void> take_away(int ifindex, const Attached& attached);

    NetNs netns_;
    TcNetlink tc_;
    TcOwner owner_;
    int program_in_, program_out_;
    std::optional<bool> has_tcx_;
    std::map<int, Attached> attached_;
};

} // namespace bondtrace
