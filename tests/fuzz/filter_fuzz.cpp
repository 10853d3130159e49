// SPDX-License-Identifier: GPL-2.0-or-later
// Fuzzes the --filter expression: whatever comes in, parsing ends, an error is a usage error that shows no
// control character, and an accepted filter can be evaluated. Built by the preset "fuzz"; the
// words of the language are in filter.dict.
#include "user/flow/filter.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace bondtrace;

const Names names = {[](std::size_t, int slave) -> std::string_view { return slave == 1 ? "s0" : "s1"; },
                     [](std::size_t) -> std::string_view { return "bond0"; }};

void require(bool condition) {
    if (!condition) std::abort();
}

Conversation conversation() {
    Conversation flow;
    flow.key.ip = true;
    flow.key.ethertype = 0x0800;
    flow.key.protocol = 6;
    flow.key.local = *parse_ip("10.77.0.1");
    flow.key.remote = *parse_ip("10.77.0.2");
    flow.key.detail = Ports{40001, 443};
    flow.tx.resize(1);
    flow.tx[0].slave_ifindex = 1;
    return flow;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Conversation subject = conversation();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto filter = parse_filter(text);
    if (!filter) {
        require(filter.error().kind == ErrorKind::usage);
        const std::string& what = filter.error().what;
        require(what.starts_with("filter: "));
        require(std::all_of(what.begin(), what.end(),
                            [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; }));
        return 0;
    }
    // Not X is never what X is; a second parsing gives the same answer.
    const bool truth = filter->matches(subject, names);
    const auto again = parse_filter(text);
    require(again && again->matches(subject, names) == truth);
    const auto negated = parse_filter("!(" + std::string(text) + ")");
    if (negated) require(negated->matches(subject, names) != truth);
    return 0;
}
