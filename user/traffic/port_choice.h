// SPDX-License-Identifier: GPL-2.0-or-later
// Which source ports the flows of a test are to have, as the user says it: --ports. Pure, but for reading a
// file.
#pragma once

#include "user/base/address.h"
#include "user/base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bondtrace::traffic {

enum class PortPattern : std::uint8_t {
    kernel,     // connect() and the first datagram choose
    random,     // any, seeded
    sequential, // from the lowest on, `step` apart
    even,       // as connect() gives them to TCP: of the parity of the range's low end, in even steps
    list,       // these
    balanced,   // those that put as many flows on every slave
    reach,      // those that put every flow on one slave
};

struct PortChoice {
    PortPattern pattern = PortPattern::kernel;
    std::uint16_t step = 1;          // sequential
    std::vector<std::uint16_t> list; // no port twice
    std::string slave;               // reach

    bool operator==(const PortChoice&) const = default;
};

// The content of a file, or why it cannot be read.
using FileReader = std::function<Result<std::string>(const std::string& path)>;

// "kernel", "random", "sequential", "sequential:4", "even", "balanced", "reach:eth1", a list as
// parse_port_list() reads it (begins with a digit), or else the name of a file with such a list, which is
// read by `read`. Usage error that says what was expected.
Result<PortChoice> parse_port_choice(std::string_view text, const FileReader& read);

// "40000,40010-40019,41000-42000:4", separated by commas, blanks or newlines; # begins a comment that ends
// with the line. `source` names where it stands in messages, and a list of several lines is named with the
// line. Usage error for what is no port, 0, a range that is empty, a port that stands there twice, an empty
// list.
Result<std::vector<std::uint16_t>> parse_port_list(std::string_view text, std::string_view source);

// The file, which must be text of at most 1 MiB.
Result<std::string> read_port_file(const std::string& path);

// "10.0.0.1,10.0.0.2" of `option`. Usage error for what is no address, one that stands there twice, more than
// 4096 of them.
Result<std::vector<IpAddress>> parse_address_list(std::string_view option, std::string_view text);

// As the user would say it: "sequential:4", "3 ports listed".
std::string to_text(const PortChoice& choice);

} // namespace bondtrace::traffic
