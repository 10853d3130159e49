// SPDX-License-Identifier: GPL-2.0-or-later
// Watches bonds for a while: opens a window in which BPF programs and kernel counters count the same, follows
// what happens to the slaves meanwhile, and closes it.
#pragma once

#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/bond/counter_reader.h"
#include "user/bond/link_monitor.h"
#include "user/bond/netlink_reader.h"
#include "user/trace/choice_notes.h"
#include "user/trace/observed.h"
#include "user/trace/tracer.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

class Observation {
  public:
    // Bonds that may be made while others are watched.
    static constexpr std::uint32_t spare = 4;

    // Finds the bonds (all when `names` is empty), or the links of config.links, attaches and starts
    // counting. Removes what killed runs have left in the namespace. Bonds that are made later (any, or one
    // of a name that was asked for) are counted from when follow() hears of them, `spare` of them at most.
    static Result<Observation> start(const NetNs& netns, const std::vector<std::string>& names,
                                     TraceConfig config);

    // Readable when links have changed; call follow() then.
    [[nodiscard]] int fd() const { return monitor_.fd(); }
    // Follows bonds and slaves that were added, removed or renamed.
    Result<void> follow();

    // What was seen so far; counting goes on. Counters and hooks are read one after the other while frames
    // pass: by how many is in reading_skew.
    Result<Observed> snapshot();
    // Stops counting and hands over what was seen.
    Result<Observed> finish();

    // How it is attached, and why not better.
    [[nodiscard]] Attachment attachment() const { return tracer_.attachment(); }
    [[nodiscard]] const std::vector<std::string>& passed_over() const { return tracer_.passed_over(); }

    // See Tracer::measure_cost().
    Result<void> measure_cost() { return tracer_.measure_cost(); }

    [[nodiscard]] std::vector<std::string> bond_names() const;
    // Of all bonds, past slaves included.
    [[nodiscard]] std::vector<std::string> slave_names() const;

  private:
    // A slave's kernel counters over the time it belonged to the bond, which may be several stretches.
    struct Member {
        Slave slave;
        bool present = true;
        LinkCounters base{};    // at the beginning of this stretch, or the end of the last one
        LinkCounters counted{}; // of the stretches before
    };
    struct Watched {
        Bond bond; // its identity; its state as it was read last
        bool gone = false;
        std::vector<Member> members;
        ChoiceNotes notes; // where the programs cannot note it
    };

    Observation(NetNs netns, LinkReader reader, LinkMonitor monitor, CounterReader counters, Tracer tracer)
        : netns_(std::move(netns)), reader_(std::move(reader)), monitor_(std::move(monitor)),
          counters_(std::move(counters)), tracer_(std::move(tracer)) {}

    // The bonds as they are now, or the one group that stands for links.
    Result<std::vector<Bond>> read_state() const;
    [[nodiscard]] bool takes_notes() const {
        return tracer_.attachment() != Attachment::fentry && !is_group();
    }
    [[nodiscard]] bool is_group() const { return !links_.empty(); }
    Result<void> note_state();
    void check_notes(const std::vector<Bond>& bonds);
    Result<void> attach_to(const Watched& watched, int ifindex);
    Result<void> open_window();
    Result<void> begin_counting();
    using Counters = std::map<int, LinkCounters>;
    Result<Counters> read_counters();
    Result<std::optional<LinkCounters>> read_counters(int ifindex);
    [[nodiscard]] Observed assemble(const std::vector<Bond>& bonds, const Counters& counters,
                                    TraceReading reading) const;
    Result<void> reread();
    Result<void> apply(const LinkEvent& event);
    [[nodiscard]] bool concerns(const LinkEvent& event) const;
    [[nodiscard]] bool belongs(const Watched& watched, const LinkEvent& event) const;
    Result<void> join(Watched& watched, const LinkEvent& event);
    [[nodiscard]] bool is_wanted(const LinkEvent& event) const;
    Result<void> take_up(const LinkEvent& event);
    Result<void> lose(Watched& watched);
    Result<void> refresh_state(Watched& watched);
    Result<void> leave(Member& member, const LinkCounters& now);
    static LinkCounters counted_until(const Member& member, const LinkCounters& now);

    NetNs netns_;
    LinkReader reader_;
    LinkMonitor monitor_;
    CounterReader counters_;
    Tracer tracer_;
    std::vector<Watched> watched_;
    std::vector<std::string> names_; // asked for; empty: all
    std::vector<std::string> links_;
    std::vector<std::string> no_room_;
    std::uint32_t max_bonds_ = 0;
    bool probes_gone_ = false; // with the bonding module: bonds of another one are not counted
    std::uint32_t max_flows_ = 0;
    std::uint64_t skew_ = 0;
    std::chrono::steady_clock::time_point started_;
};

} // namespace bondtrace
