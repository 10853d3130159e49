// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/iplink_text.h"

#include "user/bond/dump_values.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace bondtrace {
namespace {

using nlohmann::json;
using Words = std::vector<std::string_view>;

constexpr std::size_t max_links = 100'000, max_words = 1000;

Words split(std::string_view text, char separator) {
    Words words;
    while (!text.empty() && words.size() < max_words) {
        const auto end = text.find(separator);
        if (end != 0) words.push_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return words;
}

// A number where it is one, else text.
json value_of(std::string_view word) {
    std::int64_t number = 0;
    if (dump::read_number(word, number)) {
        if (number >= 0) return static_cast<std::uint64_t>(number);
        return number;
    }
    return std::string(word);
}

// The JSON's names where they are not the text's.
std::string json_name(std::string_view word) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> renamed = {
        {{"lacp_rate", "ad_lacp_rate"},
         {"lacp_active", "ad_lacp_active"},
         {"num_grat_arp", "num_peer_notif"}}};
    for (const auto& [text, name] : renamed)
        if (text == word) return std::string(name);
    return std::string(word);
}

// "mode 802.3ad miimon 100 ...": pairs until a word that begins what is said of every interface.
void take_bond(const Words& words, json& link) {
    json& info = link["linkinfo"];
    info["info_kind"] = "bond";
    json& data = info["info_data"] = json::object();
    constexpr std::array<std::string_view, 5> aggregator = {"ad_aggregator", "ad_num_ports", "ad_actor_key",
                                                            "ad_partner_key", "ad_partner_mac"};
    for (std::size_t i = 1; i + 1 < words.size() && words[i] != "addrgenmode"; i += 2) {
        const std::string_view name = words[i], value = words[i + 1];
        if (name == "ad_info") continue; // no word of the text's, but the place of five
        if (std::find(aggregator.begin(), aggregator.end(), name) != aggregator.end())
            data["ad_info"][std::string(name.substr(3))] = value_of(value);
        else if (name == "arp_ip_target" || name == "ns_ip6_target")
            for (const std::string_view address : split(value, ','))
                data[std::string(name)].push_back(std::string(address));
        else if (name == "mode" || name == "active_slave" || name == "primary")
            data[std::string(name)] = std::string(value); // a name of digits stays a name
        else
            data[json_name(name)] = value_of(value);
    }
}

void take_slave(const Words& words, json& link) {
    json& info = link["linkinfo"];
    info["info_slave_kind"] = "bond";
    json& data = info["info_slave_data"] = json::object();
    // "..._str <a,b>" is one more pair.
    for (std::size_t i = 1; i + 1 < words.size() && words[i] != "addrgenmode"; i += 2)
        data[json_name(words[i])] = value_of(words[i + 1]);
}

// "RX: bytes packets errors dropped ..." and the numbers below it.
void take_counters(const Words& names, const Words& numbers, json& link) {
    if (names.size() < 2) return;
    json& side = link["stats64"][names[0] == "RX:" ? "rx" : "tx"] = json::object();
    for (std::size_t i = 1; i < names.size() && i - 1 < numbers.size(); ++i) {
        const json number = value_of(numbers[i - 1]);
        if (number.is_number_unsigned()) side[std::string(names[i])] = number;
    }
}

// "2: a0@if2: <BROADCAST,UP,LOWER_UP> mtu 1500 ... master bond0 ...". Null when the line is none such.
json begin_link(std::string_view line, const Words& words) {
    std::int64_t ifindex = 0;
    if (words.size() < 3 || !words[0].ends_with(':') || !words[1].ends_with(':') ||
        !words[2].starts_with('<') || !words[2].ends_with('>') ||
        !dump::read_number(words[0].substr(0, words[0].size() - 1), ifindex) || ifindex <= 0 || line.empty())
        return nullptr;
    json link = {{"ifindex", static_cast<std::uint64_t>(ifindex)}, {"flags", json::array()}};
    const std::string_view name = words[1].substr(0, words[1].size() - 1);
    // The last '@' begins the interface below, for a name may have one; "if2" is one in another namespace.
    const auto at = name.rfind('@');
    link["ifname"] = std::string(name.substr(0, at));
    if (at != std::string_view::npos && !name.substr(at + 1).starts_with("if"))
        link["link"] = std::string(name.substr(at + 1));
    for (const std::string_view flag : split(words[2].substr(1, words[2].size() - 2), ','))
        link["flags"].push_back(std::string(flag));
    for (std::size_t i = 3; i + 1 < words.size(); ++i)
        if (words[i] == "master") link["master"] = std::string(words[i + 1]);
    return link;
}

} // namespace

json ip_text_to_json(std::string_view text) {
    json links = json::array();
    dump::Line line;
    std::string counter_names;
    for (std::size_t number = 1; dump::next_line(text, number, line) && links.size() < max_links;) {
        std::string spaces(line.text);
        std::replace(spaces.begin(), spaces.end(), '\t', ' ');
        const Words words = split(spaces, ' ');
        if (words.empty()) continue;
        if (json link = begin_link(line.text, words); !link.is_null()) {
            links.push_back(std::move(link));
            counter_names.clear();
            continue;
        }
        if (links.empty()) continue;
        json& link = links.back();
        if (!counter_names.empty()) {
            take_counters(split(counter_names, ' '), words, link);
            counter_names.clear();
        } else if (words[0] == "RX:" || words[0] == "TX:") {
            counter_names = spaces;
        } else if (words[0].starts_with("link/") && words.size() > 1) {
            link["address"] = std::string(words[1]);
        } else if (words[0] == "bond") {
            take_bond(words, link);
        } else if (words[0] == "bond_slave") {
            take_slave(words, link);
        } else if (words[0] == "vlan" || words[0] == "bridge" || words[0] == "macvlan" ||
                   words[0] == "veth" || words[0] == "openvswitch") {
            link["linkinfo"]["info_kind"] = std::string(words[0]);
        }
    }
    return links;
}

} // namespace bondtrace
