// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/bench/own_objects.h"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>

#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>

namespace bondtrace::bench {
namespace {

template<typename Info> Result<Fd> find(std::string_view kind, std::string_view name) {
    namespace fs = std::filesystem;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd", error)) {
        if (fs::read_symlink(entry.path(), error) != fmt::format("anon_inode:bpf-{}", kind)) continue;
        const std::string text = entry.path().filename();
        int fd = -1;
        std::from_chars(text.data(), text.data() + text.size(), fd);
        Info info{};
        std::uint32_t size = sizeof(info);
        if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0 || info.name != name) continue;
        Fd own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
        if (!own.valid()) return fail_errno(errno, fmt::format("duplicating the descriptor of {}", name));
        return own;
    }
    return fail(ErrorKind::internal, fmt::format("this process holds no BPF {} {}", kind, name));
}

} // namespace

Result<Fd> own_program(std::string_view name) {
    return find<bpf_prog_info>("prog", name);
}

Result<Fd> own_map(std::string_view name) {
    return find<bpf_map_info>("map", name);
}

Result<std::uint64_t> map_bytes(const Fd& map) {
    std::ifstream file(fmt::format("/proc/self/fdinfo/{}", map.get()));
    for (std::string word; file >> word;)
        if (std::uint64_t bytes = 0; word == "memlock:" && file >> bytes) return bytes;
    return fail(ErrorKind::internal, "the kernel does not say how much memory a map takes");
}

} // namespace bondtrace::bench
