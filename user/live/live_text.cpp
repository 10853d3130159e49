// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/live_text.h"

#include "user/base/units.h"
#include "user/live/draw.h"
#include "user/live/end_words.h"
#include "user/live/header_panel.h"
#include "user/report/address_text.h"
#include "user/report/flow_words.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace bondtrace {
namespace {

std::string rate_text(const Rate& rate) {
    return format_bit_rate(rate.bytes * 8);
}

class Text {
  public:
    Text(const LiveModel& model, const FlowView& view, const Symbols& symbols, const HostNames* names)
        : model_(model), view_(view), symbols_(symbols), names_(names), report_(model.reading().report) {}

    void add_run() {
        const std::string interval = model_.interval_seconds() > 0
                                         ? fmt::format("{:.1f} s", model_.interval_seconds())
                                         : std::string("first reading, no rates yet");
        std::string line = fmt::format("bondtrace {} {} {}: {}", model_.reading().host, report_.header.attach,
                                       report_.header.time, interval);
        if (const auto cost = model_.cost())
            line += fmt::format(", cost {:.0f} ns/packet {:.1f} % CPU", cost->ns_per_packet, cost->cpu * 100);
        if (const auto coverage = model_.coverage())
            line += fmt::format(", coverage {}", coverage_words(*coverage));
        if (model_.lost() > 0) line += fmt::format(", {} frames lost", model_.lost());
        add(line);
    }

    void add_bond(std::size_t index) {
        const BondReport& bond = report_.bonds[index];
        const LiveBondState& state = model_.bonds()[index];
        std::string line =
            fmt::format("{} {}: {}", bond.group ? "links" : "bond", bond.name, mode_words(bond));
        if (bond.policy_used) line += fmt::format(" {}", to_text(bond.policy));
        if (bond.removed)
            line += ", removed";
        else if (!state.lacp.word.empty())
            line += ", LACP " + state.lacp.word;
        const auto add_balance = [&](const char* direction, const LiveBalance& balance) {
            const std::string words = balance_words(model_, index, balance, true);
            if (!words.empty()) line += fmt::format(", {} {}", direction, words);
        };
        add_balance("TX", state.tx_balance);
        add_balance("RX", state.rx_balance);
        if (state.predicted > 0)
            line += fmt::format(", {} of {} flows as predicted", state.as_predicted, state.predicted);
        add(line);
        for (std::size_t slave = 0; slave < bond.slaves.size(); ++slave)
            add_slave(index, slave);
    }

    void add_flows(std::size_t most) {
        const std::size_t shown = std::min(most, view_.rows().size());
        for (std::size_t place = 0; place < shown; ++place)
            add_flow(model_.flows().rows()[view_.rows()[place]]);
        if (shown == view_.rows().size()) return;
        const FlowView::Sum rest = view_.sum(model_, shown, view_.rows().size());
        add(fmt::format("{} more flows: TX {}, RX {}", view_.rows().size() - shown, rate_text(rest.tx),
                        rate_text(rest.rx)));
    }

    void add_events(std::uint64_t first) {
        std::uint64_t number = model_.events().total() - model_.events().events().size();
        for (const Event& event : model_.events().events())
            if (number++ >= first) add(fmt::format("event {} {}: {}", event.time, event.bond, event.text));
    }

    std::string take() { return std::move(text_); }

  private:
    void add(const std::string& line) {
        text_ += clean(line, symbols_);
        text_ += '\n';
    }

    void add_slave(std::size_t bond_index, std::size_t place) {
        const SlaveReport& slave = report_.bonds[bond_index].slaves[place];
        const LiveSlave& live = model_.bonds()[bond_index].slaves[place];
        const Bond& bond = model_.reading().bonds[bond_index].state;
        std::string line = fmt::format("slave {} {}", slave.name, slave.state);
        if (const Slave* state = bond.find_slave(slave.ifindex))
            if (const std::string trouble = lacp_trouble(bond, *state); !trouble.empty())
                line += fmt::format(" (LACP {})", trouble);
        const auto direction = [&](const char* name, const Rate& rate, const std::optional<double>& share,
                                   std::uint64_t flows) {
            line += fmt::format(", {} {} {} {} flows", name, rate_text(rate),
                                share ? short_share(*share) : std::string("-"), flows);
        };
        direction("TX", live.tx, live.tx_share, live.tx_flows);
        direction("RX", live.rx, live.rx_share, live.rx_flows);
        if (live.errors > 0) line += fmt::format(", {} errors", live.errors);
        if (live.drops > 0) line += fmt::format(", {} drops", live.drops);
        add(line);
    }

    // With names the addresses stay: they are what commands take.
    [[nodiscard]] std::string words_of(const ConversationKey& key) const {
        std::string words = flow_words(key);
        if (!names_) return words;
        for (const bool local : {true, false}) {
            const std::string name = end_words(key, local, unlimited, names_, symbols_);
            if (name != end_text(key, local, unlimited, symbols_.ellipsis))
                words += fmt::format(", {} {}", local ? "local" : "remote", name);
        }
        return words;
    }

    void add_flow(const FlowRow& row) {
        if (row.flow.bond >= report_.bonds.size()) return;
        const BondReport& bond = report_.bonds[row.flow.bond];
        std::string line = "flow " + words_of(row.flow.key);
        const auto direction = [&](const char* name, const Rate& rate, int slave) {
            if (slave != 0)
                line += fmt::format(", {} {} on {}", name, rate_text(rate), slave_name(bond, slave));
        };
        direction("TX", row.tx, row.tx_slave);
        direction("RX", row.rx, row.rx_slave);
        line += fmt::format(", total {}",
                            format_bytes(row.flow.tx_total().wire_bytes + row.flow.rx_total().wire_bytes));
        if (row.moves > 0)
            line += fmt::format(", moved {}", row.moves == 1 ? "once" : fmt::format("{} times", row.moves));
        if (row.flow.prediction && row.flow.prediction->agrees == false) line += ", not where predicted";
        add(line);
    }

    const LiveModel& model_;
    const FlowView& view_;
    const Symbols& symbols_;
    const HostNames* names_;
    const FlowsReport& report_;
    std::string text_;
};

} // namespace

std::string live_text(const LiveModel& model, const FlowView& view, std::size_t most,
                      std::uint64_t first_event, const Symbols& symbols, const HostNames* names) {
    Text text(model, view, symbols, names);
    text.add_run();
    for (std::size_t bond = 0; bond < model.bonds().size(); ++bond)
        text.add_bond(bond);
    text.add_flows(most);
    text.add_events(first_event);
    return text.take();
}

} // namespace bondtrace
