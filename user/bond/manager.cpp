// SPDX-License-Identifier: GPL-2.0-or-later
// Where they keep what they know: netplan(5); NetworkManager.conf(5), nm-settings-keyfile(5) and, of devices,
// NetworkManager's /run/NetworkManager/devices; systemd.netdev(5) and, of links, networkd's
// /run/systemd/netif/links; interfaces(5).
#include "user/bond/manager.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace bondtrace {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files = 500, most_bytes = 256UL * 1024;

// Whether a line of the file, without blanks around it, satisfies `accept`.
bool any_line(const fs::path& path, const std::function<bool(std::string_view)>& accept) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return false; // a pipe would keep us waiting
    std::ifstream file(path);
    std::string text(most_bytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::string_view rest = line;
        constexpr std::string_view blanks = " \t\r";
        rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
        rest = rest.substr(0, rest.find_last_not_of(blanks) + 1);
        if (accept(rest)) return true;
    }
    return false;
}

// The same for the files of a directory with that ending.
bool any_file(const fs::path& directory, std::string_view ending,
              const std::function<bool(std::string_view)>& accept) {
    std::error_code error;
    std::size_t files = 0;
    for (fs::directory_iterator at(directory, error), end; !error && at != end && files < most_files;
         at.increment(error), ++files)
        if (at->path().native().ends_with(ending) && any_line(at->path(), accept)) return true;
    return false;
}

bool in_netplan(const fs::path& root, const std::string& bond) {
    // Keys may be quoted. A name that is a key there is an interface's.
    const auto names = [&](std::string_view line) {
        return line == bond + ":" || line == fmt::format("\"{}\":", bond) ||
               line == fmt::format("'{}':", bond);
    };
    return any_file(root / "etc/netplan", ".yaml", names) || any_file(root / "run/netplan", ".yaml", names) ||
           any_file(root / "lib/netplan", ".yaml", names);
}

bool in_network_manager(const fs::path& root, const std::string& bond) {
    const auto names = [&](std::string_view line) { return line == "interface-name=" + bond; };
    return any_file(root / "etc/NetworkManager/system-connections", "", names) ||
           any_file(root / "run/NetworkManager/system-connections", "", names) ||
           any_line(root / "etc/sysconfig/network-scripts" / ("ifcfg-" + bond),
                    [](std::string_view) { return true; });
}

bool in_networkd(const fs::path& root, const std::string& bond) {
    const auto names = [&](std::string_view line) { return line == "Name=" + bond; };
    return any_file(root / "etc/systemd/network", ".netdev", names) ||
           any_file(root / "run/systemd/network", ".netdev", names);
}

bool in_ifupdown(const fs::path& root, const std::string& bond) {
    const auto names = [&](std::string_view line) {
        std::istringstream words{std::string(line)};
        std::string keyword, name;
        words >> keyword >> name;
        return keyword == "iface" && name == bond;
    };
    return any_line(root / "etc/network/interfaces", names) ||
           any_file(root / "etc/network/interfaces.d", "", names);
}

} // namespace

std::string_view to_text(Manager manager) {
    switch (manager) {
    case Manager::network_manager:
        return "nmcli";
    case Manager::networkd:
        return "systemd-networkd";
    case Manager::ifupdown:
        return "ifupdown";
    case Manager::netplan:
        break;
    }
    return "netplan";
}

std::optional<Manager> find_manager(const std::string& root_path, const std::string& bond, int ifindex) {
    const fs::path root = root_path;
    // Names of interfaces have no slash (dev_valid_name()); what has one is no name, and must not become a
    // path.
    if (bond.empty() || bond.find('/') != std::string::npos) return std::nullopt;
    if (in_netplan(root, bond)) return Manager::netplan;
    const std::string link = std::to_string(ifindex);
    if (ifindex > 0 && any_line(root / "run/NetworkManager/devices" / link,
                                [](std::string_view line) { return line.starts_with("connection-uuid="); }))
        return Manager::network_manager;
    if (ifindex > 0 && any_line(root / "run/systemd/netif/links" / link, [](std::string_view line) {
            return line.starts_with("ADMIN_STATE=") && line != "ADMIN_STATE=unmanaged";
        }))
        return Manager::networkd;
    if (in_network_manager(root, bond)) return Manager::network_manager;
    if (in_networkd(root, bond)) return Manager::networkd;
    if (in_ifupdown(root, bond)) return Manager::ifupdown;
    return std::nullopt;
}

} // namespace bondtrace
