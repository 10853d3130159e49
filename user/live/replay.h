// SPDX-License-Identifier: GPL-2.0-or-later
// Reads what `bondtrace live --json` has written.
#pragma once

#include "user/base/fd.h"
#include "user/base/result.h"
#include "user/live/reading.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace {

// One line, "bondtrace.live/1". Members that are not known are passed over, as are those that follow from
// others (rates, shares, verdicts, events). Nothing in it is trusted; the error says which member is wrong.
Result<LiveReading> parse_live_json(std::string_view line);

class Recording {
  public:
    // Finds the lines of a file; its contents may be anything.
    static Result<Recording> open(const std::string& path);

    [[nodiscard]] std::size_t size() const { return lines_.size(); }
    // Reading number `index`, from 0. The error names the line.
    [[nodiscard]] Result<LiveReading> read(std::size_t index) const;

  private:
    struct Line {
        std::uint64_t offset = 0;
        std::size_t length = 0;
        std::size_t number = 0; // in the file, from 1
    };
    std::string path_;
    Fd file_;
    std::vector<Line> lines_;
};

} // namespace bondtrace
