// SPDX-License-Identifier: GPL-2.0-or-later
// What the live table knows after each reading: rates, shares, verdicts, history and events. Pure.
#pragma once

#include "user/live/event_log.h"
#include "user/live/history.h"
#include "user/live/live_balance.h"
#include "user/live/live_flows.h"
#include "user/live/reading.h"
#include "user/live/verdict.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bondtrace {

// One slave, beside what the reading has of it (the same places in the same order).
struct LiveSlave {
    int ifindex = 0;
    Rate tx, rx;                              // of the last interval
    std::optional<double> tx_share, rx_share; // of the bond's bytes in the last seconds; nullopt: none
    // Conversations that are on it, of those seen in the last idle_ns.
    std::uint64_t tx_flows = 0, rx_flows = 0;
    std::uint64_t errors = 0, drops = 0; // both directions, since the start
    History tx_history, rx_history;      // bytes on the wire
    double tx_weight = 0, rx_weight = 0; // bytes of the last seconds
    bool usable = false;                 // one that the bond's hash chooses from
};

struct LiveBondState {
    std::vector<LiveSlave> slaves;
    Verdict lacp;
    LiveBalance tx_balance, rx_balance;
    // Indexes into `slaves` of what the balances speak of.
    std::vector<std::size_t> balanced;
    std::optional<double> tx_coverage, rx_coverage; // traced / counted; nullopt: nothing was counted
    // Conversations that are not idle: whose slave could be predicted, and of these, those that took it.
    std::uint64_t predicted = 0, as_predicted = 0;
    std::uint64_t changed_ns = 0; // when slaves came or went, or the policy changed; 0: never
};

// What tracing costs, over the last interval.
struct LiveCost {
    double ns_per_packet = 0;
    double cpu = 0; // of one CPU, 0 to 1
};

class LiveModel {
  public:
    // A conversation that has carried nothing for this long is idle: not shown, not counted.
    static constexpr std::uint64_t idle_ns = 30'000'000'000;
    // A move is shown for this long.
    static constexpr std::uint64_t highlight_ns = 5'000'000'000;

    // After a change of slaves or policy balance is not judged for this long: three times weight_seconds.
    static constexpr std::uint64_t settling_ns = 15'000'000'000;

    explicit LiveModel(BalanceJudge judge = judge_live_balance) : judge_(std::move(judge)) {}

    void update(LiveReading reading);

    // The newest reading; its entries are in flows().
    [[nodiscard]] const LiveReading& reading() const { return reading_; }
    [[nodiscard]] const std::vector<LiveBondState>& bonds() const { return bonds_; }
    [[nodiscard]] const LiveFlows& flows() const { return flows_; }
    [[nodiscard]] const EventLog& events() const { return events_; }
    [[nodiscard]] std::uint64_t readings() const { return readings_; }
    [[nodiscard]] double interval_seconds() const { return interval_seconds_; }
    [[nodiscard]] std::optional<LiveCost> cost() const { return cost_; }
    // Of all bonds, both directions; nullopt: nothing was counted.
    [[nodiscard]] std::optional<double> coverage() const { return coverage_; }
    // Frames that are in no row, or were not seen at all.
    [[nodiscard]] std::uint64_t lost() const;

    // Of the kernel whose hash is explained.
    [[nodiscard]] Era era() const { return era_finding().value_or(EraFinding{}).era; }
    // nullopt: nobody predicts.
    [[nodiscard]] const std::optional<EraFinding>& era_finding() const {
        return reading_.report.era ? reading_.report.era : reading_.recorded_era;
    }

    [[nodiscard]] bool is_idle(const FlowRow& row) const {
        return reading_.time_ns > row.active_ns + idle_ns;
    }
    [[nodiscard]] bool is_highlighted(const FlowRow& row) const {
        return row.moved_ns != 0 && reading_.time_ns < row.moved_ns + highlight_ns;
    }

  private:
    void update_slaves(const LiveReading& before);
    void update_predictions();
    void update_hashes(const LiveReading& before);
    void note_changes(const LiveReading& before);
    void update_flow_counts();
    void update_balance(std::size_t bond);
    std::vector<LiveThrow> throws_of(std::size_t bond, bool received) const;
    void update_coverage();
    void update_cost(const LiveReading& before);
    void log_changes(const LiveReading& before);
    void log_moves();
    void log(EventKind kind, const std::string& bond, std::string text);

    BalanceJudge judge_;
    LiveReading reading_;
    std::vector<LiveBondState> bonds_;
    LiveFlows flows_;
    PredictionPool predictions_;
    EventLog events_;
    std::uint64_t readings_ = 0;
    double interval_seconds_ = 0;
    std::optional<LiveCost> cost_;
    std::optional<double> coverage_;
};

} // namespace bondtrace
