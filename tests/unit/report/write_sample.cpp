// SPDX-License-Identifier: GPL-2.0-or-later
// Writes the sample report to standard output: write_sample json|json-broken|csv|losses|text|ascii|colour
// [WIDTH] [empty]. ctest validates the JSON against its schema; people look at the text.
#include "tests/unit/report/sample_report.h"
#include "user/report/csv_writer.h"
#include "user/report/json_writer.h"
#include "user/report/losses_text.h"
#include "user/report/text_writer.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
    using namespace bondtrace;
    const std::string_view format = argc > 1 ? argv[1] : "";
    TextOptions options;
    if (argc > 2) options.width = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
    options.ascii = format == "ascii";
    options.colour = format == "colour";
    const bool empty = argc > 3 && std::string_view(argv[3]) == "empty";
    const FlowsReport report = empty ? test::empty_report() : test::sample_report();

    std::string text;
    if (format == "json") {
        text = flows_json(report);
    } else if (format == "json-broken") {
        text = flows_json(report);
        text.replace(text.rfind("\"protocol\""), 10, "\"protocoll\"");
    } else if (format == "csv") {
        text = flows_csv(report);
    } else if (format == "losses") {
        text = losses_text(report, options);
    } else if (format == "text" || options.ascii || options.colour) {
        text = flows_text(report, options);
    } else {
        std::fputs("usage: write_sample json|json-broken|csv|losses|text|ascii|colour [WIDTH] [empty]\n",
                   stderr);
        return 64;
    }
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? 0
                                                                                                       : 1;
}
