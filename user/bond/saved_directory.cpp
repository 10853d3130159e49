// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/saved_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bondtrace {
namespace {

constexpr std::size_t max_names = 10'000;

bool is_kind(int fd, mode_t kind) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

} // namespace

Result<std::string> read_all(int fd, std::size_t limit, const std::string& what) {
    std::string text;
    std::array<char, 65536> piece{};
    for (;;) {
        const ssize_t length = ::read(fd, piece.data(), piece.size());
        if (length == 0) return text;
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) return fail_errno(errno, fmt::format("reading {}", what));
        if (text.size() + static_cast<std::size_t>(length) > limit)
            return fail(
                ErrorKind::unavailable,
                fmt::format("{} has more than {} MiB, which is no state of bonds", what, limit >> 20U));
        text.append(piece.data(), static_cast<std::size_t>(length));
    }
}

Fd SavedDirectory::open(const std::string& relative, int flags) const {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const long fd = ::syscall(SYS_openat2, fd_.get(), relative.c_str(), &how, sizeof(how));
    if (fd >= 0) return Fd(static_cast<int>(fd));
    if (errno != ENOSYS && errno != EPERM) return Fd();
    // Kernels before 5.6, and containers whose filter does not know the call: then no link is followed at
    // all.
    Fd at(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::size_t begin = 0;
    while (at.valid()) {
        const auto slash = relative.find('/', begin);
        const bool last = slash == std::string::npos;
        const std::string name = relative.substr(begin, slash - begin);
        const int step = last ? flags | O_NONBLOCK | O_NOCTTY : O_DIRECTORY;
        at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | step));
        if (last) break;
        begin = slash + 1;
    }
    return at;
}

Result<std::vector<std::string>> SavedDirectory::names(const std::string& relative) const {
    std::vector<std::string> names;
    const Fd fd = open(relative, O_DIRECTORY);
    if (!fd.valid()) return names;
    // fdopendir() takes the descriptor over.
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)),
                                                        ::closedir);
    if (!directory) return fail_errno(errno, fmt::format("listing {}", path_of(relative)));
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (names.size() == max_names)
            return fail(ErrorKind::unavailable,
                        fmt::format("{} has more than {} entries", path_of(relative), max_names));
        names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

bool SavedDirectory::has_directory(const std::string& relative) const {
    return open(relative, O_DIRECTORY).valid();
}

bool SavedDirectory::has_file(const std::string& relative) const {
    const Fd fd = open(relative, 0);
    return fd.valid() && is_kind(fd.get(), S_IFREG);
}

Result<std::string> SavedDirectory::read(const std::string& relative, std::size_t limit) const {
    const Fd fd = open(relative, 0);
    if (!fd.valid()) return fail_errno(errno, fmt::format("opening {}", path_of(relative)));
    if (!is_kind(fd.get(), S_IFREG))
        return fail(ErrorKind::unavailable, fmt::format("{} is no regular file", path_of(relative)));
    return read_all(fd.get(), limit, path_of(relative));
}

Result<SavedDirectory> SavedDirectory::enter(const std::string& relative) const {
    Fd fd = open(relative, O_DIRECTORY);
    if (!fd.valid()) return fail_errno(errno, fmt::format("opening {}", path_of(relative)));
    return SavedDirectory(std::move(fd), path_of(relative));
}

} // namespace bondtrace
