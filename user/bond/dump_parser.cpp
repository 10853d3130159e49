// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/dump_parser.h"

#include "user/bond/dump_keys.h"
#include "user/bond/dump_values.h"

#include <algorithm>
#include <bitset>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using dump::Field;
using dump::Line;

constexpr std::size_t max_slaves = 4096, max_bonds = 4096, max_ignored = 100, max_name = 15; // IFNAMSIZ - 1
constexpr std::string_view driver_key = "Ethernet Channel Bonding Driver", mode_key = "Bonding Mode",
                           slave_key = "Slave Interface", proc_path = "/proc/net/bonding/";
constexpr std::string_view save_again =
    "save it again, as root so that the LACP partner is in it: cat /proc/net/bonding/BOND > FILE";

using Seen = std::bitset<dump::max_keys>;

// What has been read of the bond at hand, besides the bond.
struct Progress {
    Bond bond;
    bool mode = false;
    bool no_aggregator = false;
    dump::AggregatorLines aggregator;
    Seen bond_keys, aggregator_keys;
    // Per slave: which lines it has.
    struct SlaveLines {
        Seen keys, actor, partner;
        [[nodiscard]] bool any_lacp() const { return actor.any() || partner.any(); }
    };
    std::vector<SlaveLines> slaves;
    bool details = false;   // "details ... lacp pdu" was said, so that a side is not inferred
    bool partner = false;   // the side whose lines come
    bool suspended = false; // something that is not the driver's stands in between
    bool cut = false;       // the text's last line was half a line
};

// ovs-appctl bond/show, which calls its bonds' members slaves or members.
bool is_openvswitch(std::string_view line) {
    return line.starts_with("bond_mode:") || line.starts_with("may_enable:") ||
           ((line.starts_with("slave ") || line.starts_with("member ")) &&
            (line.ends_with(": enabled") || line.ends_with(": disabled")));
}

// `seen` lacks the last of the lines that `model` has; the tables are in the order in which they are printed.
bool lacks_last(const Seen& model, const Seen& seen) {
    for (std::size_t key = model.size(); key-- > 0;)
        if (model.test(key)) return !seen.test(key);
    return false;
}

class Parser {
  public:
    Parser(std::string_view text, const DumpOptions& options)
        : rest_(text), number_(options.first_line), options_(options), next_name_(options.name) {}

    Result<Dump> run();

  private:
    // Each takes one line. An error is left in error_.
    void take(const Line& line);
    bool take_name(const Line& line);
    void take_field(const Line& line, const Field& field);
    bool take_structure(const Line& line, const Field& field);
    void take_slave_field(const Line& line, const Field& field);
    void take_lacp_field(const Line& line, const Field& field, std::size_t key);

    void begin_bond();
    void begin_slave(const Line& line, std::string_view name);
    void finish_bond();
    void finish_aggregator(Bond& bond) const;
    [[nodiscard]] bool ends_early() const;
    [[nodiscard]] Error nothing_found() const;

    // Marks `key` of a table as seen; a second time is an error.
    bool first_time(const Line& line, Seen& seen, std::size_t key);
    void refuse(const Line& line, std::string_view why);
    void ignore(const Line& line);

    std::string_view rest_;
    std::size_t number_;
    const DumpOptions& options_;
    Dump dump_;
    std::optional<Progress> now_;
    std::string next_name_;
    std::optional<Line> first_, openvswitch_;
    std::optional<IgnoredLine> other_interface_; // "Member Interface: eth0"
    std::optional<Error> error_;
};

void Parser::refuse(const Line& line, std::string_view why) {
    const bool lenient = options_.from_kernel || (now_ && now_->suspended);
    ignore(line);
    if (lenient) return;
    std::string reason(why);
    if (other_interface_ && now_ && now_->bond.slaves.empty())
        reason =
            fmt::format("it belongs to a slave, which line {}, \"{}\", may name in words that this version "
                        "does not know",
                        other_interface_->number, other_interface_->text);
    error_ = Error{ErrorKind::unavailable,
                   fmt::format("{}:{}: not recognised as text of the bonding driver: \"{}\": {}",
                               options_.source, line.number, dump::shown(line.text), reason),
                   std::string(save_again)};
}

void Parser::ignore(const Line& line) {
    // A prompt: no line of the driver's has these.
    if (now_ && line.text.find_first_of("#$") != std::string_view::npos) now_->suspended = true;
    ++dump_.ignored_count;
    if (dump_.ignored.size() < max_ignored) dump_.ignored.push_back({line.number, dump::shown(line.text)});
}

bool Parser::first_time(const Line& line, Seen& seen, std::size_t key) {
    if (seen.test(key)) {
        refuse(line, "the driver prints this line once");
        return false;
    }
    seen.set(key);
    return true;
}

void Parser::begin_bond() {
    finish_bond();
    if (dump_.bonds.size() == max_bonds) {
        error_ = Error{
            ErrorKind::unavailable, fmt::format("{}: more than {} bonds", options_.source, max_bonds), {}};
        return;
    }
    now_.emplace();
    Bond& bond = now_->bond;
    bond.name = std::exchange(next_name_, {});
    // Everything is unknown until a line tells it.
    BondUnknown& unknown = bond.unknown;
    unknown.ifindex = unknown.policy = unknown.carrier = unknown.admin_up = unknown.miimon = true;
    unknown.arp_interval = unknown.min_links = unknown.lacp_rate = unknown.packets_per_slave = true;
    unknown.all_slaves_active = unknown.active_slave = unknown.aggregator = unknown.mac = true;
    unknown.uppers = unknown.counters = true;
}

void Parser::begin_slave(const Line& line, std::string_view name) {
    Bond& bond = now_->bond;
    now_->suspended = false;
    if (!is_interface_name(name)) return refuse(line, "this is no name of an interface");
    if (bond.find_slave(name)) return refuse(line, "this slave was listed before");
    if (bond.slaves.size() == max_slaves) return refuse(line, "no bond has so many slaves");
    Slave slave;
    slave.name = std::string(name);
    SlaveUnknown& unknown = slave.unknown;
    unknown.ifindex = unknown.state = unknown.mii_status = unknown.flags = true;
    unknown.link_failures = unknown.mac = unknown.queue_id = unknown.counters = true;
    unknown.aggregator = true;
    bond.slaves.push_back(std::move(slave));
    now_->slaves.emplace_back();
    now_->details = now_->partner = false;
}

// A line that names the file which the next dump is of: a comment, a prompt, the headers of head and tail.
bool Parser::take_name(const Line& line) {
    std::string_view name;
    if (const auto path = line.text.find(proc_path); path != std::string_view::npos) {
        name = line.text.substr(path + proc_path.size());
        name = name.substr(0, name.find_first_of(" \t:;|>\"'*?[<"));
    } else if (line.text.starts_with("==> ") && line.text.ends_with(" <==") && line.text.size() > 8) {
        name = line.text.substr(4, line.text.size() - 8);
        const auto slash = name.rfind('/');
        if (slash != std::string_view::npos) name = name.substr(slash + 1);
    } else {
        return false;
    }
    if (now_) now_->suspended = true;
    if (is_interface_name(name)) next_name_ = std::string(name);
    return true;
}

// The lines that begin something. True when this was one.
bool Parser::take_structure(const Line& line, const Field& field) {
    if (field.key == driver_key) {
        begin_bond();
        if (now_) now_->bond.driver = dump::shown(field.value);
        return true;
    }
    if (field.key == mode_key) {
        if (!now_ || now_->mode) begin_bond();
        if (error_) return true;
        now_->mode = dump::read_mode(field.value, now_->bond);
        if (!now_->mode) refuse(line, "this version knows no such mode");
        return true;
    }
    if (field.key != slave_key) return false;
    if (!now_ || !now_->mode)
        refuse(line, "a slave before any \"Bonding Mode:\", so the text's beginning is missing");
    else
        begin_slave(line, field.value);
    return true;
}

void Parser::take_lacp_field(const Line& line, const Field& field, std::size_t key) {
    auto& lines = now_->slaves.back();
    // Excerpts lack the headlines; the actor always comes first, and "oper key" is the partner's word.
    if (!now_->details && !now_->partner && (lines.actor.test(key) || field.key == "oper key"))
        now_->partner = true;
    if (!first_time(line, now_->partner ? lines.partner : lines.actor, key)) return;
    if (!dump::apply_lacp(key, field.value, now_->partner, now_->bond.slaves.back()))
        refuse(line, "the driver prints no such value");
}

void Parser::take_slave_field(const Line& line, const Field& field) {
    if (field.key == "details actor lacp pdu" || field.key == "details partner lacp pdu") {
        now_->details = true;
        now_->partner = field.key.find("partner") != std::string::npos;
        auto& slave = now_->bond.slaves.back();
        auto& side = now_->partner ? slave.partner : slave.actor;
        if (!side) side.emplace();
        return;
    }
    if (const auto key = dump::lacp_key(field.key)) return take_lacp_field(line, field, *key);
    if (const auto key = dump::slave_key(field.key)) {
        if (!first_time(line, now_->slaves.back().keys, *key)) return;
        if (!dump::apply_slave(*key, field.value, now_->bond.slaves.back()))
            refuse(line, "the driver prints no such value");
        return;
    }
    if (dump::bond_key(field.key) || dump::aggregator_key(field.key) || dump::resembles_key(field.key))
        return refuse(line, "the driver prints no such line for a slave");
    ignore(line);
}

void Parser::take_field(const Line& line, const Field& field) {
    if (take_structure(line, field)) return;
    if (!now_) return ignore(line);
    if (!now_->bond.slaves.empty()) return take_slave_field(line, field);
    if (const auto key = dump::bond_key(field.key)) {
        if (!first_time(line, now_->bond_keys, *key)) return;
        if (!dump::apply_bond(*key, field.value, now_->bond)) refuse(line, "the driver prints no such value");
        return;
    }
    if (const auto key = dump::aggregator_key(field.key)) {
        if (!first_time(line, now_->aggregator_keys, *key)) return;
        if (!dump::apply_aggregator(*key, field.value, now_->aggregator))
            refuse(line, "the driver prints no such value");
        return;
    }
    if (field.key == "Active Aggregator Info") return;
    if (dump::slave_key(field.key) || dump::lacp_key(field.key) || field.key.starts_with("details "))
        return refuse(line, "it belongs to a slave, and no \"Slave Interface:\" stands before it");
    if (dump::resembles_key(field.key)) return refuse(line, "the driver spells it otherwise");
    if (field.key.ends_with("Interface")) other_interface_ = {line.number, dump::shown(line.text)};
    ignore(line);
}

void Parser::take(const Line& whole) {
    Line line = whole;
    if (!first_) first_ = line;
    if (!openvswitch_ && is_openvswitch(line.text)) openvswitch_ = line;
    // What grep puts before each line when it has several files.
    if (line.text.starts_with(proc_path)) {
        const auto colon = line.text.find(':');
        const std::string_view name = line.text.substr(0, colon).substr(proc_path.size());
        if (colon != std::string_view::npos && is_interface_name(name)) {
            if (!now_ || now_->bond.name != name) next_name_ = std::string(name);
            line.text = dump::trim(line.text.substr(colon + 1));
        }
    }
    if (line.text.empty()) return;
    if (line.cut) {
        ignore(line);
        if (now_) now_->cut = true;
        return;
    }
    constexpr std::string_view none_active = " has no active aggregator";
    if (now_ && line.text.starts_with("bond ") && line.text.ends_with(none_active)) {
        const auto name = line.text.substr(5, line.text.size() - 5 - none_active.size());
        if (!is_interface_name(name)) return refuse(line, "this is no name of an interface");
        now_->bond.name = std::string(name);
        now_->no_aggregator = true;
        return;
    }
    if (line.text == "802.3ad info") return;
    if (take_name(line)) return ignore(line);
    // No line of the driver's begins so: a comment, a headline.
    if (line.text.front() == '#' || line.text.front() == '=') {
        if (now_) now_->suspended = true;
        return ignore(line);
    }
    if (const auto field = dump::split_field(line.text)) return take_field(line, *field);
    const bool distinctive = line.text.starts_with(driver_key) || line.text.starts_with(mode_key) ||
                             line.text.starts_with(slave_key);
    if (distinctive || (now_ && dump::lacks_colon(line.text)))
        return refuse(line, "the driver writes a colon, so this was typed by hand or taken apart");
    ignore(line);
}

void Parser::finish_aggregator(Bond& bond) const {
    if (now_->no_aggregator || bond.mode != BondMode::lacp) {
        bond.unknown.aggregator = false;
        return;
    }
    // Half of it would read as an all-zero partner.
    const auto& lines = now_->aggregator;
    if (!lines.id || !lines.ports || !lines.partner_mac) return;
    bond.aggregator = AggregatorInfo{.aggregator_id = *lines.id,
                                     .ports = *lines.ports,
                                     .actor_key = lines.actor_key.value_or(0),
                                     .partner_key = lines.partner_key.value_or(0),
                                     .partner_mac = *lines.partner_mac};
    bond.unknown.aggregator = false;
}

// Whether lines are missing that the driver always prints after those that are there.
bool Parser::ends_early() const {
    const Bond& bond = now_->bond;
    const bool lacp = bond.mode == BondMode::lacp;
    if (now_->cut) return true;
    if (bond.slaves.empty()) {
        // A bond without slaves has no carrier and no active slave. "Down Delay" and, in 802.3ad, the
        // selection policy are the last lines that every driver prints.
        return bond.unknown.carrier || bond.carrier || bond.active_name || !bond.downdelay_ms ||
               (lacp && !bond.ad_select);
    }
    if (bond.aggregator && bond.aggregator->ports > bond.slaves.size()) return true;
    if (bond.active_name && !bond.find_slave(std::string_view(*bond.active_name))) return true;
    const auto &first = now_->slaves.front(), &last = now_->slaves.back();
    const Slave& slave = bond.slaves.back();
    if (slave.unknown.mii_status) return true;
    if (lacp && slave.unknown.aggregator && !slave.actor_churn && !last.any_lacp()) return true;
    // "N/A" is the last line of a slave that is in no aggregator.
    if (lacp && !slave.unknown.aggregator && !slave.aggregator_id) return false;
    if (last.any_lacp() && !last.partner.any()) return true;
    if (lacks_last(first.partner, last.partner)) return true;
    return !last.any_lacp() && lacks_last(first.keys, last.keys);
}

void Parser::finish_bond() {
    if (!now_) return;
    if (!now_->mode) { // only the headline was there
        now_.reset();
        return;
    }
    Bond& bond = now_->bond;
    const bool lacp = bond.mode == BondMode::lacp;
    finish_aggregator(bond);
    if (!lacp && bond.mode != BondMode::active_backup && bond.mode != BondMode::balance_tlb &&
        bond.mode != BondMode::balance_alb)
        bond.unknown.active_slave = false;
    // The ARP lines are printed only when the monitor runs, and come before these.
    if (bond.downdelay_ms && (lacp ? bond.ad_select.has_value() : !bond.slaves.empty()))
        bond.unknown.arp_interval = false;
    bond.truncated = ends_early();
    if (lacp) bond.privileged = bond.system_mac || now_->no_aggregator || now_->aggregator.id;
    for (std::size_t i = 0; i < bond.slaves.size(); ++i) {
        Slave& slave = bond.slaves[i];
        if (!lacp) slave.unknown.aggregator = false;
        if (now_->slaves[i].any_lacp()) bond.privileged = true;
        if (bond.mode == BondMode::active_backup && !bond.unknown.active_slave) {
            slave.backup = slave.name != bond.active_name;
            slave.unknown.state = false;
        }
    }
    if (bond.truncated && bond.privileged == false) bond.privileged.reset();
    if (bond.name.empty()) {
        bond.name = dump_.bonds.empty() ? "unnamed" : fmt::format("unnamed-{}", dump_.bonds.size() + 1);
        bond.unknown.name = true;
    }
    dump_.truncated = bond.truncated;
    dump_.bonds.push_back(std::move(bond));
    now_.reset();
}

Error Parser::nothing_found() const {
    if (openvswitch_)
        return {ErrorKind::unavailable,
                fmt::format("{}:{}: not recognised: this is what ovs-appctl bond/show prints: \"{}\"",
                            options_.source, openvswitch_->number, dump::shown(openvswitch_->text)),
                "a bond of Open vSwitch is no kernel bond; its members can be traced with --links NAME,NAME"};
    if (!first_)
        return {ErrorKind::unavailable, fmt::format("{}: there is nothing in it", options_.source),
                std::string(save_again)};
    return {
        ErrorKind::unavailable,
        fmt::format("{}:{}: not recognised as a saved /proc/net/bonding file: it begins with \"{}\", and no "
                    "line is \"Bonding Mode: ...\"",
                    options_.source, first_->number, dump::shown(first_->text)),
        std::string(save_again)};
}

Result<Dump> Parser::run() {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
    Line line;
    while (!error_ && dump::next_line(rest_, number_, line))
        if (!line.text.empty()) take(line);
    if (!error_) finish_bond();
    if (!error_ && dump_.bonds.empty()) error_ = nothing_found();
    if (error_) return tl::make_unexpected(std::move(*error_));
    return std::move(dump_);
}

} // namespace

Result<Dump> parse_dump(std::string_view text, const DumpOptions& options) {
    return Parser(text, options).run();
}

bool looks_like_dump(std::string_view text) {
    Line line;
    for (std::size_t number = 1; dump::next_line(text, number, line);)
        if (line.text.starts_with(driver_key) || line.text.starts_with(mode_key) ||
            line.text.starts_with(slave_key))
            return true;
    return false;
}

bool is_interface_name(std::string_view name) {
    return !name.empty() && name.size() <= max_name && name != "." && name != ".." &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return c != '/' && c != ':' && c != ' ' && (c < '\t' || c > '\r') && c != '\0';
           });
}

} // namespace bondtrace
