// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/whatif_command.h"

#include "user/base/units.h"
#include "user/bond/netlink_reader.h"
#include "user/bond/usable.h"
#include "user/cli/window.h"
#include "user/probe/era_probe.h"
#include "user/report/flows_build.h"
#include "user/report/whatif_report.h"
#include "user/trace/observation.h"
#include "user/whatif/capture.h"
#include "user/whatif/saved_flows.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bondtrace {
namespace {

using std::chrono::nanoseconds;

struct WhatifOptions {
    CommonOptions common;
    std::string bond;
    std::string duration = "10s";
    std::string from, pcap, slaves, sender, era;
    std::uint32_t max_flows = 2'000'000;
    bool json = false;
    ColorChoice color = ColorChoice::automatic;
};

struct WhatifRequest {
    nanoseconds duration{};
    std::vector<unsigned> slaves; // empty: around the current number
    std::optional<SenderFilter> sender;
    std::optional<EraFinding> era;
};

Result<std::vector<unsigned>> parse_slave_counts(const std::string& text) {
    constexpr unsigned most = 256;
    std::vector<unsigned> counts;
    for (std::size_t start = 0; !text.empty() && start <= text.size();) {
        const auto end = std::min(text.find(',', start), text.size());
        const char* const begin = text.data() + start;
        unsigned value = 0;
        const auto parsed = std::from_chars(begin, text.data() + end, value);
        if (parsed.ec != std::errc{} || parsed.ptr != text.data() + end || value == 0 || value > most)
            return fail(ErrorKind::usage,
                        fmt::format("--slaves: \"{}\" is no list of numbers of slaves", text),
                        "give one, or several as 2,3,4; 256 at most");
        if (std::find(counts.begin(), counts.end(), value) == counts.end()) counts.push_back(value);
        start = end + 1;
    }
    return counts;
}

Result<WhatifRequest> understand(const WhatifOptions& options) {
    WhatifRequest request;
    const auto duration = parse_duration(options.duration);
    if (!duration) return fail(ErrorKind::usage, "--for: " + duration.error().what, duration.error().advice);
    request.duration = *duration;
    auto slaves = parse_slave_counts(options.slaves);
    if (!slaves) return tl::make_unexpected(slaves.error());
    request.slaves = std::move(*slaves);
    if (!options.sender.empty()) {
        const auto mac = parse_mac(options.sender);
        const auto prefix = parse_prefix(options.sender);
        if (!mac && !prefix)
            return fail(ErrorKind::usage, fmt::format("--sender: \"{}\" is no address", options.sender),
                        "give an IP address, a prefix or a MAC address");
        if (mac)
            request.sender = *mac;
        else
            request.sender = *prefix;
        if (options.pcap.empty()) return fail(ErrorKind::usage, "--sender belongs to --pcap");
    }
    if (!options.era.empty()) {
        const auto era = parse_era(options.era);
        if (!era) return fail(ErrorKind::usage, "--era: " + era.error().what, era.error().advice);
        request.era = EraFinding{*era, EraSource::given, {}};
    }
    return request;
}

// What the answer is made of, whichever the source.
struct Gathered {
    WhatifReport report;
    WhatifUnits units;
};

void set_current(WhatifReport& report, const std::string& name, BondMode mode, HashPolicy policy, bool used,
                 std::size_t usable) {
    report.bond = name;
    report.mode = mode;
    if (used) report.current.policy = policy;
    report.current.slaves = static_cast<unsigned>(usable);
}

Result<Bond> read_bond(const NetNs& netns, const std::string& name) {
    const auto reader = LinkReader::open(netns);
    if (!reader) return tl::make_unexpected(reader.error());
    auto bonds =
        reader->find_bonds(name.empty() ? std::vector<std::string>{} : std::vector<std::string>{name});
    if (!bonds) return tl::make_unexpected(bonds.error());
    if (bonds->size() > 1)
        return fail(ErrorKind::usage, fmt::format("there are {} bonds here", bonds->size()),
                    "name one of them");
    return std::move(bonds->front());
}

Result<Gathered> watch_bond(const WhatifOptions& options, const WhatifRequest& request) {
    const auto netns = open_netns(options.common);
    if (!netns) return tl::make_unexpected(netns.error());
    const auto signals = open_signals();
    if (!signals) return tl::make_unexpected(signals.error());
    const auto bond = read_bond(*netns, options.bond);
    if (!bond) return tl::make_unexpected(bond.error());
    auto era = request.era ? *request.era : find_era();
    if (!era) return tl::make_unexpected(era.error());
    auto observation = Observation::start(
        *netns, {bond->name},
        trace_config(options.common, std::min(options.max_flows, std::uint32_t{16} * 1024 * 1024)));
    if (!observation) return tl::make_unexpected(observation.error());
    if (const auto dropped = drop_privileges(*netns); !dropped) return tl::make_unexpected(dropped.error());
    if (options.common.verbose) say_attachment(*observation);
    const auto interrupted = watch(&*observation, *signals, request.duration, observation->bond_names());
    if (!interrupted) return tl::make_unexpected(interrupted.error());
    const auto observed = observation->finish();
    if (!observed) return tl::make_unexpected(observed.error());

    const FlowsReport flows = build_flows_report(*observed, {}, options.common.netns);
    const Bond& now = observed->bonds.front().bond;
    Gathered result;
    result.units = units_of(flows.flows, 0, era->era);
    for (const SlaveReport& slave : flows.bonds.front().slaves) {
        result.units.lost_packets += slave.tx.untracked.wire_packets;
        result.units.lost_bytes += slave.tx.untracked.wire_bytes;
    }
    result.report.header = make_header(observed->attachment);
    result.report.name = now.name;
    result.report.seconds = observed->seconds;
    result.report.interrupted = *interrupted;
    result.report.era = std::move(*era);
    set_current(result.report, now.name, now.mode, now.policy, uses_hash_policy(now),
                usable_slaves(now).size());
    return result;
}

Result<std::string> read_text(const std::string& path) {
    constexpr std::size_t most = std::size_t{2} << 30U;
    std::FILE* const file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
    if (!file) return fail_errno(errno, fmt::format("opening {}", path), {}, ErrorKind::usage);
    std::string text;
    std::vector<char> piece(1U << 20U);
    for (;;) {
        const std::size_t size = std::fread(piece.data(), 1, piece.size(), file);
        text.append(piece.data(), size);
        if (size < piece.size() || text.size() > most) break;
    }
    const bool failed = std::ferror(file) != 0;
    if (file != stdin && std::fclose(file) != 0) return fail_errno(errno, fmt::format("reading {}", path));
    if (failed) return fail_errno(errno, fmt::format("reading {}", path), {}, ErrorKind::usage);
    if (text.size() > most) return fail(ErrorKind::usage, fmt::format("{} is larger than 2 GiB", path));
    return text;
}

Result<Gathered> read_document(const WhatifOptions& options, const WhatifRequest& request) {
    const auto text = read_text(options.from);
    if (!text) return tl::make_unexpected(text.error());
    const auto saved = parse_saved_flows(*text);
    if (!saved)
        return fail(saved.error().kind, fmt::format("{}: {}", options.from, saved.error().what),
                    saved.error().advice);
    std::vector<std::string> names;
    for (const SavedBond& bond : saved->bonds)
        names.push_back(bond.name);
    const auto chosen = options.bond.empty() && names.size() == 1
                            ? names.begin()
                            : std::find(names.begin(), names.end(), options.bond);
    if (chosen == names.end())
        return fail(ErrorKind::usage,
                    options.bond.empty() ? fmt::format("{} has {} bonds", options.from, names.size())
                                         : fmt::format("{} has no bond {}", options.from, options.bond),
                    fmt::format("name one of: {}", fmt::join(names, ", ")));
    const auto index = static_cast<std::size_t>(chosen - names.begin());
    const SavedBond& bond = saved->bonds[index];
    Gathered result;
    result.report.header = make_header("none");
    result.report.source = WhatifReport::Source::flows;
    result.report.name = options.from;
    result.report.seconds = saved->seconds;
    result.report.incomplete = !saved->complete;
    result.report.era = request.era ? *request.era
                        : saved->era
                            ? *saved->era
                            : assume_era(saved->kernel, "from the document's release " + saved->kernel);
    result.units = units_of(saved->flows, index, result.report.era.era);
    set_current(result.report, bond.name, bond.mode, bond.policy, bond.policy_used, bond.usable.size());
    return result;
}

// A line on the terminal while a large file is read; true when a signal has come.
class CaptureProgress {
  public:
    CaptureProgress(const std::FILE* file, const Fd& signals)
        : signals_(signals), shown_(isatty(STDERR_FILENO) != 0), started_(std::chrono::steady_clock::now()) {
        struct stat status {};
        if (fstat(fileno(const_cast<std::FILE*>(file)), &status) == 0 && S_ISREG(status.st_mode))
            size_ = static_cast<std::uint64_t>(status.st_size);
    }
    ~CaptureProgress() {
        if (written_) fmt::print(stderr, "\r\033[K");
    }
    CaptureProgress(const CaptureProgress&) = delete;
    CaptureProgress& operator=(const CaptureProgress&) = delete;

    bool ended(std::uint64_t position, std::size_t flows) {
        const auto now = std::chrono::steady_clock::now();
        if (shown_ && now - started_ > std::chrono::seconds(1) &&
            now - last_ > std::chrono::milliseconds(200)) {
            const std::string part =
                size_ > 0 ? fmt::format(" ({})", format_percent(std::min(position, size_), size_)) : "";
            fmt::print(stderr, "\r\033[Kread {}{}, {} flows, Ctrl-C ends it now", format_bytes(position),
                       part, format_count(flows));
            std::fflush(stderr);
            written_ = true;
            last_ = now;
        }
        pollfd waiting{signals_.get(), POLLIN, 0};
        return poll(&waiting, 1, 0) > 0;
    }

  private:
    const Fd& signals_;
    bool shown_, written_ = false;
    std::uint64_t size_ = 0;
    std::chrono::steady_clock::time_point started_, last_;
};

Result<Gathered> read_packets(const WhatifOptions& options, const WhatifRequest& request) {
    const auto signals = open_signals();
    if (!signals) return tl::make_unexpected(signals.error());
    Gathered result;
    WhatifReport& report = result.report;
    if (!options.bond.empty()) {
        const auto netns = open_netns(options.common);
        if (!netns) return tl::make_unexpected(netns.error());
        const auto bond = read_bond(*netns, options.bond);
        if (!bond) return tl::make_unexpected(bond.error());
        set_current(report, bond->name, bond->mode, bond->policy, uses_hash_policy(*bond),
                    usable_slaves(*bond).size());
    } else if (request.slaves.empty()) {
        return fail(ErrorKind::usage, "over how many slaves?",
                    "name a bond of this host, or give --slaves 2");
    }
    auto era = request.era ? *request.era : find_era();
    if (!era) return tl::make_unexpected(era.error());
    report.header = make_header("none");
    report.source = WhatifReport::Source::capture;
    report.name = options.pcap;
    report.era = std::move(*era);

    const auto file = open_capture(options.pcap);
    if (!file) return tl::make_unexpected(file.error());
    UnitTable table(report.era.era, options.max_flows);
    CaptureProgress progress(*file, *signals);
    bool from_ethernet = false;
    std::uint64_t others = 0;
    const auto count = read_capture(
        *file, options.pcap,
        [&](const CapturedPacket& packet) {
            from_ethernet = packet.link == LinkType::ethernet || packet.link == LinkType::raw_ip;
            if (request.sender && !is_from(packet, *request.sender))
                ++others;
            else
                table.add(packet);
        },
        [&](std::uint64_t position) { return !progress.ended(position, table.size()); });
    if (!count) return tl::make_unexpected(count.error());
    result.units = table.finish();
    result.units.elsewhere_packets += others;
    report.seconds = count->seconds;
    report.incomplete = count->truncated;
    report.interrupted = count->stopped;
    report.both_directions = from_ethernet && !request.sender;
    return result;
}

ExitStatus run_whatif(const WhatifOptions& options) {
    const auto request = understand(options);
    if (!request) return report_error(request.error());
    auto gathered = !options.pcap.empty()   ? read_packets(options, *request)
                    : !options.from.empty() ? read_document(options, *request)
                                            : watch_bond(options, *request);
    if (!gathered) return report_error(gathered.error());
    WhatifReport& report = gathered->report;
    const WhatifUnits& units = gathered->units;
    std::vector<unsigned> counts = request->slaves;
    if (counts.empty()) {
        if (report.current.slaves == 0)
            return report_error({ErrorKind::unavailable,
                                 fmt::format("{} has no usable slave", report.bond.value_or("the bond")),
                                 "--slaves 2 asks for a number of slaves"});
        counts = neighbouring_counts(report.current.slaves);
    }
    report.flows = units.units.size();
    for (const Unit& unit : units.units) {
        report.packets += unit.packets;
        report.bytes += unit.bytes;
    }
    report.lost_packets = units.lost_packets;
    report.lost_bytes = units.lost_bytes;
    report.elsewhere_packets = units.elsewhere_packets;
    report.rows = analyse(units, counts, report.current);
    report.notes = whatif_notes(units, report.rows);
    const ExitStatus status = report.flows > 0 ? ExitStatus::fine : ExitStatus::cannot_tell;
    const TextOptions text{
        .width = terminal_width(), .ascii = !is_utf8(), .colour = wants_color(options.color)};
    return print_out(options.json ? whatif_json(report) : whatif_text(report, text), status);
}

} // namespace

void add_whatif_command(CLI::App& app, ExitStatus& status) {
    const auto options = std::make_shared<WhatifOptions>();
    CLI::App* command = app.add_subcommand(
        "whatif", "How traffic would spread under every hash policy and over other numbers of slaves");
    command->add_option("BOND", options->bond, "The bond; not needed where there is one only");
    command->add_option("--for", options->duration, "How long to watch it: 10s, 500ms, 2m")
        ->type_name("DURATION")
        ->capture_default_str();
    auto* from =
        command->add_option("--from", options->from, "Instead: a document of `bondtrace flows --json`, or -")
            ->type_name("FILE");
    command
        ->add_option("--pcap", options->pcap,
                     "Instead: a capture (pcap or pcapng; Ethernet, cooked, raw IP), or -")
        ->type_name("FILE")
        ->excludes(from);
    command
        ->add_option("--sender", options->sender,
                     "Of a capture only what has this source: an IP address, a prefix or a MAC address")
        ->type_name("ADDRESS");
    command
        ->add_option("--slaves", options->slaves,
                     "Numbers of slaves, such as 2,3,4; otherwise those usable now, one less and one more")
        ->type_name("N,...");
    command
        ->add_option("--era", options->era,
                     "Which kernel's hash: a release (6.1, 5.10), or traits; otherwise this kernel is asked")
        ->type_name("ERA");
    command
        ->add_option("--max-flows", options->max_flows,
                     "Most flows that are kept; further ones are counted apart")
        ->type_name("N")
        ->check(CLI::Range(1U, 1U << 28U))
        ->capture_default_str();
    command->add_flag("--json", options->json, "A JSON document (docs/schema/whatif.schema.json)");
    add_color_option(*command, options->color);
    add_common_options(*command, options->common);
    add_attach_options(*command, options->common, false);
    command->footer(
        "Examples:\n"
        "  bondtrace whatif bond0 --for 1m\n"
        "  bondtrace whatif bond0 --slaves 2,3,4\n"
        "  bondtrace flows bond0 --for 1h --json >flows.json; bondtrace whatif --from flows.json\n"
        "  bondtrace whatif --pcap eth0.pcap --slaves 2 --sender 10.0.0.1\n"
        "Exit status: 0 fine, 3 nothing was sent or could not attach, 64 wrong usage.");
    command->callback([options, &status] { status = run_whatif(*options); });
}

} // namespace bondtrace
