// SPDX-License-Identifier: GPL-2.0-or-later
// Watches bonds for a while: opens a window in which BPF programs and kernel counters count the same, follows
// what happens to the slaves meanwhile, and closes it.
#pragma once

#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/bond/counter_reader.h"
#include "user/bond/link_monitor.h"
#include "user/bond/netlink_reader.h"
#include "user/trace/observed.h"
#include "user/trace/tracer.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace bondtrace {

class Observation {
  public:
    // Finds the bonds (all when `names` is empty), attaches and starts counting.
    static Result<Observation> start(const NetNs& netns, const std::vector<std::string>& names,
                                     TraceConfig config);

    // Readable when links have changed; call follow() then.
    [[nodiscard]] int fd() const { return monitor_.fd(); }
    // Follows slaves that were added, removed or renamed.
    Result<void> follow();

    // Stops counting and hands over what was seen.
    Result<Observed> finish();

    [[nodiscard]] std::vector<std::string> bond_names() const;
    // Of all bonds, past slaves included.
    [[nodiscard]] std::vector<std::string> slave_names() const;

  private:
    // A slave's kernel counters over the time it belonged to the bond, which may be several stretches.
    struct Member {
        Slave slave;
        bool present = true;
        LinkCounters base{};    // at the beginning of this stretch
        LinkCounters counted{}; // of the stretches before
    };
    struct Watched {
        Bond bond;
        std::vector<Member> members;
    };

    Observation(NetNs netns, LinkReader reader, LinkMonitor monitor, CounterReader counters, Tracer tracer)
        : netns_(std::move(netns)), reader_(std::move(reader)), monitor_(std::move(monitor)),
          counters_(std::move(counters)), tracer_(std::move(tracer)) {}

    Result<void> open_window();
    Result<void> begin_counting();
    Result<std::map<int, LinkCounters>> read_counters();
    Result<void> reread();
    void apply(const LinkEvent& event);
    static void join(Watched& watched, const LinkEvent& event);
    static void leave(Member& member, const LinkCounters& now);

    NetNs netns_;
    LinkReader reader_;
    LinkMonitor monitor_;
    CounterReader counters_;
    Tracer tracer_;
    std::vector<Watched> watched_;
    std::uint32_t max_flows_ = 0;
    std::uint64_t skew_ = 0;
    std::chrono::steady_clock::time_point started_;
};

} // namespace bondtrace
