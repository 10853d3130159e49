// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/audit_command.h"

#include "user/audit/state_findings.h"
#include "user/base/units.h"
#include "user/bond/device_reader.h"
#include "user/bond/link_group.h"
#include "user/bond/manager.h"
#include "user/bond/source.h"
#include "user/cli/window.h"
#include "user/probe/era_probe.h"
#include "user/report/audit_html.h"
#include "user/report/audit_json.h"
#include "user/report/audit_text.h"
#include "user/report/flows_build.h"
#include "user/trace/observation.h"
#include "user/trace/support.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace {
namespace {

using std::chrono::nanoseconds;

struct AuditOptions {
    CommonOptions common;
    std::vector<std::string> bonds;
    std::string duration = "10s";
    std::string from;
    std::string era;
    std::uint32_t max_flows = TraceConfig{}.max_flows;
    std::string html;
    bool json = false;
    ColorChoice color = ColorChoice::automatic;
};

// The options that are more than words, understood.
struct AuditRequest {
    nanoseconds duration{};
    std::optional<EraFinding> era; // given by the user
};

Result<AuditRequest> understand(const AuditOptions& options) {
    AuditRequest request;
    const auto duration = parse_duration(options.duration);
    if (!duration) return fail(ErrorKind::usage, "--for: " + duration.error().what, duration.error().advice);
    request.duration = *duration;
    if (options.era.empty()) return request;
    const auto era = parse_era(options.era);
    if (!era) return fail(ErrorKind::usage, "--era: " + era.error().what, era.error().advice);
    request.era = EraFinding{*era, EraSource::given, {}};
    return request;
}

// Monitoring shows standard output and not standard error, so that what came to nothing says so there.
ExitStatus report_nothing(const Error& error, const AuditOptions& options) {
    if (error.kind == ErrorKind::usage || options.json) return report_error(error);
    return print_out(
        fmt::format("{}\n{}{}", unknown_line(error.what), error.advice, error.advice.empty() ? "" : "\n"),
        status_of(error));
}

Result<void> write_page(const AuditReport& report, const std::string& path) {
    const std::string page = audit_html(report);
    const auto close = [](std::FILE* file) { return std::fclose(file); };
    std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "we"), close);
    if (!file)
        return fail_errno(errno, fmt::format("opening {} to write the page", path),
                          "give --html a file in a directory that exists and that you may write to");
    const bool written = std::fwrite(page.data(), 1, page.size(), file.get()) == page.size();
    if (std::fclose(file.release()) != 0 || !written)
        return fail_errno(errno, fmt::format("writing {}", path));
    return {};
}

ExitStatus print_report(AuditReport& report, const std::vector<Finding>& others,
                        const AuditOptions& options) {
    report.netns = options.common.netns;
    report.verbose = options.common.verbose;
    report.result = audit(report.input, others);
    ExitStatus status = report.result.status;
    if (!options.html.empty())
        if (const auto written = write_page(report, options.html); !written)
            status = report_error(written.error());
    const TextOptions text{
        .width = terminal_width(), .ascii = !is_utf8(), .colour = wants_color(options.color)};
    return print_out(options.json ? audit_json(report) : audit_text(report, text), status);
}

// The bonds meant, and a finding for each name that is none.
struct Selection {
    std::vector<Bond> bonds;
    std::vector<Finding> missing;

    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const Bond& bond : bonds)
            names.push_back(bond.name);
        return names;
    }
    void miss(const std::string& name, std::string why) {
        const bool known = std::any_of(missing.begin(), missing.end(),
                                       [&](const Finding& finding) { return finding.bond == name; });
        if (!known) missing.push_back(missing_bond(name, std::move(why)));
    }
};

std::string in_one_line(const Error& error) {
    return error.advice.empty() ? error.what : fmt::format("{}; {}", error.what, error.advice);
}

Result<Selection> select(const LinkReader& reader, const std::vector<std::string>& names) {
    const auto snapshot = reader.read_snapshot();
    if (!snapshot) return tl::make_unexpected(snapshot.error());
    Selection selection;
    std::vector<std::string> found;
    for (const std::string& name : names) {
        const auto one = select_bonds(*snapshot, {name});
        if (one)
            found.push_back(name);
        else if (one.error().kind == ErrorKind::usage)
            selection.miss(name, in_one_line(one.error()));
        else
            return tl::make_unexpected(one.error());
    }
    if (!names.empty() && found.empty()) return selection;
    auto bonds = select_bonds(*snapshot, found);
    if (!bonds) return tl::make_unexpected(bonds.error());
    selection.bonds = std::move(*bonds);
    return selection;
}

Result<Selection> select_links(const LinkReader& reader, const AuditOptions& options) {
    auto group = find_link_group(reader, options.common.links);
    if (!group) return tl::make_unexpected(group.error());
    return Selection{std::move(*group), {}};
}

// The bonds of `selection` as they are now; one that has gone is missing.
Result<std::vector<Bond>> read_again(const LinkReader& reader, const AuditOptions& options,
                                     Selection& selection, std::vector<std::string>& notes) {
    // The group, should links of it have gone, is still the group.
    const bool links = !options.common.links.empty();
    const auto all =
        links ? find_link_group(reader, options.common.links, LinksMissing::allowed) : reader.read_bonds();
    if (!all) return tl::make_unexpected(all.error());
    std::vector<Bond> now;
    for (const Bond& before : selection.bonds) {
        const auto same = std::find_if(all->begin(), all->end(),
                                       [&](const Bond& bond) { return bond.ifindex == before.ifindex; });
        if (same != all->end()) {
            Bond& bond = now.emplace_back(*same);
            // The host's files are about its own namespace.
            if (reader.netns().is_current() && !bond.group)
                bond.manager = find_manager("/", bond.name, bond.ifindex);
            // An audit stands without them: what is not told is unknown.
            if (const auto added = add_device_facts(reader.netns(), bond); !added)
                notes.push_back(fmt::format("programs and offloads of {} are not known: {}", bond.name,
                                            in_one_line(added.error())));
        } else
            selection.miss(before.name, "it was removed while it was watched");
    }
    return now;
}

// An audit stands without the era's last certainty, so that a kernel that answers like none known is no error
// here.
EraFinding era_of_this_kernel() {
    const auto found = find_era_for_checking();
    return found ? *found : assume_era(kernel_release(), found.error().what);
}

// Watches; without being able to attach, the time passes all the same, for counters move in it.
Result<void> watch_traffic(AuditReport& report, const AuditOptions& options, const AuditRequest& request,
                           const NetNs& netns, const Fd& signals, const std::vector<std::string>& names) {
    const EraFinding era = request.era ? *request.era : era_of_this_kernel();
    // A group has no name of an interface.
    auto observation =
        Observation::start(netns, options.common.links.empty() ? names : std::vector<std::string>{},
                           trace_config(options.common, options.max_flows));
    if (!observation) report.input.obstacle = observation.error();
    if (const auto dropped = drop_privileges(netns); !dropped) return dropped;
    if (options.common.verbose)
        fmt::print(stderr, "bondtrace: {} {}\n", observation ? "counting on" : "reading",
                   fmt::join(names, ", "));
    const auto started = std::chrono::steady_clock::now();
    const auto interrupted = watch(observation ? &*observation : nullptr, signals, request.duration, names);
    if (!interrupted) return tl::make_unexpected(interrupted.error());
    report.interrupted = *interrupted;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (!observation) return {};
    const auto observed = observation->finish();
    if (!observed) return tl::make_unexpected(observed.error());
    report.header.attach = observed->attachment;
    report.seconds = observed->seconds;
    FlowsReport traffic = build_flows_report(*observed, report.header, options.common.netns);
    traffic.interrupted = *interrupted;
    report.input.traffic = std::move(traffic);
    report.input.era = era.era;
    report.era = era;
    return {};
}

ExitStatus audit_live(const AuditOptions& options, const AuditRequest& request) {
    const auto netns = open_netns(options.common);
    if (!netns) return report_nothing(netns.error(), options);
    const auto signals = open_signals();
    if (!signals) return report_nothing(signals.error(), options);
    const auto there = await_bonds(options.common, options.bonds, *netns, *signals);
    if (!there) return report_nothing(there.error(), options);
    if (!*there) return ExitStatus::cannot_tell;
    const auto reader = LinkReader::open(*netns);
    if (!reader) return report_nothing(reader.error(), options);
    auto selection =
        options.common.links.empty() ? select(*reader, options.bonds) : select_links(*reader, options);
    if (!selection) return report_nothing(selection.error(), options);

    AuditReport report;
    report.header = make_header("none");
    if (!selection->bonds.empty()) {
        const auto watched = watch_traffic(report, options, request, *netns, *signals, selection->names());
        if (!watched) return report_nothing(watched.error(), options);
        auto now = read_again(*reader, options, *selection, report.notes);
        if (!now) return report_nothing(now.error(), options);
        report.input.before = std::move(selection->bonds);
        report.input.bonds = std::move(*now);
    }
    return print_report(report, selection->missing, options);
}

ExitStatus audit_saved(const AuditOptions& options) {
    auto saved = read_saved_state(options.from);
    if (!saved) return report_nothing(saved.error(), options);
    AuditReport report;
    report.header = make_header("none");
    report.header.kernel.clear(); // this machine's
    report.notes = std::move(saved->notes);
    // Of a copy of a host's files; of a single text's directory nothing is known.
    if (std::error_code error; std::filesystem::is_directory(options.from, error))
        for (Bond& bond : saved->bonds)
            bond.manager = find_manager(options.from, bond.name, bond.ifindex);
    std::vector<Finding> missing;
    if (options.bonds.empty()) report.input.bonds = std::move(saved->bonds);
    for (const std::string& name : options.bonds) {
        const auto named = std::find_if(saved->bonds.begin(), saved->bonds.end(),
                                        [&](const Bond& bond) { return bond.name == name; });
        if (named != saved->bonds.end())
            report.input.bonds.push_back(*named);
        else
            missing.push_back(missing_bond(name, fmt::format("{} does not tell of it", options.from)));
    }
    return print_report(report, missing, options);
}

ExitStatus run_audit(const AuditOptions& options) {
    const auto request = understand(options);
    if (!request) return report_error(request.error());
    if (const auto links = check_links(options.common, options.bonds); !links)
        return report_error(links.error());
    return options.from.empty() ? audit_live(options, *request) : audit_saved(options);
}

} // namespace

void add_audit_command(CLI::App& app, ExitStatus& status) {
    const auto options = std::make_shared<AuditOptions>();
    CLI::App* command = app.add_subcommand("audit", "What is wrong with a bond, why, and what mends it");
    command->add_option("BOND", options->bonds, "The bonds; all of the network namespace without any");
    auto* duration = command->add_option("--for", options->duration, "How long to watch: 10s, 500ms, 2m")
                         ->type_name("DURATION")
                         ->capture_default_str();
    auto* from =
        command
            ->add_option("--from", options->from,
                         "Audit what was saved instead: a copy of /proc/net/bonding/BOND, the output of "
                         "`ip -d [-j] link`, or a directory: an unpacked sosreport, supportconfig or a copy "
                         "of /proc/net/bonding. - is standard input. Needs no root, watches no traffic")
            ->type_name("FILE|DIR")
            ->excludes(duration);
    auto* max_flows = command
                          ->add_option("--max-flows", options->max_flows,
                                       "Size of the flow table: one entry a flow, direction and slave")
                          ->type_name("N")
                          ->check(CLI::Range(1U, 16U * 1024 * 1024))
                          ->capture_default_str();
    auto* era = command
                    ->add_option("--era", options->era,
                                 "The kernel's hash to hold flows against: a release (6.1, 5.10), or traits; "
                                 "otherwise that of this kernel's release is assumed")
                    ->type_name("ERA");
    command->add_flag("--json", options->json, "A JSON document (docs/schema/audit.schema.json)");
    command
        ->add_option("--html", options->html,
                     "Also write a page to this file: the same with plots, in one file without scripts")
        ->type_name("FILE");
    add_color_option(*command, options->color);
    add_common_options(*command, options->common);
    add_attach_options(*command, options->common, true);
    add_wait_option(*command, options->common);
    from->excludes(max_flows)
        ->excludes(era)
        ->excludes(command->get_option("--netns"))
        ->excludes(command->get_option("--wait"))
        ->excludes(command->get_option("--links"));
    command->footer(
        "The first line is that of a monitoring plug-in (Nagios, Icinga), with the shares as "
        "performance data.\n"
        "Examples:\n"
        "  bondtrace audit bond0\n"
        "  bondtrace audit --for 1m --html bond.html\n"
        "  bondtrace audit --from sosreport-host1/\n"
        "  bondtrace audit --links eth0,eth1          the two next hops of an ECMP route\n"
        "  ssh host1 cat /proc/net/bonding/bond0 | bondtrace audit --from -\n"
        "Ctrl-C ends the window early, with the result so far.\n"
        "Exit status: 0 fine, 1 warnings, 2 critical findings (a bond that is named and missing is "
        "one), 3 cannot tell (no traffic, too few flows, could not attach), 64 wrong usage.");
    command->callback([options, &status] { status = run_audit(*options); });
}

} // namespace bondtrace
