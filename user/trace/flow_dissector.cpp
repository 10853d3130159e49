// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/flow_dissector.h"

#include <cerrno>
#include <cstdint>

#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>

namespace bondtrace {
namespace {

constexpr const char* first_namespace = "/proc/1/ns/net";

Result<bool> attached_to(int netns_fd, std::string_view where) {
    std::uint32_t flags = 0, id = 0, count = 1; // there is one at most
    if (bpf_prog_query(netns_fd, BPF_FLOW_DISSECTOR, 0, &flags, &id, &count) != 0)
        return fail_errno(errno, fmt::format("asking whether a BPF flow dissector is attached to {}", where),
                          "this needs CAP_NET_ADMIN; run as root");
    return count > 0;
}

} // namespace

Result<bool> flow_dissector_attached(const NetNs& netns) {
    const auto own = attached_to(netns.fd(), netns.description());
    if (!own || *own) return own;
    const Fd first(::open(first_namespace, O_RDONLY | O_CLOEXEC));
    if (!first.valid()) return fail_errno(errno, fmt::format("opening {}", first_namespace));
    return attached_to(first.get(), "the first network namespace");
}

} // namespace bondtrace
