// SPDX-License-Identifier: GPL-2.0-or-later
// What all commands share: the common options, printing errors, the signals that end a run.
#pragma once

#include "user/base/exit_status.h"
#include "user/base/fd.h"
#include "user/base/netns.h"
#include "user/base/result.h"
#include "user/base/text_pieces.h"
#include "user/report/flows_report.h"
#include "user/trace/tracer.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace bondtrace {

struct CommonOptions {
    std::string netns; // empty: the caller's own
    bool verbose = false;
    std::string attach = "auto";
    std::vector<std::string> links;
    bool wait = false; // for bonds or links that are not there yet
};

// --netns and -v, which is described as `verbose`.
void add_common_options(CLI::App& command, CommonOptions& options,
                        const char* verbose = "Show what libbpf and the verifier say");

// --attach, and --links with `with_links`, for commands that trace.
void add_attach_options(CLI::App& command, CommonOptions& options, bool with_links);

// --wait: for bonds (or links) that are not there yet.
void add_wait_option(CLI::App& command, CommonOptions& options);

// What the options mean for tracing: --attach, --links, -v.
TraceConfig trace_config(const CommonOptions& options, std::uint32_t max_flows);

// Bonds were named, and links as well.
Result<void> check_links(const CommonOptions& options, const std::vector<std::string>& bonds);

// The namespace that the options name.
Result<NetNs> open_netns(const CommonOptions& options);

// Prints "bondtrace: WHAT" and the advice to standard error; returns the status to exit with.
ExitStatus report_error(const Error& error);

// Writes to standard output; an error is worth an exit status, but for a reader that has gone away.
ExitStatus print_out(const std::string& text, ExitStatus status);
// The same for what is made in pieces: `write` gives them to the sink that it gets.
ExitStatus print_out(const std::function<bool(const TextSink&)>& write, ExitStatus status);

// Fills version, time and kernel.
ReportHeader make_header(std::string attachment);

// Columns of the terminal on standard output, or of $COLUMNS; 0 when there is neither.
unsigned terminal_width();
enum class ColorChoice { automatic, always, never };
// --color auto|always|never.
void add_color_option(CLI::App& command, ColorChoice& choice);
// Left to us: a terminal that is not dumb, and NO_COLOR is not set (no-color.org).
bool wants_color(ColorChoice choice);
// The locale's characters are UTF-8.
bool is_utf8();

// SIGINT, SIGTERM and SIGHUP as a readable descriptor instead of the end of the process. Block before
// starting threads. `with_resizes`: and SIGWINCH.
Result<Fd> open_signals(bool with_resizes = false);

} // namespace bondtrace
