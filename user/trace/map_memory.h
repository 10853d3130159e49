// SPDX-License-Identifier: GPL-2.0-or-later
// A BPF array map (BPF_F_MMAPABLE) in this process's memory: read without system calls, and written by single
// members.
#pragma once

#include "user/base/result.h"

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

namespace bondtrace {

template<typename T> class MapMemory {
  public:
    // The kernel rounds values up to eight bytes; T must be that already.
    static Result<MapMemory> map(const bpf_map* map) {
        static_assert(sizeof(T) % 8 == 0);
        MapMemory memory;
        memory.count_ = bpf_map__max_entries(map);
        void* const start =
            mmap(nullptr, memory.size(), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
        if (start == MAP_FAILED)
            return fail_errno(errno, std::string("mapping ") + bpf_map__name(map) + " into memory");
        memory.start_ = static_cast<T*>(start);
        return memory;
    }
    MapMemory() = default;
    MapMemory(MapMemory&& other) noexcept
        : start_(std::exchange(other.start_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    MapMemory& operator=(MapMemory&& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(count_, other.count_);
        return *this;
    }
    MapMemory(const MapMemory&) = delete;
    MapMemory& operator=(const MapMemory&) = delete;
    ~MapMemory() {
        if (start_) munmap(start_, size());
    }

    [[nodiscard]] std::span<T> all() const { return {start_, count_}; }
    T& operator[](std::size_t index) const { return start_[index]; }

  private:
    [[nodiscard]] std::size_t size() const { return count_ * sizeof(T); }

    T* start_ = nullptr;
    std::size_t count_ = 0;
};

} // namespace bondtrace
