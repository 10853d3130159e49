// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/supportconfig.h"

#include "user/bond/dump_parser.h"
#include "user/bond/dump_values.h"
#include "user/bond/iplink_parser.h"

namespace bondtrace {
namespace {

constexpr std::string_view proc_path = "/proc/net/bonding/";
constexpr std::size_t max_sections = 10'000;

// The bond whose file the comment names; empty when it names none.
std::string bond_of(std::string_view comment) {
    const auto path = comment.find(proc_path);
    if (path == std::string_view::npos) return {};
    std::string_view name = comment.substr(path + proc_path.size());
    name = name.substr(0, name.find_first_of(" \t:;|>*"));
    return is_interface_name(name) ? std::string(name) : "";
}

} // namespace

std::vector<ArchivedText> supportconfig_sections(std::string_view text) {
    std::vector<ArchivedText> sections;
    const std::string_view all = text;
    std::string_view begin; // of the section at hand, after its comment
    std::size_t first_line = 0;
    std::string bond;
    bool links = false;
    const auto finish = [&](std::string_view end) {
        if (begin.empty() || (bond.empty() && !links) || sections.size() == max_sections) return;
        const std::string_view body = begin.substr(0, begin.size() - end.size());
        if (!bond.empty() || looks_like_ip_text(body)) sections.push_back({bond, body, first_line});
    };
    dump::Line line;
    bool comment_next = false;
    std::size_t number = 1;
    for (std::string_view here = all; dump::next_line(text, number, line); here = text) {
        if (line.text.starts_with("#==[")) {
            finish(here);
            begin = {};
            bond.clear();
            links = false;
            comment_next = true;
            continue;
        }
        if (!comment_next) continue;
        comment_next = false;
        if (!line.text.starts_with('#')) continue;
        bond = bond_of(line.text);
        links = line.text.find("ip ") != std::string_view::npos &&
                line.text.find(" -d") != std::string_view::npos;
        begin = text;
        first_line = number;
    }
    finish({});
    return sections;
}

} // namespace bondtrace
