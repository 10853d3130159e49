// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a sample audit to standard output: write_audit json|html|text|ascii|colour
// live|healthy|unwatched|empty|FILE [WIDTH]. ctest validates the JSON against its schema; people look at the
// text.
#include "tests/unit/report/sample_audit.h"
#include "user/report/audit_html.h"
#include "user/report/audit_json.h"
#include "user/report/audit_text.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

int write_audit(std::string_view format, const std::string& which, unsigned width) {
    using namespace bondtrace;
    const bool saved = which.find('/') != std::string::npos;
    const AuditReport report = saved ? test::saved_audit(which) : test::sample_audit(which);
    const TextOptions options{.width = width, .ascii = format == "ascii", .colour = format == "colour"};
    const std::string text = format == "json"   ? audit_json(report)
                             : format == "html" ? audit_html(report)
                                                : audit_text(report, options);
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? 0
                                                                                                       : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs(
            "usage: write_audit json|html|text|ascii|colour live|healthy|unwatched|empty|FILE [WIDTH]\n",
            stderr);
        return 64;
    }
    try {
        return write_audit(argv[1], argv[2],
                           argc > 3 ? static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)) : 0);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "write_audit: %s\n", failure.what());
        return 1;
    }
}
