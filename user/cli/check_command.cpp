// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/check_command.h"

#include "user/bond/link_group.h"
#include "user/bond/netlink_reader.h"
#include "user/report/check_report.h"
#include "user/trace/support.h"
#include "user/trace/tracer.h"

#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

struct CheckOptions {
    CommonOptions common;
    bool json = false;
};

// Loads the programs of each attachment, and sees which one a command would use.
void try_rungs(CheckReport& report, const NetNs& netns, const CommonOptions& common) {
    const std::optional<Attachment> wanted = parse_attachment(common.attach);
    std::optional<Attachment> chosen;
    for (const Attachment attachment : all_attachments) {
        TraceConfig config = trace_config(common, TraceConfig{}.max_flows);
        config.attach = attachment;
        CheckReport::Rung& rung = report.rungs.emplace_back(CheckReport::Rung{attachment, {}});
        if (const auto tracer = Tracer::attach(netns, config); !tracer) rung.obstacle = tracer.error();
        if (wanted.value_or(attachment) != attachment || chosen) continue;
        if (!rung.obstacle)
            chosen = attachment;
        else if (!report.obstacle || report.obstacle->kind == ErrorKind::usage)
            report.obstacle = rung.obstacle; // of the best one that was meant: its advice is the best
    }
    if (chosen) report.obstacle.reset();
    report.header = make_header(chosen ? std::string(to_text(*chosen)) : "none");
}

ExitStatus run_check(const CheckOptions& options) {
    auto support = probe_support();
    if (!support) return report_error(support.error());
    read_symbols(*support);
    const auto netns = open_netns(options.common);
    if (!netns) return report_error(netns.error());

    CheckReport report;
    report.support = std::move(*support);
    report.attachments = compiled_attachments();
    report.libbpf = libbpf_version();
    try_rungs(report, *netns, options.common);
    const auto reader = LinkReader::open(*netns);
    const std::vector<std::string>& links = options.common.links;
    const auto bonds = !reader         ? tl::make_unexpected(reader.error())
                       : links.empty() ? reader->read_bonds()
                                       : find_link_group(*reader, links);
    if (!bonds && bonds.error().kind == ErrorKind::usage) return report_error(bonds.error()); // no such link
    if (bonds)
        report.bonds = *bonds;
    else
        report.bonds_error = bonds.error();

    const ExitStatus status = report.obstacle ? status_of(*report.obstacle) : ExitStatus::fine;
    return print_out(options.json ? check_json(report) : check_text(report), status);
}

} // namespace

void add_check_command(CLI::App& app, ExitStatus& status) {
    const auto options = std::make_shared<CheckOptions>();
    CLI::App* command =
        app.add_subcommand("check", "What this kernel and these privileges allow, in plain words");
    add_common_options(*command, options->common);
    add_attach_options(*command, options->common, true);
    command->add_flag("--json", options->json,
                      "A JSON document instead of text (docs/schema/check.schema.json)");
    command->footer("Exit status: 0 tracing will work, 3 it cannot (the reason is printed).");
    command->callback([options, &status] { status = run_check(*options); });
}

} // namespace bondtrace
