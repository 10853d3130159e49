// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/failure_words.h"

#include <cerrno>

#include <fmt/format.h>

namespace bondtrace::traffic {
namespace {

using Way = PeerPath::Way;
using Neighbour = PeerPath::Neighbour;

std::string errno_name(int error) {
    const std::string text = errno_text(error); // "Permission denied (EACCES)"
    const auto open = text.rfind('(');
    return open == std::string::npos ? text : text.substr(open + 1, text.size() - open - 2);
}

class Explainer {
  public:
    Explainer(Operation operation, int error, const FailureScene& scene)
        : operation_(operation), error_(error), name_(errno_name(error)), scene_(scene),
          peer_(to_text(scene.address.remote)), port_(scene.address.remote_port) {}

    [[nodiscard]] FailureWords explain() const {
        switch (error_) {
        case EHOSTUNREACH:
        case ENETUNREACH:
            return unreachable();
        case EACCES:
            return denied();
        case EPERM:
            return words(
                fmt::format("this host's own firewall drops what is sent to {} port {}", peer_, port_),
                "nft list ruleset, or iptables -S OUTPUT: which rule it is");
        case ECONNREFUSED:
            return words(fmt::format("nobody listens on {} port {}", peer_, port_),
                         fmt::format("start there: bondtrace traffic server --listen {}; a firewall that "
                                     "rejects with a TCP reset or \"port unreachable\" looks the same",
                                     peer_));
        case EADDRNOTAVAIL:
            return no_address();
        case EADDRINUSE:
            return words(fmt::format("port {} of {} is in use here", scene_.address.local_port,
                                     to_text(scene_.address.local)),
                         "ss -tuanp shows by whom; a closed connection holds its port for a minute");
        case EMFILE:
            return too_many_files();
        case ENFILE:
            return words("the system has as many open files as fs.file-max allows",
                         "sysctl fs.file-nr shows how many; sysctl -w fs.file-max=N allows more");
        case ETIMEDOUT:
            return silent();
        case ECONNRESET:
            return words(fmt::format("{} has closed the connection with a reset", peer_),
                         operation_ == Operation::connect
                             ? "a firewall, or a server that is full or does not know this test"
                             : "the server was stopped, or a firewall has forgotten the connection");
        case EPIPE:
            return words(fmt::format("{} has closed the connection", peer_), "see what the server says");
        case EMSGSIZE:
            return words("the datagrams are larger than the way to the peer carries",
                         "a smaller --length; 1472 bytes fit an MTU of 1500 over IPv4, 1452 over IPv6");
        case ENOBUFS:
        case ENOMEM:
            return words(
                "the kernel has no memory left for sockets",
                "fewer --flows or a smaller --window; cat /proc/net/sockstat, sysctl net.ipv4.tcp_mem");
        default:
            return words(
                fmt::format("{} to {} port {}: {}", operation_text(), peer_, port_, errno_text(error_)), {},
                false);
        }
    }

  private:
    [[nodiscard]] FailureWords words(std::string what, std::string advice, bool with_name = true) const {
        if (with_name) what += fmt::format(" ({})", name_);
        return {std::move(what), std::move(advice), std::nullopt};
    }

    [[nodiscard]] const char* operation_text() const {
        switch (operation_) {
        case Operation::open:
            return "opening a socket";
        case Operation::bind:
            return "binding a socket for a flow";
        case Operation::connect:
            return "connecting";
        case Operation::send:
            return "sending";
        case Operation::receive:
            return "receiving";
        }
        return "a flow";
    }

    // The next hop is there, so that it was not this host that gave up.
    [[nodiscard]] bool next_hop_answers() const {
        return scene_.path && scene_.path->way == Way::out &&
               (scene_.path->neighbour == Neighbour::answers || scene_.path->neighbour == Neighbour::assumed);
    }

    [[nodiscard]] FailureWords rejected() const {
        const PeerPath& path = *scene_.path;
        RejectFacts facts;
        facts.peer = scene_.address.remote;
        facts.port = port_;
        facts.udp = scene_.transport == Transport::udp;
        facts.error = error_;
        facts.device = path.device;
        facts.next_hop = path.next_hop;
        facts.gateway = path.gateway;
        facts.neighbour_state = path.neighbour_state;
        facts.mac = path.mac;
        const std::string seen =
            fmt::format("next hop {} on {} is {}", to_text(path.next_hop), path.device, path.neighbour_state);
        FailureWords result =
            path.gateway
                ? words(
                      fmt::format("a firewall or a router beyond the gateway rejects flows to {} port {}: {}",
                                  peer_, port_, seen),
                      "ask the router; traceroute shows who answers")
                : words(fmt::format("the firewall of {} rejects flows to port {}: {}", peer_, port_, seen),
                        fmt::format("open port {}/{} there", port_, facts.udp ? "udp" : "tcp"));
        result.finding = reject_finding(facts);
        return result;
    }

    [[nodiscard]] FailureWords unreachable() const {
        if (!scene_.path)
            return words(fmt::format("{} cannot be reached", peer_),
                         fmt::format("ip route get {0}; ip neigh show {0}", peer_));
        const PeerPath& path = *scene_.path;
        if (path.way == Way::none)
            return words(fmt::format("there is no route to {}", peer_),
                         fmt::format("ip route get {}", peer_));
        if (path.way == Way::refused)
            return words(fmt::format("a route of this host refuses {}", peer_),
                         "ip route show type unreachable; ip route show type prohibit");
        if (next_hop_answers()) return rejected();
        if (path.way == Way::out)
            return words(fmt::format("{} {} does not answer on {}: it is off, elsewhere, or the link is bad",
                                     path.gateway ? "the gateway" : "the host", to_text(path.next_hop),
                                     path.device),
                         fmt::format("ip neigh show {}; bondtrace audit", to_text(path.next_hop)));
        return words(fmt::format("{} cannot be reached", peer_), {});
    }

    // IPv6 turns "administratively prohibited" into this error (tab_unreach in net/ipv6/icmp.c).
    [[nodiscard]] FailureWords denied() const {
        if (scene_.address.remote.v6 && next_hop_answers()) return rejected();
        if (operation_ == Operation::bind)
            return words(
                fmt::format("ports below 1024 are for root, and port {} is one", scene_.address.local_port),
                "other --ports");
        if (scene_.path && scene_.path->way == Way::refused)
            return words(fmt::format("a route of this host prohibits {}", peer_),
                         "ip route show type prohibit");
        return words(fmt::format("a firewall or a route forbids flows to {} port {}", peer_, port_),
                     fmt::format("ip route get {}", peer_));
    }

    [[nodiscard]] FailureWords no_address() const {
        if (operation_ == Operation::bind)
            return words(fmt::format("{} is no address of this host", to_text(scene_.address.local)),
                         "ip -brief address shows which it has");
        if (scene_.address.local_port != 0)
            return words(fmt::format("source port {} has a connection to {} port {} already",
                                     scene_.address.local_port, peer_, port_),
                         "a closed connection holds its tuple for a minute; other --ports");
        FailureWords result =
            words(fmt::format("no source port is left for flows to {} port {}", peer_, port_),
                  "sysctl net.ipv4.ip_local_port_range says how many there are");
        if (scene_.ports) result.finding = port_range_finding(*scene_.ports);
        return result;
    }

    [[nodiscard]] FailureWords too_many_files() const {
        FailureWords result = words("the process may not open more files", "ulimit -n N, or fewer --flows");
        if (!scene_.files) return result;
        result.finding = fd_limit_finding(*scene_.files);
        if (result.finding && !result.finding->fixes.empty())
            result.advice = result.finding->fixes.front().command;
        return result;
    }

    [[nodiscard]] FailureWords silent() const {
        if (operation_ != Operation::connect)
            return words(fmt::format("{} has stopped answering", peer_),
                         "the way there is broken, or a firewall drops in the middle of the flow");
        std::string hop;
        if (next_hop_answers())
            hop = fmt::format(", and next hop {} on {} is {}", to_text(scene_.path->next_hop),
                              scene_.path->device, scene_.path->neighbour_state);
        return words(
            fmt::format("no answer from {} port {}{}: something on the way drops", peer_, port_, hop),
            "a firewall that drops silently, or a slave that carries nothing: bondtrace audit");
    }

    Operation operation_;
    int error_;
    std::string name_;
    const FailureScene& scene_;
    std::string peer_;
    std::uint16_t port_;
};

} // namespace

bool needs_path(int error) {
    return error == EHOSTUNREACH || error == ENETUNREACH || error == EACCES || error == ETIMEDOUT;
}

FailureWords explain_failure(Operation operation, int error, const FailureScene& scene) {
    return Explainer(operation, error, scene).explain();
}

} // namespace bondtrace::traffic
