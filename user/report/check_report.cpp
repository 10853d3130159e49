// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/check_report.h"

#include "user/report/audit_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using Json = nlohmann::ordered_json;

const char* yes_no(bool value) {
    return value ? "yes" : "no";
}

std::string line(std::string_view name, std::string_view value) {
    return fmt::format("{:<22} {}\n", name, value);
}

std::string hook_text(const Support& support, const HookSupport& hook) {
    if (hook.in_btf && (hook.in_symbols || !support.symbols_readable)) return "found";
    if (hook.in_symbols) return "found by its symbol";
    if (!hook.variant.empty()) return fmt::format("only as {}, which is not attached to", hook.variant);
    if (!support.bonding_btf && !support.symbols_readable) return "unknown without BTF and symbols";
    const char* without = hook.hook.required ? "tracing cannot work without it" : "not counted";
    return fmt::format("not in this driver: {}", without);
}

} // namespace

std::string check_text(const CheckReport& report) {
    const Support& support = report.support;
    std::string text;
    text += line("bondtrace", fmt::format("{} (libbpf {}; attachments: {})", report.header.version,
                                          report.libbpf, fmt::join(report.attachments, ", ")));
    text += line("kernel", support.kernel + (support.realtime ? " (PREEMPT_RT)" : ""));
    text +=
        line("capabilities", support.missing_capabilities.empty()
                                 ? "all that are needed"
                                 : fmt::format("missing: {}", fmt::join(support.missing_capabilities, ", ")));
    text += line("lockdown", support.lockdown.empty() ? "none (or not to be seen: securityfs is not mounted)"
                                                      : support.lockdown);
    text += line("bonding driver", support.bonding_present ? "loaded" : "not loaded");
    text += line("BTF of the kernel", yes_no(support.kernel_btf));
    text += line("BTF of bonding", yes_no(support.bonding_btf));
    for (const HookSupport& hook : support.hooks)
        text += line("  " + std::string(hook.hook.function),
                     fmt::format("{} ({})", hook_text(support, hook), hook.hook.purpose));
    if (report.bonds_error)
        text += line("bonds here", fmt::format("cannot be read: {}", report.bonds_error->what));
    else if (report.bonds.empty())
        text += line("bonds here", "none");
    else
        for (const Bond& bond : report.bonds)
            text += line("bonds here",
                         fmt::format("{}: {}, {} slaves", bond.name, mode_words(bond), bond.slaves.size()));
    for (const CheckReport::Rung& rung : report.rungs)
        text += line("attach " + std::string(to_text(rung.attachment)),
                     rung.obstacle ? "no: " + rung.obstacle->what
                                   : fmt::format("works ({})", describe(rung.attachment)));
    text += '\n';
    if (report.obstacle) {
        text += fmt::format("Tracing cannot work here: {}.\n", report.obstacle->what);
        if (!report.obstacle->advice.empty())
            text += fmt::format("What to do: {}.\n", report.obstacle->advice);
        return text;
    }
    text += fmt::format("Tracing will attach by {}.\n", report.header.attach);
    if (const auto attachment = parse_attachment(report.header.attach))
        for (const Difference& difference : differences())
            text += fmt::format("  {}: {}\n", difference.subject, difference.of(*attachment));
    text +=
        "It does not see what does not pass the bonding driver: XDP redirects, RDMA, flows offloaded to "
        "hardware,\n"
        "frames sent on a slave directly, ARP monitor probes, VLAN devices that stand on a slave itself.\n";
    return text;
}

std::string check_json(const CheckReport& report) {
    const Support& support = report.support;
    Json hooks = Json::array();
    for (const HookSupport& hook : support.hooks)
        hooks.push_back({{"function", hook.hook.function},
                         {"purpose", hook.hook.purpose},
                         {"required", hook.hook.required},
                         {"in_btf", hook.in_btf},
                         {"in_symbols", support.symbols_readable ? Json(hook.in_symbols) : Json(nullptr)}});
    Json bonds = Json::array();
    for (const Bond& bond : report.bonds)
        bonds.push_back({{"name", bond.name},
                         {"mode", bond.group ? Json(nullptr) : Json(to_text(bond.mode))},
                         {"slaves", bond.slaves.size()}});
    Json ladder = Json::array();
    for (const CheckReport::Rung& rung : report.rungs) {
        Json holds = Json::object();
        for (const Difference& difference : differences())
            holds[std::string(difference.subject)] = difference.of(rung.attachment);
        ladder.push_back({{"attach", to_text(rung.attachment)},
                          {"works", !rung.obstacle.has_value()},
                          {"obstacle", rung.obstacle ? Json(rung.obstacle->what) : Json(nullptr)},
                          {"advice", rung.obstacle ? Json(rung.obstacle->advice) : Json(nullptr)},
                          {"holds", holds}});
    }
    const Json document{
        {"schema", "bondtrace.check/1"},
        {"version", report.header.version},
        {"time", report.header.time},
        {"kernel", report.header.kernel},
        {"attach", report.header.attach},
        {"libbpf", report.libbpf},
        {"attachments", report.attachments},
        {"missing_capabilities", support.missing_capabilities},
        {"lockdown", support.lockdown.empty() ? Json(nullptr) : Json(support.lockdown)},
        {"bonding_loaded", support.bonding_present},
        {"kernel_btf", support.kernel_btf},
        {"bonding_btf", support.bonding_btf},
        {"realtime", support.realtime},
        {"hooks", hooks},
        {"ladder", ladder},
        {"bonds", report.bonds_error ? Json(nullptr) : bonds},
        {"works", !report.obstacle.has_value()},
        {"obstacle", report.obstacle ? Json(report.obstacle->what) : Json(nullptr)},
        {"advice", report.obstacle ? Json(report.obstacle->advice) : Json(nullptr)},
    };
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace bondtrace
