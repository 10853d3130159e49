// SPDX-License-Identifier: GPL-2.0-or-later
// The --filter expression: which conversations to show.
//
//   expression  = term { ("or" | "||") term }
//   term        = factor { ("and" | "&&") factor }
//   factor      = ("not" | "!") factor | "(" expression ")" | condition
//   condition   = [ "local" | "src" | "remote" | "dst" ] ( "host" ADDRESS | "net" PREFIX | "port" N | "port"
//   N-M | "mac" MAC )
//               | [ "tx" | "rx" ] "slave" NAME | "bond" NAME
//               | "proto" NAME | "proto" NUMBER | NAME of a protocol
//               | "vlan" ID | "fragment" | "moved"
//
// Names that are words of the language, or hold blanks or parentheses, go in double quotes.
#pragma once

#include "user/base/result.h"
#include "user/flow/conversation.h"
#include "user/flow/names.h"
#include "user/flow/protocols.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bondtrace {

// One condition of a filter.
namespace condition {

enum class End : std::uint8_t { either, local, remote };
enum class Direction : std::uint8_t { either, tx, rx };

struct HostIs {
    End end;
    IpAddress address;
};
struct NetHolds {
    End end;
    IpPrefix prefix;
};
struct PortIn {
    End end;
    std::uint16_t first, last;
};
struct MacIs { // of the frames, or of the end itself when it is not IP
    End end;
    MacAddress mac;
};
struct ProtocolIs {
    ProtocolId protocol;
};
struct SlaveIs {
    Direction direction;
    std::string name;
};
struct BondIs {
    std::string name;
};
struct VlanIs { // any of the tags
    std::uint16_t id;
};
struct IsFragment {};
struct HasMoved {};

} // namespace condition

using Condition = std::variant<condition::HostIs, condition::NetHolds, condition::PortIn, condition::MacIs,
                               condition::ProtocolIs, condition::SlaveIs, condition::BondIs,
                               condition::VlanIs, condition::IsFragment, condition::HasMoved>;

// A parsed filter. One that was not parsed from anything matches everything.
class Filter {
  public:
    [[nodiscard]] bool matches(const Conversation& conversation, const Names& names) const;

    // The names that the conditions ask for, so that the caller can say which of them do not exist.
    [[nodiscard]] std::vector<std::string> slave_names() const;
    [[nodiscard]] std::vector<std::string> bond_names() const;

  private:
    friend class FilterParser;

    // A program over one truth value: short-circuit evaluation needs no stack, and so no depth that input
    // could choose.
    enum class Op : std::uint8_t { test, negate, jump_if_false, jump_if_true };
    struct Instruction {
        Op op;
        std::size_t argument; // test: index of the condition; jumps: index of the next instruction
    };

    std::vector<Instruction> program_;
    std::vector<Condition> conditions_;
};

inline constexpr std::size_t max_filter_length = 4096; // bytes
inline constexpr unsigned max_filter_depth = 64;       // nested "(" and "not"

// Parses an expression. The error (ErrorKind::usage) says what was expected, and shows where on two further
// lines:
//   filter: expected an IP address after "host"
//     host tcp and port 80
//          ^
Result<Filter> parse_filter(std::string_view text);

} // namespace bondtrace
