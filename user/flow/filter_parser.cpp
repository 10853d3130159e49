// SPDX-License-Identifier: GPL-2.0-or-later
// parse_filter(): recursive descent with one token of look-ahead.
#include "user/base/text.h"
#include "user/flow/filter.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace bondtrace {
namespace {

using namespace condition;

constexpr std::string_view blanks = " \t\n\r\v\f";
constexpr std::size_t max_interface_name = 15; // IFNAMSIZ - 1
constexpr std::uint16_t max_vlan_id = 4095;

enum class TokenKind { word, quoted, open, close, end };

struct Token {
    TokenKind kind = TokenKind::end;
    std::string_view text;  // without the quotes
    std::size_t offset = 0; // where it begins, in bytes
    bool closed = true;     // a quoted one has both its quotes

    [[nodiscard]] bool is(std::string_view word) const { return kind == TokenKind::word && text == word; }
};

class Lexer {
  public:
    explicit Lexer(std::string_view text) : text_(text) {}

    Token next() {
        at_ = std::min(text_.find_first_not_of(blanks, at_), text_.size());
        const std::size_t start = at_;
        if (at_ == text_.size()) return {TokenKind::end, {}, start};
        const char first = text_[at_];
        if (first == '(' || first == ')') {
            ++at_;
            return {first == '(' ? TokenKind::open : TokenKind::close, text_.substr(start, 1), start};
        }
        if (first == '"') {
            const std::size_t close = text_.find('"', start + 1);
            at_ = close == std::string_view::npos ? text_.size() : close + 1;
            const std::size_t last = std::min(close, text_.size());
            return {TokenKind::quoted, text_.substr(start + 1, last - start - 1), start,
                    close != std::string_view::npos};
        }
        if (first == '!') {
            ++at_;
            return {TokenKind::word, text_.substr(start, 1), start};
        }
        if (at_operator(start)) {
            at_ += 2;
            return {TokenKind::word, text_.substr(start, 2), start};
        }
        while (at_ < text_.size() && blanks.find(text_[at_]) == std::string_view::npos && text_[at_] != '(' &&
               text_[at_] != ')' && !at_operator(at_))
            ++at_;
        return {TokenKind::word, text_.substr(start, at_ - start), start};
    }

  private:
    [[nodiscard]] bool at_operator(std::size_t at) const {
        const std::string_view two = text_.substr(at, 2);
        return two == "&&" || two == "||";
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

bool is_and(const Token& token) {
    return token.is("and") || token.is("&&");
}
bool is_or(const Token& token) {
    return token.is("or") || token.is("||");
}
bool is_not(const Token& token) {
    return token.is("not") || token.is("!");
}

// What a person wrote, fit for a message.
std::string quote(std::string_view text) {
    constexpr std::size_t shown = 40;
    return fmt::format("\"{}\"", shorten_end(sanitize(text), shown, "..."));
}

// The line with the text, and the line with the caret under the byte at `offset`. Long texts are cut around
// it.
std::string pointing_at(std::string_view text, std::size_t offset) {
    constexpr std::size_t before = 50, whole = 100;
    constexpr std::string_view cut = "...";
    std::string left = sanitize(text.substr(0, offset)), right = sanitize(text.substr(offset));
    if (display_width(left) + display_width(right) > whole) {
        while (display_width(left) > before)
            left.erase(0, first_code_point(left).length);
        if (left.size() < sanitize(text.substr(0, offset)).size()) left = std::string(cut) + left;
        right = shorten_end(right, whole - before, cut);
    }
    return fmt::format("  {}{}\n  {}^", left, right, std::string(display_width(left), ' '));
}

template<typename Number> std::optional<Number> parse_number(std::string_view text, int base = 10) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<ProtocolId> parse_protocol(std::string_view text) {
    if (const auto known = protocol_by_name(text)) return known;
    if (text.starts_with("0x")) {
        if (const auto ethertype = parse_number<std::uint16_t>(text.substr(2), 16))
            return ProtocolId{{}, ethertype};
        return std::nullopt;
    }
    if (const auto number = parse_number<std::uint8_t>(text)) return ProtocolId{number, {}};
    return std::nullopt;
}

} // namespace

class FilterParser {
  public:
    explicit FilterParser(std::string_view text) : text_(text), lexer_(text) { token_ = lexer_.next(); }

    Result<Filter> parse() {
        if (text_.size() > max_filter_length)
            return fail(ErrorKind::usage, fmt::format("filter: it is {} bytes long, at most {} are allowed",
                                                      text_.size(), max_filter_length));
        if (token_.kind == TokenKind::end)
            return fail(ErrorKind::usage, "filter: it is empty",
                        "write for example: tcp and remote port 443");
        if (!expression(0)) return failure();
        if (token_.kind == TokenKind::close) {
            error("unexpected \")\", no \"(\" is open");
            return failure();
        }
        if (token_.kind != TokenKind::end) {
            error(fmt::format("expected \"and\" or \"or\" before {}", quote(token_.text)),
                  "two conditions are joined by \"and\" or \"or\"");
            return failure();
        }
        return std::move(filter_);
    }

  private:
    using Op = Filter::Op;

    [[nodiscard]] tl::unexpected<Error> failure() { return tl::make_unexpected(std::move(error_)); }

    // Notes the first thing that is wrong, at the current token. Returns false, for the callers to pass on.
    bool error(std::string_view what, std::string advice = {}) {
        if (error_.what.empty())
            error_ = {ErrorKind::usage,
                      fmt::format("filter: {}\n{}", what, pointing_at(text_, token_.offset)),
                      std::move(advice)};
        return false;
    }

    // "X after "host"", and what stands there instead when it is not plain.
    bool expected(std::string_view what, std::string_view after, std::string advice = {}) {
        std::string message = fmt::format("expected {} after \"{}\"", what, after);
        if (token_.kind == TokenKind::end) message += ", but the filter ends there";
        return error(message, std::move(advice));
    }

    void advance() { token_ = lexer_.next(); }
    void emit(Op op, std::size_t argument = 0) { filter_.program_.push_back({op, argument}); }

    bool too_deep(unsigned depth) {
        if (depth < max_filter_depth) return false;
        error(fmt::format("nested deeper than {} levels", max_filter_depth));
        return true;
    }

    // Operands joined by one kind of operator: each jumps to the end as soon as the truth is settled.
    template<typename Operand, typename IsOperator>
    bool chain(Operand operand, IsOperator is_operator, Op jump) {
        std::vector<std::size_t> jumps;
        if (!operand()) return false;
        while (is_operator(token_)) {
            jumps.push_back(filter_.program_.size());
            emit(jump);
            advance();
            if (!operand()) return false;
        }
        for (const std::size_t at : jumps)
            filter_.program_[at].argument = filter_.program_.size();
        return true;
    }

    bool expression(unsigned depth) {
        return chain([&] { return term(depth); }, is_or, Op::jump_if_true);
    }

    bool term(unsigned depth) {
        return chain([&] { return factor(depth); }, is_and, Op::jump_if_false);
    }

    bool factor(unsigned depth) {
        if (too_deep(depth)) return false;
        if (is_not(token_)) {
            advance();
            if (!factor(depth + 1)) return false;
            emit(Op::negate);
            return true;
        }
        if (token_.kind != TokenKind::open) return condition();
        advance();
        if (!expression(depth + 1)) return false;
        if (token_.kind == TokenKind::end) return error("expected \")\": a parenthesis is not closed");
        if (token_.kind != TokenKind::close)
            return error(fmt::format("expected \"and\", \"or\" or \")\" before {}", quote(token_.text)),
                         "two conditions are joined by \"and\" or \"or\"");
        advance();
        return true;
    }

    template<typename Test> bool add(Test test) {
        emit(Op::test, filter_.conditions_.size());
        filter_.conditions_.emplace_back(std::move(test));
        advance();
        return true;
    }

    bool condition() {
        const Token word = token_;
        if (word.kind != TokenKind::word || is_and(word) || is_or(word)) return no_condition();
        if (word.is("local") || word.is("src")) return at_end(End::local, word.text);
        if (word.is("remote") || word.is("dst")) return at_end(End::remote, word.text);
        if (word.is("tx") || word.is("rx")) {
            advance();
            if (!token_.is("slave")) return expected("\"slave\"", word.text);
            return slave(word.is("tx") ? Direction::tx : Direction::rx);
        }
        if (is_end_condition(word)) return end_condition(End::either);
        if (word.is("slave")) return slave(Direction::either);
        if (word.is("bond")) {
            const auto name = interface_name("bond");
            return name && add(BondIs{*name});
        }
        if (word.is("proto")) return protocol();
        if (word.is("vlan")) return vlan();
        if (word.is("fragment")) return add(IsFragment{});
        if (word.is("moved")) return add(HasMoved{});
        if (const auto protocol = protocol_by_name(word.text)) return add(ProtocolIs{*protocol});
        return no_condition();
    }

    bool no_condition() {
        static const std::string advice =
            "a condition begins with host, net, port, mac (each also after local or remote), "
            "slave, bond, proto, vlan, fragment, moved, or is a protocol's name";
        if (token_.kind == TokenKind::end)
            return error("expected a condition, but the filter ends there", advice);
        if (token_.kind == TokenKind::word && parse_ip(token_.text))
            return error(fmt::format("expected a condition instead of {}", quote(token_.text)),
                         fmt::format("an address follows \"host\": host {}", token_.text));
        return error(fmt::format("expected a condition instead of {}", quote(token_.text)), advice);
    }

    static bool is_end_condition(const Token& token) {
        return token.is("host") || token.is("net") || token.is("port") || token.is("mac");
    }

    bool at_end(End end, std::string_view qualifier) {
        advance();
        if (!is_end_condition(token_)) return expected("\"host\", \"net\", \"port\" or \"mac\"", qualifier);
        return end_condition(end);
    }

    bool end_condition(End end) {
        const Token word = token_;
        advance();
        if (word.is("port")) return port(end);
        const bool plain = token_.kind == TokenKind::word;
        if (word.is("host")) {
            const auto address = plain ? parse_ip(token_.text) : std::nullopt;
            if (address) return add(HostIs{end, *address});
            if (plain && token_.text.find('/') != std::string_view::npos && parse_prefix(token_.text))
                return expected("an IP address", "host",
                                fmt::format("for a network write: net {}", token_.text));
            return expected("an IP address", "host");
        }
        if (word.is("net")) {
            const auto prefix = plain ? parse_prefix(token_.text) : std::nullopt;
            if (!prefix) return expected("a network such as 10.0.0.0/8 or fd00::/8", "net");
            return add(NetHolds{end, *prefix});
        }
        const auto mac = plain ? parse_mac(token_.text) : std::nullopt;
        if (!mac) return expected("a MAC address such as 02:00:00:00:0a:01", "mac");
        return add(MacIs{end, *mac});
    }

    bool port(End end) {
        const std::string_view range = token_.kind == TokenKind::word ? token_.text : std::string_view{};
        const std::size_t dash = range.find('-');
        const auto first = parse_number<std::uint16_t>(range.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : parse_number<std::uint16_t>(range.substr(dash + 1));
        if (!first || !last) return expected("a port (0 to 65535) or a range such as 5000-5010", "port");
        if (*first > *last)
            return error(fmt::format("the range {} ends before it begins", quote(range)),
                         fmt::format("write: port {}-{}", *last, *first));
        return add(PortIn{end, *first, *last});
    }

    bool slave(Direction direction) {
        const auto name = interface_name("slave");
        return name && add(SlaveIs{direction, *name});
    }

    // The name that follows the current token; when there is none, notes the error.
    std::optional<std::string> interface_name(std::string_view after) {
        advance();
        const bool plain =
            token_.kind == TokenKind::word && !is_and(token_) && !is_or(token_) && !is_not(token_);
        if (!token_.closed) {
            error("this quote is not closed");
        } else if ((!plain && token_.kind != TokenKind::quoted) || token_.text.empty()) {
            expected("a name", after);
        } else if (token_.text.size() > max_interface_name) {
            error(fmt::format("a name has at most {} bytes", max_interface_name));
        } else {
            return std::string(token_.text);
        }
        return std::nullopt;
    }

    bool protocol() {
        advance();
        const auto protocol = token_.kind == TokenKind::word ? parse_protocol(token_.text) : std::nullopt;
        if (!protocol)
            return expected(
                "a protocol", "proto",
                fmt::format("known are {}; or give the IP protocol's number (0 to 255), or the EtherType "
                            "in hexadecimal (0x88cc)",
                            protocol_names()));
        return add(ProtocolIs{*protocol});
    }

    bool vlan() {
        advance();
        const auto id =
            token_.kind == TokenKind::word ? parse_number<std::uint16_t>(token_.text) : std::nullopt;
        if (!id || *id > max_vlan_id) return expected("a VLAN ID (0 to 4095)", "vlan");
        return add(VlanIs{*id});
    }

    std::string_view text_;
    Lexer lexer_;
    Token token_;
    Filter filter_;
    Error error_;
};

Result<Filter> parse_filter(std::string_view text) {
    return FilterParser(text).parse();
}

} // namespace bondtrace
