// SPDX-License-Identifier: GPL-2.0-or-later
// The selected conversation in full.
#include "user/base/units.h"
#include "user/bond/usable.h"
#include "user/live/hash_words.h"
#include "user/live/panes.h"
#include "user/report/flow_words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {
namespace {

class Detail {
  public:
    Detail(const Drawing& drawing, const FlowRow& row)
        : drawing_(drawing), row_(row), report_(drawing.model.reading().report.bonds[row.flow.bond]),
          bond_(drawing.model.reading().bonds[row.flow.bond].state) {}

    std::vector<Pieces> lines() {
        add_summary();
        add_uses("TX", row_.flow.tx, row_.tx_slave);
        add_uses("RX", row_.flow.rx, row_.rx_slave);
        add_prediction();
        add_policies();
        add_ports();
        return std::move(lines_);
    }

  private:
    template<typename... More> void add(More&&... pieces) {
        lines_.push_back({std::forward<More>(pieces)...});
    }

    [[nodiscard]] Piece slave(const std::string& name) const {
        Hue hue = Hue::plain;
        for (std::size_t place = 0; place < report_.slaves.size(); ++place)
            if (report_.slaves[place].name == name) hue = slave_hue(place);
        return {clean(name, drawing_.symbols), {.hue = hue, .bold = true}};
    }

    [[nodiscard]] std::string ago(std::uint64_t ns) const {
        const std::uint64_t now = drawing_.model.reading().time_ns;
        return short_age(now > ns ? now - ns : 0) + " ago";
    }

    void add_summary() {
        const SlaveUse* use = !row_.flow.tx.empty()   ? &row_.flow.tx.front()
                              : !row_.flow.rx.empty() ? &row_.flow.rx.front()
                                                      : nullptr;
        const auto rate = [&](const Rate& value) { return rate_words(value, drawing_.ui.bytes); };
        std::string text =
            fmt::format("TX {}  RX {}  first seen {}, {}", rate(row_.tx), rate(row_.rx), ago(row_.first_ns),
                        row_.moves == 1 ? "moved once" : fmt::format("moved {} times", row_.moves));
        if (row_.moves == 0) text.resize(text.rfind(','));
        if (row_.sprayed) text += ", over several slaves at once";
        add(Piece{text, plain});
        if (use)
            add(Piece{fmt::format("MAC {} {} {}", to_text(use->origin.local_mac), drawing_.symbols.both,
                                  to_text(use->origin.remote_mac)),
                      quiet});
    }

    void add_uses(const char* direction, const std::vector<SlaveUse>& uses, int current) {
        for (const SlaveUse& use : uses) {
            const std::string name = slave_name(report_, use.slave_ifindex);
            Pieces line{{fmt::format("{} ", direction), quiet}, slave(name)};
            line.push_back(
                {fmt::format("  {} packets  {}  ({} frames, {} on the wire)  first {}, last {}",
                             format_count(use.counts.packets), format_bytes(use.counts.bytes),
                             format_count(use.counts.wire_packets), format_bytes(use.counts.wire_bytes),
                             ago(use.first_ns), ago(use.last_ns)),
                 use.slave_ifindex == current ? plain : quiet});
            if (use.inactive) line.push_back({"  dropped by the bond: the slave is inactive", alarm});
            lines_.push_back(std::move(line));
        }
    }

    void add_prediction() {
        if (!row_.flow.prediction) return;
        const Prediction& prediction = *row_.flow.prediction;
        Pieces line{{"predicted ", quiet}};
        if (prediction.slave)
            line.push_back(slave(*prediction.slave));
        else
            line.push_back({"nothing", plain});
        if (prediction.agrees)
            line.push_back(*prediction.agrees ? Piece{" as seen", good}
                                              : Piece{" but not seen there", alarm});
        if (!prediction.why.empty()) line.push_back({": " + clean(prediction.why, drawing_.symbols), plain});
        lines_.push_back(std::move(line));
    }

    void add_policies() {
        const std::vector<PolicyAnswer> answers = ask_policies(bond_, row_.flow, drawing_.model.era());
        if (answers.empty()) {
            if (!uses_hash_policy(bond_))
                add(Piece{fmt::format("mode {} does not choose slaves by a hash", to_text(bond_.mode)),
                          quiet});
            return;
        }
        const PolicyAnswer& own = answers.front();
        Pieces line{{fmt::format("policy {}: ", to_text(own.policy)), quiet}};
        if (own.slave) {
            line.push_back({fmt::format("{} hash to 0x{:08x}, modulo {} is {}, ", own.inputs, own.hash,
                                        own.usable, own.index),
                            plain});
            line.push_back(slave(*own.slave));
            const std::string seen = slave_name(report_, row_.tx_slave);
            if (row_.tx_slave != 0 && seen != *own.slave)
                line.push_back({fmt::format(" (but it is on {}: sent before the slaves changed, or hashed "
                                            "otherwise)",
                                            clean(seen, drawing_.symbols)),
                                alarm});
        } else {
            line.push_back({own.reason, plain});
        }
        lines_.push_back(std::move(line));
        // Policies with the same answer share a place.
        Pieces others{{"other policies: ", quiet}};
        for (std::size_t i = 1; i < answers.size(); ++i) {
            others.push_back({fmt::format("{}{} ", i > 1 ? ", " : "", to_text(answers[i].policy)), plain});
            if (answers[i].slave)
                others.push_back(slave(*answers[i].slave));
            else
                others.push_back({"not determined", quiet});
        }
        lines_.push_back(std::move(others));
    }

    void add_ports() {
        const std::vector<OtherPorts> all = ports_elsewhere(bond_, row_.flow, drawing_.model.era());
        if (all.empty()) return;
        Pieces line{{"other local ports: ", quiet}};
        for (const OtherPorts& other : all) {
            if (line.size() > 1) line.push_back({"; ", quiet});
            line.push_back({fmt::format("{} to ", fmt::join(other.ports, ", ")), plain});
            line.push_back(slave(other.slave));
        }
        lines_.push_back(std::move(line));
    }

    const Drawing& drawing_;
    const FlowRow& row_;
    const BondReport& report_;
    const Bond& bond_;
    std::vector<Pieces> lines_;
};

} // namespace

std::vector<Pieces> detail_lines(const Drawing& drawing, const FlowRow& row) {
    return Detail(drawing, row).lines();
}

} // namespace bondtrace
