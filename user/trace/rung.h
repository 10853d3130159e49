// SPDX-License-Identifier: GPL-2.0-or-later
// One rung of the ladder, loaded: a BPF object with the counting core's maps, and the way it is attached.
#pragma once

#include "bpf/abi.h"
#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/trace/attachment.h"
#include "user/trace/support.h"

#include <cstdint>
#include <memory>

struct bpf_object;

namespace bondtrace {

struct RungConfig {
    std::uint32_t max_flows = 0;
    std::uint32_t bond_places = 0; // a power of two
    std::uint32_t slots = 0;       // for slaves of all bonds
    std::uint32_t cpus = 0;        // possible ones
    bool caching = true;           // count flows in each CPU's cache first
    const NetNs* netns = nullptr;  // of the links; tc only
    const Support* support = nullptr;
};

class Rung {
  public:
    Rung() = default;
    Rung(const Rung&) = delete;
    Rung& operator=(const Rung&) = delete;
    virtual ~Rung() = default;

    [[nodiscard]] virtual Attachment attachment() const = 0;
    [[nodiscard]] virtual bpf_object* object() const = 0;

    // Attaches to one link, where that is how it is done; the error of a link that has vanished is none.
    virtual Result<void> add_link(int ifindex, const bt_link& link) {
        static_cast<void>(ifindex);
        static_cast<void>(link);
        return {};
    }
    virtual Result<void> remove_link(int ifindex) {
        static_cast<void>(ifindex);
        return {};
    }
};

// Each loads its programs and attaches what is not attached to single links. The kernel removes everything
// when the object goes, or the process, but for tc filters (see tc_links.h).
Result<std::unique_ptr<Rung>> open_fentry(const RungConfig& config);
Result<std::unique_ptr<Rung>> open_kprobe(const RungConfig& config);
Result<std::unique_ptr<Rung>> open_tc(const RungConfig& config);

} // namespace bondtrace
