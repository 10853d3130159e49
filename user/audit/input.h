// SPDX-License-Identifier: GPL-2.0-or-later
// What an audit judges: the state of bonds, and what was seen of their traffic.
#pragma once

#include "user/base/result.h"
#include "user/bond/model.h"
#include "user/hash/era.h"
#include "user/report/flows_report.h"

#include <optional>
#include <vector>

namespace bondtrace {

struct AuditInput {
    std::vector<Bond> bonds; // as they are at the end of the window
    // As they were at its beginning; a bond is found in it by its ifindex. Empty: nobody looked.
    std::vector<Bond> before;
    // nullopt: nobody watched (a saved text). Otherwise with all flows, unfiltered; a bond is found in it by
    // its ifindex.
    std::optional<FlowsReport> traffic;
    // Why there is no traffic although somebody wanted to watch it: balance is then unknown, not out of the
    // question.
    std::optional<Error> obstacle = std::nullopt;
    Era era = newest_era; // of the kernel that chose the slaves
};

// One bond of an input with its traffic. Points into the input, which must stay where it is.
struct BondView {
    const Bond* state = nullptr;
    const BondReport* report = nullptr;     // nullptr: nobody watched
    std::vector<const SlaveReport*> usable; // in the order that the hash counts them
    std::vector<const Conversation*> flows; // this bond's
    const FlowsReport* traffic = nullptr;   // of all bonds
    Era era;

    // Position of a slave in `usable`; nullopt when it is not in there.
    [[nodiscard]] std::optional<std::size_t> position(int slave_ifindex) const;
};

std::vector<BondView> bond_views(const AuditInput& input);

} // namespace bondtrace
