// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/cli/predict_command.h"

#include "user/bond/netlink_reader.h"
#include "user/bond/next_hop.h"
#include "user/predict/path.h"
#include "user/predict/reach.h"
#include "user/predict/used_ports.h"
#include "user/probe/era_probe.h"
#include "user/report/predict_report.h"
#include "user/trace/flow_dissector.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace bondtrace {
namespace {

struct PredictOptions {
    CommonOptions common;
    std::vector<std::string> words;
    std::string policy, slaves, mode, era, src_mac, dst_mac, vlan, skb_hash, reach, ports;
    std::size_t count = 1;
    std::optional<std::uint8_t> icmp_type, icmp_code;
    std::optional<std::uint16_t> icmp_id;
    std::optional<std::uint32_t> spi;
    bool fragment = false;
    bool json = false;
};

constexpr const char* usage_advice = "bondtrace predict BOND PROTO SRC[:PORT] DST[:PORT], or with --policy "
                                     "and --slaves and without BOND; `-` in "
                                     "the place of PROTO SRC DST reads flows from standard input";

// The words on the command line, told apart.
struct PredictRequest {
    std::string bond;              // empty: described by --policy and --slaves
    std::optional<TypedFlow> flow; // nullopt: from standard input
    PathFrame frame;               // what was given of it
    std::optional<EraFinding> era;
    std::optional<ReachWish> reach;
    bool ports_given = false;
};

Result<std::optional<MacAddress>> parse_mac_option(const char* option, const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto mac = parse_mac(text);
    if (!mac)
        return fail(ErrorKind::usage, fmt::format("{}: \"{}\" is no MAC address", option, text),
                    "give six bytes like 02:00:00:00:0a:01");
    return mac;
}

// "100", or a whole tag with priority "0x6064".
Result<std::optional<std::uint16_t>> parse_vlan_option(const std::string& text) {
    if (text.empty()) return std::nullopt;
    const bool hex = text.starts_with("0x");
    const char* const begin = text.data() + (hex ? 2 : 0);
    const char* const end = text.data() + text.size();
    std::uint16_t value = 0;
    const auto parsed = std::from_chars(begin, end, value, hex ? 16 : 10);
    constexpr std::uint16_t largest_id = 4094;
    if (begin == end || parsed.ec != std::errc{} || parsed.ptr != end || (!hex && value > largest_id))
        return fail(ErrorKind::usage, fmt::format("--vlan: \"{}\" is no VLAN", text),
                    "give a VLAN ID (1 to 4094), or the tag with its priority bits as 0x6064");
    return value;
}

Result<std::pair<std::uint16_t, std::uint16_t>> parse_port_range(const std::string& text) {
    const auto dash = text.find('-');
    const auto number = [](std::string_view part) -> std::optional<std::uint16_t> {
        std::uint16_t value = 0;
        const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
        if (part.empty() || parsed.ec != std::errc{} || parsed.ptr != part.data() + part.size())
            return std::nullopt;
        return value;
    };
    const std::string_view view(text);
    const auto low = number(view.substr(0, dash));
    const auto high = dash == std::string::npos ? low : number(view.substr(dash + 1));
    if (!low || !high || *low > *high)
        return fail(ErrorKind::usage, fmt::format("--ports: \"{}\" is no range of ports", text),
                    "give LOW-HIGH, such as 40000-40999");
    return std::pair{*low, *high};
}

Result<std::vector<std::string>> parse_slaves(const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t start = 0; start <= text.size();) {
        const auto end = std::min(text.find(',', start), text.size());
        names.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i].empty() || std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i),
                                          names[i]) != names.begin() + static_cast<std::ptrdiff_t>(i))
            return fail(ErrorKind::usage,
                        fmt::format("--slaves: \"{}\" has an empty name, or one twice", text),
                        "give names in enslave order, such as eth0,eth1,eth2");
    return names;
}

void add_details(TypedFlow& flow, const PredictOptions& options) {
    constexpr std::uint8_t icmp = 1, icmpv6 = 58, echo = 8, echo6 = 128;
    if (flow.protocol == icmp || flow.protocol == icmpv6)
        flow.icmp_type = options.icmp_type.value_or(flow.protocol == icmp ? echo : echo6);
    flow.icmp_code = options.icmp_code;
    flow.icmp_id = options.icmp_id;
    flow.spi = options.spi;
}

Result<PathFrame> understand_frame(const PredictOptions& options) {
    PathFrame frame;
    const auto src_mac = parse_mac_option("--src-mac", options.src_mac);
    if (!src_mac) return tl::make_unexpected(src_mac.error());
    const auto dst_mac = parse_mac_option("--dst-mac", options.dst_mac);
    if (!dst_mac) return tl::make_unexpected(dst_mac.error());
    const auto tci = parse_vlan_option(options.vlan);
    if (!tci) return tl::make_unexpected(tci.error());
    frame.src_mac = *src_mac;
    frame.dst_mac = *dst_mac;
    frame.tci = *tci;
    frame.fragment = options.fragment;
    if (options.skb_hash == "none") frame.l4_hash = false;
    return frame;
}

Result<PredictRequest> understand(const PredictOptions& options) {
    PredictRequest request;
    const bool described = !options.policy.empty() || !options.slaves.empty();
    if (described && (options.policy.empty() || options.slaves.empty()))
        return fail(ErrorKind::usage, "--policy and --slaves belong together: they describe a bond",
                    usage_advice);
    if (!described && !options.mode.empty())
        return fail(ErrorKind::usage, "--mode describes a bond, with --policy and --slaves", usage_advice);
    std::vector<std::string> words = options.words;
    if (!described && !words.empty()) {
        request.bond = words.front();
        words.erase(words.begin());
    }
    auto frame = understand_frame(options);
    if (!frame) return tl::make_unexpected(frame.error());
    request.frame = std::move(*frame);
    if (words.size() == 3) {
        auto flow = parse_typed_flow(words[0], words[1], words[2]);
        if (!flow) return tl::make_unexpected(flow.error());
        add_details(*flow, options);
        request.flow = *flow;
    } else if (words.size() != 1 || words.front() != "-") {
        return fail(ErrorKind::usage,
                    words.empty() ? "there is no flow to predict" : "this is no flow to predict",
                    usage_advice);
    }
    if (!options.era.empty()) {
        const auto era = parse_era(options.era);
        if (!era) return fail(ErrorKind::usage, "--era: " + era.error().what, era.error().advice);
        request.era = EraFinding{*era, EraSource::given, {}};
    }
    if (options.reach.empty() && !options.ports.empty())
        return fail(ErrorKind::usage, "--ports belongs to --reach");
    if (options.reach.empty()) return request;
    if (!request.flow) return fail(ErrorKind::usage, "--reach is for one flow, not for standard input");
    request.reach = ReachWish{.slave = options.reach, .count = options.count};
    if (options.ports.empty()) return request;
    const auto range = parse_port_range(options.ports);
    if (!range) return tl::make_unexpected(range.error());
    request.reach->ports = *range;
    request.ports_given = true;
    return request;
}

bool is_encap(HashPolicy policy) {
    return policy == HashPolicy::encap23 || policy == HashPolicy::encap34;
}

// Where the answers come from: a bond that is there, with the routes around it, or the user's word.
class Subject {
  public:
    static Result<Subject> open(const PredictOptions& options, const PredictRequest& request) {
        auto netns = open_netns(options.common);
        if (!netns) return tl::make_unexpected(netns.error());
        Subject subject(std::move(*netns));
        auto era = request.era ? *request.era : find_era();
        if (!era) return tl::make_unexpected(era.error());
        subject.era_ = std::move(*era);
        const auto described = request.bond.empty() ? subject.describe(options) : subject.read(request.bond);
        if (!described) return tl::make_unexpected(described.error());
        if (is_encap(subject.path_.policy)) // where it cannot be seen, one may be attached
            subject.path_.flow_dissector = flow_dissector_attached(subject.netns_).value_or(true);
        return subject;
    }

    [[nodiscard]] const PathBond& bond() const { return path_; }
    [[nodiscard]] const EraFinding& era() const { return era_; }
    [[nodiscard]] const NetNs& netns() const { return netns_; }

    // Fills in what was not given and matters.
    Result<PathFrame> frame_of(const TypedFlow& flow, const PathFrame& given, bool always) {
        const bool matters = always || needs_ethernet(path_) || path_.policy == HashPolicy::encap34;
        if (!real_ || !matters) return given;
        auto known = hops_.find({flow.src, flow.dst});
        if (known == hops_.end()) {
            auto found = find_next_hop(netns_, *real_, flow.src, flow.dst);
            if (!found) return tl::make_unexpected(found.error());
            known = hops_.emplace(std::pair{flow.src, flow.dst}, std::move(*found)).first;
        }
        const NextHop& hop = known->second;
        PathFrame frame = given;
        frame.local_source = hop.local_source;
        if (!frame.src_mac) frame.src_mac = hop.src_mac;
        if (!frame.dst_mac) frame.dst_mac = hop.dst_mac;
        if (!frame.tci) {
            frame.tci = hop.tci;
            frame.tci_known = hop.tci_known;
        }
        frame.problem = hop.problem;
        frame.advice = hop.advice;
        return frame;
    }

  private:
    explicit Subject(NetNs netns) : netns_(std::move(netns)) {}

    Result<void> read(const std::string& name) {
        const auto reader = LinkReader::open(netns_);
        if (!reader) return tl::make_unexpected(reader.error());
        auto bonds = reader->find_bonds({name});
        if (!bonds) return tl::make_unexpected(bonds.error());
        real_ = std::move(bonds->front());
        path_ = path_bond(*real_, era_.era, false);
        return {};
    }

    Result<void> describe(const PredictOptions& options) {
        const auto policy = parse_hash_policy(options.policy);
        if (!policy)
            return fail(ErrorKind::usage, fmt::format("--policy: there is no policy \"{}\"", options.policy),
                        "layer2, layer2+3, layer3+4, encap2+3, encap3+4, vlan+srcmac");
        path_.policy = *policy;
        path_.era = era_.era;
        auto slaves = parse_slaves(options.slaves);
        if (!slaves) return tl::make_unexpected(slaves.error());
        path_.usable = std::move(*slaves);
        if (options.mode.empty()) return {};
        const auto mode = parse_bond_mode(options.mode);
        if (mode != BondMode::balance_xor && mode != BondMode::lacp)
            return fail(ErrorKind::usage, fmt::format("--mode: in \"{}\" no hash decides", options.mode),
                        "balance-xor or 802.3ad");
        path_.mode = *mode;
        return {};
    }

    NetNs netns_;
    EraFinding era_;
    PathBond path_;
    std::optional<Bond> real_;
    std::map<std::pair<IpAddress, IpAddress>, NextHop> hops_;
};

Result<PathAnswer> answer(Subject& subject, const TypedFlow& flow, const PathFrame& given) {
    const auto frame = subject.frame_of(flow, given, false);
    if (!frame) return tl::make_unexpected(frame.error());
    return predict_path(subject.bond(), flow, *frame);
}

PredictReport make_report(const Subject& subject, const PredictOptions& options) {
    PredictReport report;
    report.header = make_header("none");
    report.netns = options.common.netns;
    report.bond = subject.bond();
    report.era = subject.era();
    return report;
}

ExitStatus run_one(Subject& subject, const PredictOptions& options, const PredictRequest& request) {
    const auto found = answer(subject, *request.flow, request.frame);
    if (!found) return report_error(found.error());
    const ExitStatus status = found->predictable() ? ExitStatus::fine : ExitStatus::cannot_tell;
    if (options.json) {
        PredictReport report = make_report(subject, options);
        report.answers.push_back(*found);
        return print_out(predict_json(report), status);
    }
    std::string text = answer_text(subject.bond(), *found);
    if (options.common.verbose) text += reason_text(subject.bond(), subject.era(), *found);
    const ExitStatus printed = print_out(text, status);
    if (!options.common.verbose && !found->advice.empty()) fmt::print(stderr, "  {}\n", found->advice);
    return printed;
}

ExitStatus run_reach(Subject& subject, const PredictOptions& options, PredictRequest request) {
    ReachWish& wish = *request.reach;
    const auto frame = subject.frame_of(*request.flow, request.frame, true);
    if (!frame) return report_error(frame.error());
    if (!request.ports_given) wish.ports = ephemeral_ports(subject.netns());
    PortSet used;
    if (frame->local_source) {
        const auto held = used_ports(subject.netns(), request.flow->protocol);
        if (!held) return report_error(held.error());
        used = *held;
    }
    const auto ports = reaching_ports(subject.bond(), *request.flow, *frame, wish,
                                      [&](std::uint16_t port) { return used.test(port); });
    if (!ports) return report_error(ports.error());
    const ExitStatus status = ports->size() == wish.count ? ExitStatus::fine : ExitStatus::cannot_tell;
    if (status != ExitStatus::fine)
        fmt::print(stderr, "bondtrace: only {} of {} source ports from {} to {} that are free lead to {}\n",
                   ports->size(), wish.count, wish.ports.first, wish.ports.second, wish.slave);
    if (options.json) {
        PredictReport report = make_report(subject, options);
        report.reach = PredictReport::Reach{wish.slave, *ports};
        return print_out(predict_json(report), status);
    }
    std::string text;
    for (const std::uint16_t port : *ports)
        text += fmt::format("{}\n", port);
    return print_out(text, status);
}

// One answer a line, as the lines come; what cannot be read is said and passed over.
ExitStatus run_list(Subject& subject, const PredictOptions& options, const PredictRequest& request) {
    constexpr std::size_t most = 4'000'000; // of a document, which is written at the end
    PredictReport report = make_report(subject, options);
    ExitStatus status = ExitStatus::fine;
    bool damaged = false;
    std::string line;
    for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
        auto flow = parse_flow_line(line);
        if (!flow) {
            Error error = flow.error();
            error.what = fmt::format("line {}: {}", number, error.what);
            damaged = true;
            report_error(error);
            continue;
        }
        if (!*flow) continue;
        add_details(**flow, options);
        const auto found = answer(subject, **flow, request.frame);
        if (!found) return report_error(found.error());
        if (!found->predictable()) status = ExitStatus::cannot_tell;
        if (options.json) {
            report.answers.push_back(*found);
            if (report.answers.size() > most)
                return report_error(
                    {ErrorKind::usage, fmt::format("more than {} flows", most), "without --json"});
            continue;
        }
        std::string text = answer_text(subject.bond(), *found);
        if (options.common.verbose) text += reason_text(subject.bond(), subject.era(), *found);
        if (print_out(text, ExitStatus::fine) != ExitStatus::fine) return ExitStatus::cannot_tell;
    }
    if (damaged) status = ExitStatus::usage;
    return options.json ? print_out(predict_json(report), status) : status;
}

ExitStatus run_predict(const PredictOptions& options) {
    auto request = understand(options);
    if (!request) return report_error(request.error());
    auto subject = Subject::open(options, *request);
    if (!subject) return report_error(subject.error());
    if (request->reach) return run_reach(*subject, options, std::move(*request));
    return request->flow ? run_one(*subject, options, *request) : run_list(*subject, options, *request);
}

void add_packet_options(CLI::App& command, PredictOptions& options) {
    command.add_option("--src-mac", options.src_mac, "Source MAC address; otherwise from the route")
        ->type_name("MAC");
    command.add_option("--dst-mac", options.dst_mac, "The next hop's; otherwise from the neighbour table")
        ->type_name("MAC");
    command
        .add_option("--vlan", options.vlan, "Tag of a VLAN device on the bond: 100, or 0x6064 with priority")
        ->type_name("ID");
    command.add_option("--icmp-type", options.icmp_type, "Otherwise an echo request")->type_name("N");
    command.add_option("--icmp-code", options.icmp_code)->type_name("N");
    command.add_option("--icmp-id", options.icmp_id, "Identifier of an echo or timestamp")->type_name("N");
    command.add_option("--spi", options.spi, "Of ESP and AH")->type_name("N");
    command.add_flag("--fragment", options.fragment, "The packets are IP fragments");
    command
        .add_option("--skb-hash", options.skb_hash,
                    "\"none\": the packets carry no hash of a socket or NIC (encap3+4)")
        ->type_name("none")
        ->check(CLI::IsMember({"none"}));
}

} // namespace

void add_predict_command(CLI::App& app, ExitStatus& status) {
    const auto options = std::make_shared<PredictOptions>();
    CLI::App* command = app.add_subcommand("predict", "The slave that a flow will take, and why");
    command->add_option("BOND PROTO SRC[:PORT] DST[:PORT]", options->words, "The question")
        ->type_name("")
        ->required();
    command->add_option("--policy", options->policy, "Without BOND: its xmit_hash_policy")
        ->type_name("POLICY");
    command->add_option("--slaves", options->slaves, "Without BOND: its usable slaves in enslave order")
        ->type_name("A,B,...");
    command->add_option("--mode", options->mode, "Without BOND: balance-xor or 802.3ad")->type_name("MODE");
    command
        ->add_option("--era", options->era,
                     "Which kernel's hash: a release (6.1, 5.10), or traits; otherwise this kernel is asked")
        ->type_name("ERA");
    command->add_option("--reach", options->reach, "Print source ports whose flow takes this slave")
        ->type_name("SLAVE");
    command->add_option("--count", options->count, "How many ports")
        ->type_name("N")
        ->check(CLI::Range(1, 65536))
        ->capture_default_str();
    command->add_option("--ports", options->ports, "From this range; otherwise the host's ephemeral ports")
        ->type_name("LOW-HIGH");
    add_packet_options(*command, *options);
    command->add_flag("--json", options->json, "A JSON document (docs/schema/predict.schema.json)");
    add_common_options(*command, options->common, "Show the reason: inputs, hash, index, usable slaves");
    command->footer(
        "Examples:\n"
        "  bondtrace predict bond0 tcp 10.0.0.1:40000 10.0.0.2:443\n"
        "  bondtrace predict bond0 udp [fd00::1]:5000 [fd00::2]:53 -v\n"
        "  bondtrace predict bond0 tcp 10.0.0.1 10.0.0.2:5201 --reach eth1 --count 4\n"
        "  bondtrace predict --policy layer3+4 --slaves a,b,c tcp 10.0.0.1:40000 10.0.0.2:443\n"
        "  ss -Htun | bondtrace predict bond0 -\n"
        "Exit status: 0 fine, 3 a flow is not predictable (the reason is printed), 64 wrong usage.");
    command->callback([options, &status] { status = run_predict(*options); });
}

} // namespace bondtrace
