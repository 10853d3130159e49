// SPDX-License-Identifier: GPL-2.0-or-later
// Fuzz target of everything that reads saved states: whatever the bytes are, each reader gives bonds or an
// error with its source's name, the findings can be made of the bonds, and nothing is read outside the text.
#include "user/audit/lacp_findings.h"
#include "user/audit/mode_findings.h"
#include "user/audit/state_findings.h"
#include "user/bond/dump_parser.h"
#include "user/bond/iplink_parser.h"
#include "user/bond/merge.h"
#include "user/bond/supportconfig.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

using namespace bondtrace;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

void audit(const Bond& bond) {
    require(!bond.name.empty());
    const StateWindow window = compare(bond, bond, 1);
    for (const auto& findings :
         {state_findings(bond, &window), lacp_findings(bond, &window), mode_findings(bond, &window)})
        for (const Finding& finding : findings)
            require(!finding.id.empty() && !finding.summary.empty() && !finding.seen.empty());
}

void audit(const Result<std::vector<Bond>>& bonds, std::string_view source) {
    if (!bonds) return require(bonds.error().what.starts_with(source));
    for (const Bond& bond : *bonds)
        audit(bond);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A copy of exactly the text's size, so that AddressSanitizer sees a read beyond its end.
    const auto copy = std::make_unique<char[]>(size);
    for (std::size_t i = 0; i < size; ++i)
        copy[i] = static_cast<char>(data[i]);
    const std::string_view text(copy.get(), size);

    const auto dump = parse_dump(text, {.source = "dump", .name = "bond0"});
    if (dump) {
        require(!dump->bonds.empty());
        for (const Bond& bond : dump->bonds)
            audit(bond);
        // Two bonds of one text need not agree; putting them together must cope.
        Bond both = dump->bonds.front();
        add_dump(dump->bonds.back(), both);
        audit(both);
    } else {
        require(dump.error().what.starts_with("dump"));
    }
    (void)parse_dump(text, {.source = "kernel", .name = "bond0", .from_kernel = true});
    audit(parse_ip_json(text, "json"), "json");
    audit(parse_ip_text(text, "text"), "text");
    for (const ArchivedText& section : supportconfig_sections(text)) {
        require(section.text.empty() ||
                (section.text.data() >= text.data() &&
                 section.text.data() + section.text.size() <= text.data() + text.size()));
        (void)parse_dump(section.text,
                         {.source = "section", .name = section.bond, .first_line = section.first_line});
    }
    (void)looks_like_dump(text);
    (void)looks_like_ip_text(text);
    return 0;
}
