// SPDX-License-Identifier: GPL-2.0-or-later
// Reads a BPF hash map whole, many entries a system call.
#pragma once

#include "user/base/result.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include <bpf/bpf.h>

namespace bondtrace {

// The same one by one, for kernels that do not know batches (before 5.6).
template<typename Key, typename Value, typename Take> Result<void> read_hash_singly(int map, Take take) {
    Key key{}, next{};
    Value value{};
    for (const Key* previous = nullptr; bpf_map_get_next_key(map, previous, &next) == 0; previous = &key) {
        key = next;
        if (bpf_map_lookup_elem(map, &key, &value) == 0)
            take(key, value);
        else if (errno != ENOENT)
            return fail_errno(errno, "reading a BPF map");
    }
    if (errno != ENOENT) return fail_errno(errno, "reading the keys of a BPF map");
    return {};
}

// Calls `take` with key and value of every entry of a hash map of at most `max_entries`. Entries present from
// start to end are given exactly once; the kernel walks whole buckets, so that insertions meanwhile do not
// disturb it.
template<typename Key, typename Value, typename Take>
Result<void> read_hash(int map, std::uint32_t max_entries, Take take) {
    std::uint32_t chunk = std::min<std::uint32_t>(std::max<std::uint32_t>(max_entries, 16), 4096);
    std::vector<Key> keys(chunk);
    std::vector<Value> values(chunk);
    std::uint32_t position = 0, next = 0;
    bool first = true;
    for (;;) {
        std::uint32_t count = chunk;
        const int status = bpf_map_lookup_batch(map, first ? nullptr : &position, &next, keys.data(),
                                                values.data(), &count, nullptr);
        if (status != 0 && errno == ENOSPC && chunk < max_entries) { // one bucket holds more than the buffer
            chunk = std::min(chunk * 2, max_entries);
            keys.resize(chunk);
            values.resize(chunk);
            continue;
        }
        if (status != 0 && errno == EINVAL && first) return read_hash_singly<Key, Value>(map, take);
        if (status != 0 && errno != ENOENT) return fail_errno(errno, "reading a BPF map in batches");
        const bool last = status != 0;
        for (std::uint32_t i = 0; i < count; ++i)
            take(keys[i], values[i]);
        if (last) return {};
        position = next;
        first = false;
    }
}

} // namespace bondtrace
