// SPDX-License-Identifier: GPL-2.0-or-later
// Loads the BPF programs of the best attachment there is, reads what they counted. Nothing outlives the
// object: programs, maps and links are held by file descriptors only, so that the kernel removes them even
// after SIGKILL; for the one exception see tc_links.h.
#pragma once

#include "bpf/abi.h"
#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/trace/attachment.h"
#include "user/trace/reading.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bondtrace {

struct TraceConfig {
    std::uint32_t max_flows = 65536;    // entries: one per flow, direction and slave
    std::uint32_t max_bonds = 1;        // that there is room for
    bool verbose = false;               // libbpf's and the verifier's words to standard error
    std::optional<Attachment> attach{}; // nullopt: the best that works
    // Not the slaves of bonds, but these links of the namespace, as a group; by tc.
    std::vector<std::string> links{};
};

class Tracer {
  public:
    // Loads and attaches; counts nothing until count_bond(). Programs for which this kernel's driver has no
    // function are left out when they are not required.
    // Links that are added later are those of `netns`.
    static Result<Tracer> attach(const NetNs& netns, const TraceConfig& config);

    Tracer(Tracer&&) noexcept;
    Tracer& operator=(Tracer&&) noexcept;
    ~Tracer();

    // What attaches to single links does so, before counting begins or while it goes on; other attachments
    // know of every slave. Links that have vanished are no error.
    Result<void> add_link(int ifindex, const bt_link& link);
    Result<void> remove_link(int ifindex);

    // Starts counting a bond, with the slaves it has now (others are added when they first carry a packet).
    // The bonds of a TraceReading are numbered in the order of these calls.
    Result<void> count_bond(bt_device bond, std::span<const int> slave_ifindexes);

    // Stops counting all bonds, at once. The next read() waits until no program is still at it and is final.
    Result<void> stop();

    // After stop(): forgets what was counted and the bonds, as if just attached.
    Result<void> reset();

    // Everything counted so far.
    Result<TraceReading> read() const;

    // From now on, and as long as this object lives, the kernel measures how long its BPF programs run (all
    // of them, which costs each run two readings of the clock). Needs CAP_SYS_ADMIN and Linux 5.8; the error
    // is not fatal, the readings then lack `runs` and `run_ns`.
    Result<void> measure_cost();

    [[nodiscard]] Attachment attachment() const;
    // Why not by a better one: a line for each.
    [[nodiscard]] const std::vector<std::string>& passed_over() const;

  private:
    struct State;
    explicit Tracer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Version of the libbpf in use, "1.1.2", and the attachments compiled in.
std::string libbpf_version();
std::vector<std::string> compiled_attachments();

} // namespace bondtrace
