// SPDX-License-Identifier: GPL-2.0-or-later
// BPF programs and maps that this process holds, by name: the product's own, behind the interfaces that hide
// them.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"

#include <cstdint>
#include <string_view>

namespace bondtrace::bench {

// A descriptor of its own of the first program, or map, of that name among the process's descriptors.
Result<Fd> own_program(std::string_view name);
Result<Fd> own_map(std::string_view name);

// Bytes of kernel memory that a map takes, as the kernel states them (exactly since Linux 6.4, about before).
Result<std::uint64_t> map_bytes(const Fd& map);

} // namespace bondtrace::bench
