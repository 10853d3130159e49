// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/netlink_reader.h"

#include "user/base/fd.h"
#include "user/bond/dump_parser.h"
#include "user/bond/netlink_socket.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace {
namespace {

using Bytes = std::span<const std::byte>;

// On a busy container host interfaces come and go all the time, and a long dump is interrupted now and then.
constexpr int max_dumps = 20;
// How often the two sources may disagree before netlink alone is believed.
constexpr int max_snapshots = 5;
constexpr std::chrono::seconds answer_timeout{10};
constexpr std::size_t max_links = 1'000'000, max_proc_text = 4UL * 1024 * 1024;

// A directory that exists exactly while the driver is in the kernel, in every namespace.
constexpr const char* proc_directory = "/proc/thread-self/net/bonding";
// The same, where /proc is another namespace's or restricted.
constexpr const char* module_directory = "/sys/module/bonding";

struct DumpRequest {
    nlmsghdr header;
    ifinfomsg info;
};

enum class DumpEnd { done, interrupted };

// Reads the answer to the request `sequence` into `links`.
Result<DumpEnd> read_dump(NetlinkSocket& socket, std::uint32_t sequence, std::map<int, Link>& links) {
    bool interrupted = false;
    const auto deadline = std::chrono::steady_clock::now() + answer_timeout;
    while (std::chrono::steady_clock::now() < deadline) {
        const auto datagram = socket.receive();
        if (!datagram) return tl::make_unexpected(datagram.error());
        if (datagram->overflow) return DumpEnd::interrupted;
        Bytes rest = datagram->bytes;
        while (rest.size() >= NLMSG_HDRLEN) {
            nlmsghdr header{};
            std::memcpy(&header, rest.data(), sizeof(header));
            if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > rest.size())
                return fail(ErrorKind::internal,
                            "the kernel's list of interfaces has a message that does not fit");
            const Bytes message = rest.first(header.nlmsg_len);
            rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
            if (header.nlmsg_seq != sequence || header.nlmsg_pid != socket.port()) continue;
            interrupted = interrupted || (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
            if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
                // Both may carry a negative errno first (struct nlmsgerr; a plain int).
                std::int32_t error = 0;
                if (message.size() >= NLMSG_HDRLEN + sizeof(error))
                    std::memcpy(&error, message.data() + NLMSG_HDRLEN, sizeof(error));
                if (error < 0) return fail_errno(-error, "listing the interfaces by route netlink");
                if (header.nlmsg_type == NLMSG_DONE)
                    return interrupted ? DumpEnd::interrupted : DumpEnd::done;
                continue;
            }
            if (header.nlmsg_type != RTM_NEWLINK) continue;
            auto link = parse_link_message(message);
            if (!link) return tl::make_unexpected(link.error());
            const int ifindex = link->ifindex;
            if (!link->partial) links.insert_or_assign(ifindex, std::move(*link));
            if (links.size() > max_links)
                return fail(ErrorKind::unavailable,
                            fmt::format("there are more than {} interfaces", max_links));
        }
    }
    return fail(
        ErrorKind::unavailable,
        fmt::format("listing the interfaces by route netlink took more than {} s", answer_timeout.count()));
}

// All links of the calling thread's namespace, by ifindex.
Result<std::vector<Link>> dump_links() {
    for (int attempt = 1; attempt <= max_dumps; ++attempt) {
        // A new socket each time: nothing of an interrupted dump can be left in it.
        auto socket = NetlinkSocket::open(0, NetlinkSocket::Wait::block, answer_timeout);
        if (!socket) return tl::make_unexpected(socket.error());
        DumpRequest request{};
        request.header.nlmsg_len = sizeof(request);
        request.header.nlmsg_type = RTM_GETLINK;
        request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        request.header.nlmsg_seq = static_cast<std::uint32_t>(attempt);
        request.info.ifi_family = AF_UNSPEC;
        if (const auto sent = socket->send(std::as_bytes(std::span(&request, 1))); !sent)
            return tl::make_unexpected(sent.error());
        std::map<int, Link> links;
        const auto end = read_dump(*socket, request.header.nlmsg_seq, links);
        if (!end) return tl::make_unexpected(end.error());
        if (*end == DumpEnd::interrupted) continue;
        std::vector<Link> list;
        list.reserve(links.size());
        for (auto& [ifindex, link] : links)
            list.push_back(std::move(link));
        return list;
    }
    return fail(ErrorKind::unavailable,
                fmt::format("interfaces came and went during each of {} attempts to list them", max_dumps),
                "try again when fewer interfaces are being made and removed");
}

// The text of a /proc file; nullopt when it is not there or cannot be read.
std::optional<std::string> read_proc(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return std::nullopt;
    std::string text;
    std::array<char, 16384> piece{};
    while (text.size() < max_proc_text) {
        const ssize_t length = ::read(file.get(), piece.data(), piece.size());
        if (length == 0) return text;
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) return std::nullopt;
        text.append(piece.data(), static_cast<std::size_t>(length));
    }
    return text;
}

Result<NetnsSnapshot> read_once() {
    NetnsSnapshot snapshot;
    auto links = dump_links();
    if (!links) return tl::make_unexpected(links.error());
    snapshot.links = std::move(*links);
    const bool proc = ::access(proc_directory, F_OK) == 0;
    snapshot.driver_loaded = proc || ::access(module_directory, F_OK) == 0;
    for (const Link& link : snapshot.links) {
        if (!proc || link.kind != "bond") continue;
        const auto text = read_proc(fmt::format("{}/{}", proc_directory, link.name));
        if (!text) continue;
        // What it cannot understand is no reason to give up: netlink tells nearly everything.
        auto dump = parse_dump(*text, {.source = link.name, .name = link.name, .from_kernel = true});
        if (dump) snapshot.proc.emplace(link.name, std::move(dump->bonds.front()));
    }
    return snapshot;
}

// True when every bond could be read in /proc, if any could.
bool proc_is_whole(const NetnsSnapshot& snapshot) {
    std::size_t bonds = 0;
    for (const Link& link : snapshot.links)
        bonds += link.kind == "bond" ? 1 : 0;
    return snapshot.proc.empty() || snapshot.proc.size() == bonds;
}

} // namespace

Result<LinkReader> LinkReader::open(const NetNs& netns) {
    // Whether the namespace can be entered and spoken to is better known now than in the middle of the work.
    const auto probe = run_in(netns, []() -> Result<bool> {
        const auto socket = NetlinkSocket::open(0, NetlinkSocket::Wait::block, answer_timeout);
        if (!socket) return tl::make_unexpected(socket.error());
        return true;
    });
    if (!probe) return tl::make_unexpected(probe.error());
    return LinkReader(netns);
}

Result<NetnsSnapshot> LinkReader::read_snapshot() const {
    auto snapshot = run_in(netns_, []() -> Result<NetnsSnapshot> {
        auto read = read_once();
        // A slave may join, leave or be renamed between the two readings.
        for (int attempt = 1;
             attempt < max_snapshots && read && !(is_consistent(*read) && proc_is_whole(*read)); ++attempt)
            read = read_once();
        return read;
    });
    if (!snapshot) return snapshot;
    snapshot->netns = netns_.inode();
    snapshot->description = netns_.description();
    snapshot->other_names = netns_names();
    return snapshot;
}

Result<std::vector<Bond>> LinkReader::read_bonds() const {
    const auto snapshot = read_snapshot();
    if (!snapshot) return tl::make_unexpected(snapshot.error());
    return assemble_bonds(*snapshot);
}

Result<std::vector<Bond>> LinkReader::find_bonds(const std::vector<std::string>& names) const {
    const auto snapshot = read_snapshot();
    if (!snapshot) return tl::make_unexpected(snapshot.error());
    return select_bonds(*snapshot, names);
}

} // namespace bondtrace
