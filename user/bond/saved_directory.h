// SPDX-License-Identifier: GPL-2.0-or-later
// Reading files somebody else packed: bounded, and never outside the directory, whatever its links say.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"

#include <cstddef>
#include <string>
#include <vector>

namespace bondtrace {

// Everything `fd` yields. Fails (unavailable) when that is more than `limit` bytes or cannot be read; `what`
// names it.
Result<std::string> read_all(int fd, std::size_t limit, const std::string& what);

class SavedDirectory {
  public:
    // `path` is for messages; `fd` must be a directory.
    SavedDirectory(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

    // The names in the directory `relative` ("." for this one), sorted; empty when there is none such. Fails
    // when there are more than 10000.
    [[nodiscard]] Result<std::vector<std::string>> names(const std::string& relative) const;
    [[nodiscard]] bool has_directory(const std::string& relative) const;
    [[nodiscard]] bool has_file(const std::string& relative) const;
    // A regular file's contents. Links are followed as if this directory were the root of the file system.
    [[nodiscard]] Result<std::string> read(const std::string& relative, std::size_t limit) const;
    // The directory within as one of its own; fails when there is none such.
    [[nodiscard]] Result<SavedDirectory> enter(const std::string& relative) const;

    [[nodiscard]] const std::string& path() const { return path_; }
    // For messages.
    [[nodiscard]] std::string path_of(const std::string& relative) const { return path_ + "/" + relative; }

  private:
    // Opens without leaving; -1 and errno as for openat(2).
    [[nodiscard]] Fd open(const std::string& relative, int flags) const;

    Fd fd_;
    std::string path_;
};

} // namespace bondtrace
