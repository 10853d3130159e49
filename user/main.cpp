// SPDX-License-Identifier: GPL-2.0-or-later
// The program: one subcommand a task, see user/cli.
#include "user/cli/audit_command.h"
#include "user/cli/check_command.h"
#include "user/cli/flows_command.h"
#include "user/cli/live_command.h"
#include "user/cli/predict_command.h"
#include "user/cli/prove_command.h"
#include "user/cli/traffic_command.h"
#include "user/cli/whatif_command.h"
#include "user/trace/tracer.h"
#include "version.h"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace {

using namespace bondtrace;

int run(int argc, char** argv) {
    CLI::App app{"bondtrace: which slave of a Linux bond carries which flow, counted in the kernel."};
    app.name("bondtrace");
    app.set_version_flag("--version", fmt::format("bondtrace {}\nlibbpf {}\nattachments {}", version,
                                                  libbpf_version(), fmt::join(compiled_attachments(), ", ")));
    app.require_subcommand(1);
    app.footer("Without a command: live.\n"
               "Examples:\n"
               "  bondtrace                             the live table of every bond here; h shows the keys\n"
               "  bondtrace flows bond0 --for 10s       every flow of bond0 and its slaves, once\n"
               "  bondtrace flows --filter 'port 443'   the same for every bond here, HTTPS only\n"
               "  bondtrace predict bond0 tcp 10.0.0.1:40000 10.0.0.2:443\n"
               "                                        the slave that this flow will take\n"
               "  bondtrace audit bond0                 is it balanced, and if not, why and what to do\n"
               "  bondtrace whatif bond0 --for 1m       which hash policy would spread it best?\n"
               "  bondtrace prove bond0 --peer 10.0.0.2 does generated traffic go where it should?\n"
               "  bondtrace check                       will it work on this kernel?\n"
               "Exit status: 0 fine, 1 warnings, 2 critical findings, 3 cannot tell, 64 wrong usage.");
    ExitStatus status = ExitStatus::fine;
    add_live_command(app, status);
    add_flows_command(app, status);
    add_predict_command(app, status);
    add_whatif_command(app, status);
    add_audit_command(app, status);
    add_traffic_command(app, status);
    add_prove_command(app, status);
    add_check_command(app, status);
    try {
        std::vector<std::string> arguments(argv + 1, argv + argc);
        // Alone, or with nothing but options of its own, it is the live table.
        const bool own = arguments.empty() || (arguments[0].starts_with('-') && arguments[0] != "-h" &&
                                               arguments[0] != "--help" && arguments[0] != "--version");
        if (own) arguments.insert(arguments.begin(), "live");
        std::reverse(arguments.begin(), arguments.end()); // CLI11 takes them from the end
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
        // CLI11 prints help, the version, or what is wrong; its own numbers are not our contract.
        return app.exit(error) == 0 ? 0 : static_cast<int>(ExitStatus::usage);
    }
    return static_cast<int>(status);
}

} // namespace

int main(int argc, char** argv) {
    std::setlocale(LC_CTYPE, "");  // the terminal's character set; numbers stay as in C
    std::signal(SIGPIPE, SIG_IGN); // a reader that goes away is an error of write(), not the end
    try {
        return run(argc, argv);
    } catch (const std::exception& failure) { // out of memory, or a mistake of ours
        fmt::print(stderr, "bondtrace: {}\n", failure.what());
        return static_cast<int>(ExitStatus::cannot_tell);
    }
}
