// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/check_command.h"

#include "user/bond/netlink_reader.h"
#include "user/report/check_report.h"
#include "user/trace/support.h"
#include "user/trace/tracer.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

struct CheckOptions {
    CommonOptions common;
    bool json = false;
};

ExitStatus run_check(const CheckOptions& options) {
    auto support = probe_support(true);
    if (!support) return report_error(support.error());
    const auto netns = open_netns(options.common);
    if (!netns) return report_error(netns.error());

    CheckReport report;
    report.support = std::move(*support);
    report.attachments = compiled_attachments();
    report.libbpf = libbpf_version();
    if (const auto usable = report.support.fentry(); !usable) report.obstacle = usable.error();
    report.header = make_header(report.obstacle ? "none" : report.attachments.front());
    const auto reader = LinkReader::open(*netns);
    const auto bonds = reader ? reader->read_bonds() : tl::make_unexpected(reader.error());
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
    command->add_flag("--json", options->json,
                      "A JSON document instead of text (docs/schema/check.schema.json)");
    command->footer("Exit status: 0 tracing will work, 3 it cannot (the reason is printed).");
    command->callback([options, &status] { status = run_check(*options); });
}

} // namespace bondtrace
