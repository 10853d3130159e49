// SPDX-License-Identifier: GPL-2.0-or-later
// Memory of its own pages, present from the beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include <sys/mman.h>

namespace bondtrace::traffic {

class MappedBuffer {
  public:
    MappedBuffer() = default;
    explicit MappedBuffer(std::size_t size) : size_(size) {
        memory_ =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (memory_ == MAP_FAILED) throw std::bad_alloc();
    }
    MappedBuffer(MappedBuffer&& other) noexcept
        : memory_(std::exchange(other.memory_, MAP_FAILED)), size_(other.size_) {}
    MappedBuffer& operator=(MappedBuffer&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(size_, other.size_);
        return *this;
    }
    MappedBuffer(const MappedBuffer&) = delete;
    MappedBuffer& operator=(const MappedBuffer&) = delete;
    ~MappedBuffer() {
        if (memory_ != MAP_FAILED) munmap(memory_, size_);
    }

    [[nodiscard]] std::uint8_t* data() const { return static_cast<std::uint8_t*>(memory_); }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    void* memory_ = MAP_FAILED;
    std::size_t size_ = 0;
};

} // namespace bondtrace::traffic
