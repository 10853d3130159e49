// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/attachment.h"

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::array<Difference, 11> table{{
    {"packets sent",
     {"all that the bond hands to a slave", "all that the bond hands to a slave",
      "all that pass the queueing layer of a slave: netpoll (netconsole) goes around it"}},
    {"also counted as sent",
     {"nothing", "nothing",
      "what others send on the slave itself: ARP and NS monitor probes, LLDP, packet sockets, VLAN devices "
      "on the "
      "slave"}},
    {"packets received",
     {"all that reach the bond's receive handler", "all that reach the bond's receive handler",
      "all that reach the slave's ingress: also what a VLAN device on the slave takes before the bond"}},
    {"dropped as inactive",
     {"told apart from what is delivered", "told apart from what is delivered",
      "not told apart: what an inactive slave receives counts as delivered"}},
    {"hash inputs and order of slaves",
     {"noted with the first packet of each flow",
      "noted where the driver has BTF; otherwise the bond's state as bondtrace reads it, while that does not "
      "change",
      "the bond's state as bondtrace reads it, while that does not change; encap3+4 is not checked, TLS "
      "offload not "
      "seen"}},
    {"LACPDUs and learning packets",
     {"counted where the driver makes and takes them", "counted where the driver makes and takes them",
      "recognised by their bytes"}},
    {"a slave that joins",
     {"is counted from its first packet on", "is counted from its first packet on",
      "is counted from when bondtrace hears of it"}},
    {"packets that may be skipped",
     {"those that interrupt the program itself, counted as recursion",
      "those that arrive on a CPU that is reading the maps or runs another probe: seen as coverage below 1",
      "those that another tc program with precedence ends, seen as coverage below 1"}},
    {"programs' time for a packet sent, received (Linux 6.1, emulated CPU)",
     {"0.6 and 1.5 µs", "1.0 and 1.3 µs, to which the probes' own time comes", "1.5 and 1.2 µs"}},
    {"groups of links that are no bond (--links)", {"no", "no", "yes"}},
    {"left behind by kill -9",
     {"nothing", "nothing",
      "nothing where the kernel has TCX links (6.6); otherwise filters, which the next start removes"}},
}};

} // namespace

std::string_view to_text(Attachment attachment) {
    switch (attachment) {
    case Attachment::fentry:
        return "fentry";
    case Attachment::kprobe:
        return "kprobe";
    case Attachment::tc:
        return "tc";
    }
    return "?";
}

std::optional<Attachment> parse_attachment(std::string_view text) {
    for (const Attachment attachment : all_attachments)
        if (to_text(attachment) == text) return attachment;
    return std::nullopt;
}

std::string_view describe(Attachment attachment) {
    switch (attachment) {
    case Attachment::fentry:
        return "trampolines on the bonding driver's functions, by its BTF";
    case Attachment::kprobe:
        return "probes on the bonding driver's functions, by their symbols";
    case Attachment::tc:
        return "traffic control programs on every slave, in and out";
    }
    return "?";
}

std::span<const Difference> differences() {
    return table;
}

std::vector<std::string> limits(Attachment attachment) {
    std::vector<std::string> result;
    for (const Difference& difference : table)
        if (difference.of(attachment) != difference.of(Attachment::fentry))
            result.push_back(fmt::format("{}: {}", difference.subject, difference.of(attachment)));
    return result;
}

std::string attachments_page() {
    std::string page =
        "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
        "# Attachments\n\n"
        "bondtrace counts in the kernel by one of three attachments. `--attach auto` takes the first that "
        "works, found by looking at BTF and symbols and by loading the programs, never by the kernel's "
        "version; `bondtrace check` says which and why, and every header and document names it.\n\n";
    for (const Attachment attachment : all_attachments)
        page += fmt::format("- `{}`: {}\n", to_text(attachment), describe(attachment));
    page += "\n| |";
    for (const Attachment attachment : all_attachments)
        page += fmt::format(" {} |", to_text(attachment));
    page += "\n|---|---|---|---|\n";
    for (const Difference& difference : table) {
        page += fmt::format("| {} |", difference.subject);
        for (const std::string_view holds : difference.holds)
            page += fmt::format(" {} |", holds);
        page += '\n';
    }
    return page;
}

} // namespace bondtrace
