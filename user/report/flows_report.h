// SPDX-License-Identifier: GPL-2.0-or-later
// What `bondtrace flows` found out, ready to be written in any format.
#pragma once

#include "user/bond/model.h"
#include "user/flow/conversation.h"
#include "user/flow/names.h"
#include "user/hash/era.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// Begins every document.
struct ReportHeader {
    std::string version; // bondtrace's
    std::string time;    // RFC 3339, UTC
    std::string kernel;  // release
    std::string attach;  // "fentry", "kprobe", "tc"; their differences: user/trace/attachment.h
};

// What a device's packet counter counts: skbs as they were handed over (veth, most virtual devices), or
// frames after segmentation and before GRO (NICs). struct Counts has both.
enum class CountUnit : std::uint8_t { wire, skb };

// One direction of one slave over the window.
struct SlaveDirection {
    Counts traced;    // every data frame that the hooks saw
    Counts untracked; // part of it: no room in the flow table
    Counts control;   // beside it: LACPDUs, learning packets
    Counts inactive;  // part of it, RX: dropped by the bond since the slave is inactive
    std::uint64_t unparsed = 0;
    std::uint64_t flows = 0; // conversations that used the slave in this direction
    // The kernel's own counters over the same window.
    std::uint64_t counter_packets = 0, counter_bytes = 0;

    // (traced + control) / counter, in packets of counter_unit(); nullopt when the counter did not move.
    [[nodiscard]] std::optional<double> coverage() const;
    // The unit in which traced + control come closer to the counter; `wire` when both do equally.
    [[nodiscard]] CountUnit counter_unit() const;
    // traced + control in that unit: what the counter should say.
    [[nodiscard]] std::uint64_t covered_packets() const;
};

std::uint64_t packets_in(const Counts& counts, CountUnit unit);
std::uint64_t bytes_in(const Counts& counts, CountUnit unit);

struct SlaveReport {
    std::string name; // the newest, when it was renamed
    int ifindex = 0;
    std::optional<unsigned> index; // position among the usable slaves
    std::string state;             // "active", "backup", "down", "gone" (left the bond during the window)
    std::optional<std::uint32_t> speed_mbps;
    SlaveDirection tx, rx;
};

// What the model of the kernel's hash has to say for itself, over all flows of a bond, shown or not.
struct Agreement {
    static constexpr std::size_t max_disagreements = 100;

    std::uint64_t checked = 0; // flows that were sent and whose slave is predictable
    std::uint64_t agree = 0;   // of these, those that took the predicted slave
    std::string unchecked_why; // of most flows that were sent and not checked
    // The first that do not agree, whatever the filter.
    std::vector<Conversation> disagreements;
};

struct BondReport {
    bool group = false;   // no bond but links of --links: no mode, no policy
    bool removed = false; // while it was watched
    std::string name;
    std::string netns; // as the user named it; empty: the caller's own
    int ifindex = 0;
    BondMode mode = BondMode::balance_rr;
    HashPolicy policy = HashPolicy::layer2;
    bool policy_used = false; // the mode consults the policy
    Agreement agreement;
    std::vector<SlaveReport> slaves;

    [[nodiscard]] const SlaveReport* find_slave(int slave_ifindex) const;
    // The unit in which the slaves' counters, added up, agree best with what was traced; `received` picks RX.
    [[nodiscard]] CountUnit counter_unit(bool received) const;
    // A slave's part of the bytes on the wire of all slaves, 0 to 1; nullopt when there were none.
    [[nodiscard]] std::optional<double> share(const SlaveReport& slave, bool received) const;
};

// Fills the `flows` of every slave's directions from all conversations (not only those to be shown).
void count_slave_flows(std::vector<BondReport>& bonds, const std::vector<Conversation>& conversations);

// Fills every bond's agreement from the predictions of all conversations.
void count_agreement(std::vector<BondReport>& bonds, const std::vector<Conversation>& conversations);

// Everything that could make a number incomplete.
struct Losses {
    std::uint64_t untracked_packets = 0; // frames without a flow entry: the table was full
    std::uint64_t unparsed_packets = 0;
    std::uint64_t recursion_misses =
        0;                        // frames the programs did not see: they were running on that CPU already
    std::uint64_t slots_full = 0; // frames of slaves beyond what a bond may have here
    std::uint64_t consumed_unknown = 0; // frames the bond swallowed for a reason unknown
    std::uint64_t uncounted_bonds = 0;  // bonds made meanwhile that there was no room for
    std::uint64_t reading_skew =
        0; // frames the kernel counted while a reading was taken: uncertainty of coverage
};

struct FlowsReport {
    ReportHeader header;
    double seconds = 0; // length of the window
    bool interrupted = false;
    std::uint64_t max_flows = 0;
    std::optional<EraFinding> era; // that predictions were made for; nullopt: none were made
    std::vector<BondReport> bonds;
    std::vector<Conversation> flows;  // filtered, sorted
    std::uint64_t flows_matching = 0; // before --top cut them
    std::uint64_t flows_total = 0;    // before the filter
    Losses losses;

    // Names for filter and order; refers to this report, which must stay where it is.
    [[nodiscard]] Names names() const;
};

// "802.3ad", or what stands for it with a group of links.
std::string_view mode_words(const BondReport& bond);

// A slave's name, or "if7" for one that the report does not list.
std::string slave_name(const BondReport& bond, int slave_ifindex);

} // namespace bondtrace
