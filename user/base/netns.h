// SPDX-License-Identifier: GPL-2.0-or-later
// A network namespace held open, and a way to work inside it without the process leaving its own.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bondtrace {

// One network namespace, kept alive by its descriptor: while any copy of this object exists the kernel cannot
// give the inode number to another namespace. Copies share the descriptor.
class NetNs {
  public:
    // The namespace of the calling thread. Fails when /proc is not mounted.
    static Result<NetNs> current();

    // The namespace the user means by `spec`, looked up in the order of iproute2:
    //   NAME  a name of `ip netns` (/run/netns/NAME, /var/run/netns/NAME)
    //   PID   the namespace of that process (digits only, and no namespace has that name)
    //   PATH  anything with a '/', and "." and "..": a file such as /proc/PID/ns/net or a bind mount of one
    // Fails with kind usage when there is no such thing or it is no network namespace, and with kind
    // unavailable when the system refuses to open it.
    static Result<NetNs> open(std::string_view spec);

    [[nodiscard]] int fd() const { return fd_->get(); }
    // The inode number: what the kernel calls net->ns.inum.
    [[nodiscard]] std::uint32_t inode() const { return inode_; }
    // What the user called it: a name, a PID or a path; empty for current().
    [[nodiscard]] const std::string& name() const { return name_; }
    // For messages: "this network namespace", "network namespace left", "the network namespace of process
    // 42".
    [[nodiscard]] const std::string& description() const { return description_; }
    // True when the calling thread is in this namespace.
    [[nodiscard]] bool is_current() const;

  private:
    NetNs(Fd fd, std::uint64_t device, std::uint32_t inode, std::string name, std::string description);
    static Result<NetNs> open_path(const std::string& path, std::string name, std::string description,
                                   std::string advice);

    std::shared_ptr<const Fd> fd_;
    std::uint64_t device_;
    std::uint32_t inode_;
    std::string name_;
    std::string description_;
};

// The names `ip netns` knows, sorted; empty when there are none.
std::vector<std::string> netns_names();

namespace detail {
// Runs `work` on a thread of its own inside `netns` and waits for it.
Result<void> run_on_thread_in(const NetNs& netns, const std::function<void()>& work);
} // namespace detail

// Calls `work` (which returns a Result and does not throw) on a helper thread that has entered `netns`,
// waits, and returns its result. The process and the calling thread stay where they are. Entering needs
// CAP_SYS_ADMIN unless the caller is in that namespace already. Sockets that `work` opens stay in `netns` for
// ever; paths under /proc/thread-self/net mean `netns` only while `work` runs.
template<typename Work> auto run_in(const NetNs& netns, Work&& work) -> std::invoke_result_t<Work&> {
    std::optional<std::invoke_result_t<Work&>> answer;
    const auto entered = detail::run_on_thread_in(netns, [&] { answer.emplace(work()); });
    if (!entered) return tl::make_unexpected(entered.error());
    return std::move(*answer);
}

} // namespace bondtrace
