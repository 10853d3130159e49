// SPDX-License-Identifier: GPL-2.0-or-later
// The file of a recording: where its lines are.
#include "user/live/replay.h"

#include "user/base/text.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bondtrace {
namespace {

// Of one reading; a full table of a million conversations takes about this.
constexpr std::size_t max_line = std::size_t{1} << 30;
constexpr std::size_t max_lines = 10'000'000;

std::string shown(const std::string& path) {
    return shorten_middle(sanitize(path), 80, "...");
}

} // namespace

Result<Recording> Recording::open(const std::string& path) {
    Recording recording;
    recording.path_ = path;
    recording.file_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!recording.file_.valid())
        return fail_errno(errno, fmt::format("opening the recording {}", shown(path)), {}, ErrorKind::usage);
    struct stat status {};
    if (fstat(recording.file_.get(), &status) != 0)
        return fail_errno(errno, fmt::format("looking at the recording {}", shown(path)));
    if (!S_ISREG(status.st_mode))
        return fail(ErrorKind::usage, fmt::format("the recording {} is no file", shown(path)),
                    "a recording is stepped back and forth: write it to a file first");

    std::vector<char> buffer(1 << 20);
    std::uint64_t offset = 0;
    Line line{0, 0, 1};
    const auto end_line = [&](std::uint64_t end) {
        line.length = static_cast<std::size_t>(end - line.offset);
        if (line.length > 0) recording.lines_.push_back(line);
        line.offset = end + 1;
        ++line.number;
    };
    for (;;) {
        const ssize_t size =
            pread(recording.file_.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return fail_errno(errno, fmt::format("reading the recording {}", shown(path)));
        if (size == 0) break;
        const char* at = buffer.data();
        const char* const end = buffer.data() + size;
        while (const char* newline =
                   static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)))) {
            end_line(offset + static_cast<std::uint64_t>(newline - buffer.data()));
            at = newline + 1;
        }
        offset += static_cast<std::uint64_t>(size);
        if (offset - line.offset > max_line || recording.lines_.size() > max_lines)
            return fail(ErrorKind::usage,
                        fmt::format("the recording {}: line {} is too long, or there are too many lines",
                                    shown(path), line.number));
    }
    end_line(offset);
    if (recording.lines_.empty())
        return fail(ErrorKind::usage, fmt::format("the recording {} is empty", shown(path)),
                    "record with: bondtrace live --json > FILE");
    return recording;
}

Result<LiveReading> Recording::read(std::size_t index) const {
    const Line& line = lines_[index];
    std::string text(line.length, '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t size = pread(file_.get(), text.data() + done, text.size() - done,
                                   static_cast<off_t>(line.offset + done));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return fail_errno(errno, fmt::format("reading the recording {}", shown(path_)));
        if (size == 0) break; // it has become shorter: no JSON then
        done += static_cast<std::size_t>(size);
    }
    text.resize(done);
    auto reading = parse_live_json(text);
    if (!reading)
        return fail(reading.error().kind,
                    fmt::format("{}, line {}: {}", shown(path_), line.number, reading.error().what),
                    "a recording is what bondtrace live --json writes");
    return reading;
}

} // namespace bondtrace
