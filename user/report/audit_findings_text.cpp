// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/audit_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr std::size_t label_width = 8; // "  seen  "
constexpr std::size_t command_indent = label_width + 2;
// Where a fix is told in words and not as commands, which must not be broken (advice.h).
constexpr std::string_view in_words = "switch (any)";

std::string_view colour_of(Severity severity) {
    switch (severity) {
    case Severity::critical:
        return sgr::alarm;
    case Severity::warning:
        return sgr::bold;
    case Severity::info:
        break;
    }
    return sgr::none;
}

std::string upper(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return result;
}

std::string heading(const Finding& finding, const TextStyle& style) {
    const std::string severity = upper(to_text(finding.severity));
    std::string rest = fmt::format("  {}  ", style.clean(finding.id));
    if (!finding.bond.empty()) rest += fmt::format("{}: ", style.clean(finding.bond));
    // Colours after breaking the line, whose width they do not have.
    const std::string plain = style.wrap(severity + rest + style.clean(finding.summary), label_width);
    return style.paint(severity, colour_of(finding.severity)) + plain.substr(severity.size());
}

std::string labelled(std::string_view label, std::string_view text, const TextStyle& style) {
    if (text.empty()) return {};
    const std::string before = fmt::format("  {:<{}}", label, label_width - 2);
    const std::string plain = style.wrap(before + style.clean(text), label_width);
    return style.paint(before, sgr::dim) + plain.substr(before.size());
}

std::string commands_text(std::string_view commands, const TextStyle& style) {
    std::string text;
    while (!commands.empty()) {
        const auto end = std::min(commands.find('\n'), commands.size());
        text += std::string(command_indent, ' ') + style.clean(commands.substr(0, end)) + '\n';
        commands.remove_prefix(std::min(end + 1, commands.size()));
    }
    return text;
}

std::string fix_text(const Fix& fix, const TextStyle& style) {
    const std::string where = style.clean(fix.where);
    if (fix.where == in_words) return labelled("fix", fmt::format("{}: {}", where, fix.command), style);
    return labelled("fix", fmt::format("{}:", where), style) + commands_text(fix.command, style);
}

std::string fixes_text(const std::vector<Fix>& fixes, const TextStyle& style, bool all_managers) {
    std::string text, others;
    for (const Fix& fix : fixes) {
        if (all_managers || !fix.other_manager)
            text += fix_text(fix, style);
        else
            others += (others.empty() ? "" : ", ") + fix.where;
    }
    return others.empty() ? text : text + labelled("", fmt::format("-v also shows {}", others), style);
}

bool same_fixes(const Finding& a, const Finding& b) {
    return std::equal(
        a.fixes.begin(), a.fixes.end(), b.fixes.begin(), b.fixes.end(),
        [](const Fix& x, const Fix& y) { return x.where == y.where && x.command == y.command; });
}

std::string count_text(const std::vector<Finding>& findings) {
    std::string text;
    for (const Severity severity : {Severity::critical, Severity::warning, Severity::info}) {
        const auto count = std::count_if(findings.begin(), findings.end(),
                                         [&](const Finding& f) { return f.severity == severity; });
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_text(severity));
    }
    return fmt::format("{} finding{}: {}\n", findings.size(), findings.size() == 1 ? "" : "s", text);
}

} // namespace

std::string findings_text(const std::vector<Finding>& findings, const TextStyle& style, bool all_managers) {
    if (findings.empty()) return "no findings\n";
    std::string text = count_text(findings);
    for (auto finding = findings.begin(); finding != findings.end(); ++finding) {
        text += '\n' + heading(*finding, style);
        text += labelled("seen", finding->seen, style) + labelled("why", finding->why, style);
        if (finding->fixes.empty()) continue;
        const auto before = std::find_if(findings.begin(), finding,
                                         [&](const Finding& other) { return same_fixes(other, *finding); });
        if (before != finding)
            text += labelled("fix", fmt::format("as for {} above", before->id), style);
        else
            text += fixes_text(finding->fixes, style, all_managers);
    }
    return text;
}

} // namespace bondtrace
