// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/base/netns.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace bondtrace {
namespace {

constexpr std::array<const char*, 2> name_directories = {"/run/netns", "/var/run/netns"};
constexpr const char* own_namespace = "/proc/thread-self/ns/net";
constexpr std::size_t max_names = 10000, max_names_in_message = 20;

bool all_digits(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string names_advice() {
    std::vector<std::string> names = netns_names();
    if (names.empty())
        return "no network namespace has a name here (ip netns list); give a PID, or the path of one";
    const std::size_t all = names.size();
    if (all > max_names_in_message) names.resize(max_names_in_message);
    return fmt::format("named network namespaces here: {}{}; a PID or a path is fine as well",
                       fmt::join(names, ", "),
                       all > names.size() ? fmt::format(" and {} more", all - names.size()) : "");
}

} // namespace

NetNs::NetNs(Fd fd, std::uint64_t device, std::uint32_t inode, std::string name, std::string description)
    : fd_(std::make_shared<const Fd>(std::move(fd))), device_(device), inode_(inode), name_(std::move(name)),
      description_(std::move(description)) {}

Result<NetNs> NetNs::open_path(const std::string& path, std::string name, std::string description,
                               std::string advice) {
    // O_PATH first: opening whatever the user named must neither block (a FIFO) nor do anything (a device).
    const Fd handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!handle.valid()) {
        const bool absent = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG;
        if (errno == EACCES || errno == EPERM)
            advice = "opening another process's namespace needs root (CAP_SYS_PTRACE); try sudo";
        return fail_errno(errno, fmt::format("opening {} ({})", description, path), std::move(advice),
                          absent ? ErrorKind::usage : ErrorKind::unavailable);
    }
    struct statfs filesystem {};
    struct stat file {};
    if (::fstatfs(handle.get(), &filesystem) != 0 || ::fstat(handle.get(), &file) != 0)
        return fail_errno(errno, fmt::format("examining {}", path));
    if (filesystem.f_type != NSFS_MAGIC)
        return fail(ErrorKind::usage, fmt::format("{} is not a network namespace", path),
                    S_ISREG(file.st_mode)
                        ? "it is an ordinary file; if `ip netns` made it, its mount is gone: delete "
                          "it with `ip netns delete`"
                        : std::move(advice));
    Fd fd(::open(fmt::format("/proc/self/fd/{}", handle.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return fail_errno(errno, fmt::format("opening {}", path));
    const int type = ::ioctl(fd.get(), NS_GET_NSTYPE);
    if (type < 0)
        return fail_errno(errno, fmt::format("asking the kernel what kind of namespace {} is", path));
    if (type != CLONE_NEWNET)
        return fail(ErrorKind::usage, fmt::format("{} is a namespace, but not a network namespace", path),
                    "the network namespace of a process is /proc/PID/ns/net");
    // Namespace inode numbers are 32 bits wide in the kernel (struct ns_common, `unsigned int inum`).
    return NetNs(std::move(fd), file.st_dev, static_cast<std::uint32_t>(file.st_ino), std::move(name),
                 std::move(description));
}

Result<NetNs> NetNs::current() {
    return open_path(own_namespace, "", "this network namespace", "is /proc mounted?");
}

Result<NetNs> NetNs::open(std::string_view spec) {
    const std::string text(spec);
    if (text.empty() || text.find('\0') != std::string::npos)
        return fail(ErrorKind::usage, "an empty name cannot be a network namespace", names_advice());
    if (text.find('/') != std::string::npos || text == "." || text == "..")
        return open_path(text, text, "network namespace " + text, names_advice());
    for (const char* directory : name_directories) {
        const std::string path = fmt::format("{}/{}", directory, text);
        struct stat unused {};
        if (::lstat(path.c_str(), &unused) == 0)
            return open_path(path, text, "network namespace " + text, names_advice());
    }
    if (all_digits(text)) {
        const std::string path = fmt::format("/proc/{}/ns/net", text);
        return open_path(path, text, "the network namespace of process " + text,
                         "there is no process " + text + ", or it has ended");
    }
    return fail(ErrorKind::usage, fmt::format("no network namespace is called {}", text), names_advice());
}

bool NetNs::is_current() const {
    struct stat own {};
    return ::stat(own_namespace, &own) == 0 && own.st_dev == device_ && own.st_ino == inode_;
}

std::vector<std::string> netns_names() {
    std::vector<std::string> names;
    for (const char* directory : name_directories) {
        std::error_code error;
        for (std::filesystem::directory_iterator entry(directory, error), end;
             !error && entry != end && names.size() < max_names; entry.increment(error))
            names.push_back(entry->path().filename().string());
    }
    // /var/run is a symbolic link to /run nearly everywhere, so that every name is there twice.
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

namespace detail {

Result<void> run_on_thread_in(const NetNs& netns, const std::function<void()>& work) {
    int error = 0;
    const auto enter_and_work = [&] {
        // Nobody needs a privilege to be where they are, but setns() would ask for it all the same.
        if (!netns.is_current() && ::setns(netns.fd(), CLONE_NEWNET) != 0) {
            error = errno;
            return;
        }
        work();
    };
    try {
        std::thread(enter_and_work).join();
    } catch (const std::system_error& failure) {
        return fail(ErrorKind::unavailable,
                    fmt::format("starting a thread to enter {}: {}", netns.description(), failure.what()),
                    "is a limit on processes (ulimit -u, pids cgroup) reached?");
    }
    if (error != 0)
        return fail_errno(error, fmt::format("entering {}", netns.description()),
                          error == EPERM
                              ? "entering a network namespace needs CAP_SYS_ADMIN (here and in the user "
                                "namespace that owns it); run as root"
                              : "");
    return {};
}

} // namespace detail
} // namespace bondtrace
