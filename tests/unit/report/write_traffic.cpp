// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a sample traffic test to standard output: write_traffic json|json-broken|text|ascii|colour
// tcp|many|udp|alone [WIDTH]. ctest validates the JSON against its schema; people look at the text.
#include "tests/unit/report/sample_traffic.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    using namespace bondtrace;
    if (argc < 3) {
        std::fputs("usage: write_traffic json|json-broken|text|ascii|colour tcp|many|udp|alone [WIDTH]\n",
                   stderr);
        return 64;
    }
    const std::string_view format = argv[1];
    const TextOptions options{.width =
                                  argc > 3 ? static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)) : 0,
                              .ascii = format == "ascii",
                              .colour = format == "colour"};
    const TrafficReport report = test::sample_traffic(argv[2]);
    std::string text = format.substr(0, 4) == "json" ? traffic_json(report) : traffic_text(report, options);
    if (format == "json-broken") text.replace(text.rfind("\"local_port\""), 12, "\"local_prot\"");
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? 0
                                                                                                       : 1;
}
