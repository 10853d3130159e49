// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/source.h"

#include "user/bond/dump_parser.h"
#include "user/bond/iplink_parser.h"
#include "user/bond/merge.h"
#include "user/bond/saved_directory.h"
#include "user/bond/supportconfig.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bondtrace {
namespace {

constexpr std::size_t mebibyte = 1U << 20U, max_file = 16 * mebibyte, max_archive_file = 64 * mebibyte,
                      max_ignored_shown = 3;

// A file's own name as a bond's, without what people put behind it; empty when no interface may be called so.
std::string bond_name_of(const std::string& path) {
    std::string name = path.substr(path.rfind('/') + 1);
    for (const std::string_view ending : {".txt", ".log", ".out", ".dump"})
        if (name.ends_with(ending)) name.resize(name.size() - ending.size());
    return is_interface_name(name) ? name : "";
}

// Collects what the files tell.
class Collector {
  public:
    // One text, of whatever kind it is. `name`: of the bond, if it is one dump.
    Result<void> take(std::string_view text, const std::string& source, const std::string& name) {
        if (looks_like_ip_json(text)) return take_links(parse_ip_json(text, source), source);
        if (looks_like_dump(text) || !looks_like_ip_text(text))
            return take_dump(text, {.source = source, .name = name});
        return take_links(parse_ip_text(text, source), source);
    }
    Result<void> take_dump(std::string_view text, const DumpOptions& options) {
        auto dump = parse_dump(text, options);
        if (!dump) return tl::make_unexpected(std::move(dump.error()));
        note(fmt::format("{}: {}", options.source, names(dump->bonds)));
        if (dump->truncated) note(fmt::format("{} ends in the middle of a bond", options.source));
        if (dump->ignored_count > 0) note_ignored(*dump, options.source);
        std::move(dump->bonds.begin(), dump->bonds.end(), std::back_inserter(dumps_));
        return {};
    }
    Result<void> take_links(Result<std::vector<Bond>> bonds, const std::string& source) {
        if (!bonds) return tl::make_unexpected(std::move(bonds.error()));
        if (bonds->empty())
            return fail(ErrorKind::unavailable, fmt::format("{}: no interface in it is a bond", source));
        note(fmt::format("{}: {}", source, names(*bonds)));
        std::move(bonds->begin(), bonds->end(), std::back_inserter(links_));
        return {};
    }
    void note(std::string text) { notes_.push_back(std::move(text)); }
    // Remembers why a file could not be used.
    void left_out(const Error& error) {
        note("left out: " + error.what);
        if (!first_error_) first_error_ = error;
    }
    [[nodiscard]] bool empty() const { return dumps_.empty() && links_.empty(); }
    [[nodiscard]] const std::optional<Error>& first_error() const { return first_error_; }

    SavedState finish() {
        SavedState state;
        state.bonds = std::move(links_);
        for (Bond& dump : dumps_) {
            const auto same = std::find_if(state.bonds.begin(), state.bonds.end(), [&](const Bond& bond) {
                return !dump.unknown.name && bond.name == dump.name && bond.driver.empty() &&
                       bond.mode == dump.mode;
            });
            if (same != state.bonds.end())
                add_dump(dump, *same);
            else
                state.bonds.push_back(std::move(dump));
        }
        state.notes = std::move(notes_);
        return state;
    }

  private:
    static std::string names(const std::vector<Bond>& bonds) {
        std::string text;
        for (const Bond& bond : bonds)
            text += (text.empty() ? "" : ", ") + bond.name;
        return text;
    }
    void note_ignored(const Dump& dump, const std::string& source) {
        std::string lines;
        for (std::size_t i = 0; i < dump.ignored.size() && i < max_ignored_shown; ++i)
            lines +=
                fmt::format("{}{} \"{}\"", i == 0 ? "" : ", ", dump.ignored[i].number, dump.ignored[i].text);
        note(fmt::format("{}: {} lines ignored: {}{}", source, dump.ignored_count, lines,
                         dump.ignored_count > max_ignored_shown ? ", ..." : ""));
    }

    std::vector<Bond> dumps_, links_;
    std::vector<std::string> notes_;
    std::optional<Error> first_error_;
};

// Takes one file of a directory; a failure is a note.
void take_file(const SavedDirectory& directory, const std::string& relative, const std::string& name,
               Collector& collector) {
    const auto text = directory.read(relative, max_file);
    if (!text) return collector.left_out(text.error());
    const auto taken = collector.take(*text, directory.path_of(relative), name);
    if (!taken) collector.left_out(taken.error());
}

// A copy of /proc/net/bonding, or any directory of dumps: what does not look like one is passed over.
Result<void> take_plain(const SavedDirectory& directory, const std::string& relative, Collector& collector) {
    const auto names = directory.names(relative);
    if (!names) return tl::make_unexpected(names.error());
    for (const std::string& name : *names) {
        const std::string file = relative == "." ? name : fmt::format("{}/{}", relative, name);
        if (!directory.has_file(file)) continue;
        const auto text = directory.read(file, max_file);
        if (!text) {
            collector.left_out(text.error());
            continue;
        }
        const bool likely = looks_like_dump(*text) || looks_like_ip_json(*text) || looks_like_ip_text(*text);
        if (!likely) {
            collector.note(
                fmt::format("left out: {} holds neither a bond nor links", directory.path_of(file)));
            continue;
        }
        const auto taken = collector.take(*text, directory.path_of(file), bond_name_of(name));
        if (!taken) collector.left_out(taken.error());
    }
    return {};
}

// sos (its plug-in "networking"): a copy of /proc/net, and the commands' output in files named after them.
Result<void> take_sosreport(const SavedDirectory& directory, Collector& collector) {
    constexpr std::array<const char*, 6> link_files = {"ip_-d_-j_link", "ip_-s_-d_-j_link", "ip_-s_-d_link",
                                                       "ip_-d_-s_link", "ip_-d_link",       "ip_-d_address"};
    if (directory.has_directory("proc/net/bonding")) {
        if (const auto taken = take_plain(directory, "proc/net/bonding", collector); !taken) return taken;
    } else {
        collector.note(
            fmt::format("{} has no proc/net/bonding: what only that tells, the LACP partner of each "
                        "port among it, is unknown",
                        directory.path()));
    }
    for (const char* name : link_files) {
        const std::string file = std::string("sos_commands/networking/") + name;
        if (!directory.has_file(file)) continue;
        take_file(directory, file, "", collector);
        break;
    }
    return {};
}

Result<void> take_supportconfig(const SavedDirectory& directory, Collector& collector) {
    const auto text = directory.read("network.txt", max_archive_file);
    if (!text) return tl::make_unexpected(text.error());
    const std::string file = directory.path_of("network.txt");
    for (const ArchivedText& section : supportconfig_sections(*text)) {
        Result<void> taken;
        if (section.bond.empty())
            taken = collector.take_links(parse_ip_text(section.text, file), file);
        else
            taken = collector.take_dump(
                section.text, {.source = file, .name = section.bond, .first_line = section.first_line});
        if (!taken) collector.left_out(taken.error());
    }
    return {};
}

Result<void> take_directory(const SavedDirectory& directory, Collector& collector, bool may_descend) {
    if (directory.has_directory("proc/net/bonding") || directory.has_directory("sos_commands"))
        return take_sosreport(directory, collector);
    if (directory.has_file("network.txt")) return take_supportconfig(directory, collector);
    if (const auto taken = take_plain(directory, ".", collector); !taken) return taken;
    if (!collector.empty() || !may_descend) return {};
    // An archive unpacked into a directory of its own.
    const auto names = directory.names(".");
    if (!names || names->size() != 1 || !directory.has_directory(names->front())) return {};
    const auto inner = directory.enter(names->front());
    if (!inner) return tl::make_unexpected(inner.error());
    return take_directory(*inner, collector, false);
}

} // namespace

Result<SavedState> read_saved_state(const std::string& path) {
    Collector collector;
    const bool standard_input = path == "-";
    // Without O_NONBLOCK a FIFO that nobody writes to would never be opened.
    Fd fd(standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                         : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd.valid()) {
        const int error = errno;
        const bool mistaken = error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG;
        return fail_errno(error, fmt::format("opening {}", path),
                          "give a saved /proc/net/bonding file or a directory",
                          mistaken ? ErrorKind::usage : ErrorKind::unavailable);
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, fmt::format("asking what {} is", path));
    if (S_ISDIR(status.st_mode)) {
        const auto taken = take_directory(SavedDirectory(std::move(fd), path), collector, true);
        if (!taken) return tl::make_unexpected(taken.error());
        if (collector.empty()) {
            if (collector.first_error()) return tl::make_unexpected(*collector.first_error());
            return fail(ErrorKind::unavailable, fmt::format("no bond in {}", path),
                        "it should be a copy of /proc/net/bonding, an unpacked sosreport or an unpacked "
                        "supportconfig");
        }
        return collector.finish();
    }
    if (!standard_input) {
        const int flags = ::fcntl(fd.get(), F_GETFL);
        if (flags >= 0) ::fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK);
    }
    const std::string source = standard_input ? "standard input" : path;
    const auto text = read_all(fd.get(), max_file, source);
    if (!text) return tl::make_unexpected(text.error());
    const auto taken = collector.take(*text, source, standard_input ? "" : bond_name_of(path));
    if (!taken) return tl::make_unexpected(taken.error());
    return collector.finish();
}

} // namespace bondtrace
