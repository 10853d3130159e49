// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/libbpf_log.h"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/resource.h>

namespace bondtrace {
namespace {

bool print_libbpf = false;
std::string first_warning;

int print(libbpf_print_level level, const char* format, va_list arguments) {
    std::array<char, 4096> line{};
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
    // A verifier's log is longer than a line.
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): copied just now
    if (print_libbpf) std::vfprintf(stderr, format, again);
    va_end(again);
    if (level == LIBBPF_WARN && first_warning.empty()) first_warning = line.data();
    return length;
}

// Before 5.11 the memory of maps and programs is counted against this limit, which libbpf raises if it may.
std::string memory_lock_advice(int error) {
    rlimit limit{};
    if ((error != EPERM && error != ENOMEM) || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return {};
    return fmt::format(
        "on kernels before 5.11 the limit of locked memory (RLIMIT_MEMLOCK, {} KiB here) counts: "
        "raising it takes CAP_SYS_RESOURCE, or `ulimit -l unlimited` beforehand\n",
        limit.rlim_cur / 1024);
}

// What maps ask of the kernel is what old ones lack first.
std::string_view old_kernel_words(int error) {
    if (error != EINVAL || first_warning.find("map") == std::string::npos) return "";
    return "; it refused a map: bondtrace needs arrays that can be mapped into memory (BPF_F_MMAPABLE, since "
           "Linux 5.5), and is tested from Linux 5.10 on";
}

} // namespace

void start_libbpf_log(bool verbose) {
    print_libbpf = verbose;
    first_warning.clear();
    libbpf_set_print(print);
}

tl::unexpected<Error> libbpf_failure(int error, std::string_view what) {
    while (!first_warning.empty() && first_warning.back() == '\n')
        first_warning.pop_back();
    std::string advice =
        memory_lock_advice(error) +
        "run again with -v for the verifier's log, and `bondtrace check` for what this kernel allows";
    if (!first_warning.empty()) advice = first_warning + "\n" + advice;
    auto failure = fail_errno(error, what, advice);
    failure.value().what += old_kernel_words(error); // part of why no attachment works
    return failure;
}

} // namespace bondtrace
