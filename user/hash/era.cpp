// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/hash/era.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace bondtrace {
namespace {

template<typename T> struct Spelling {
    std::string_view text;
    T value;
};

constexpr std::array<Spelling<bool>, 2> ethertype_spellings{{{"raw", true}, {"host", false}}};
constexpr std::array<Spelling<bool>, 2> icmp_spellings{{{"on", true}, {"off", false}}};
constexpr std::array<Spelling<LowBit>, 3> low_bit_spellings{
    {{"kept", LowBit::kept}, {"dropped", LowBit::dropped}, {"dropped-by-ports", LowBit::dropped_by_ports}}};
constexpr std::array<Spelling<Dissector>, 3> dissector_spellings{
    {{"5.10", Dissector::classic}, {"5.15", Dissector::v5_15}, {"6.5", Dissector::v6_5}}};

template<typename T, std::size_t N>
bool set(T& trait, std::string_view text, const std::array<Spelling<T>, N>& spellings) {
    for (const auto& spelling : spellings) {
        if (spelling.text != text) continue;
        trait = spelling.value;
        return true;
    }
    return false;
}

template<typename T, std::size_t N>
std::string_view spell(T trait, const std::array<Spelling<T>, N>& spellings) {
    for (const auto& spelling : spellings)
        if (spelling.value == trait) return spelling.text;
    return "?";
}

// "5.10" or "5.10.223-1" as 5·2^16 + 10; nullopt when the text does not begin with two numbers.
std::optional<std::uint32_t> parse_release(std::string_view text) {
    const char* const end = text.data() + text.size();
    std::uint16_t major = 0;
    std::uint16_t minor = 0;
    const auto first = std::from_chars(text.data(), end, major);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, minor);
    if (second.ec != std::errc{}) return std::nullopt;
    if (second.ptr != end && *second.ptr != '.' && *second.ptr != '-') return std::nullopt;
    return std::uint32_t{major} << 16U | minor;
}

Era era_of_release(std::uint32_t release) {
    Era era = eras.front().era;
    for (const NamedEra& named : eras)
        if (parse_release(named.name) <= release) era = named.era;
    return era;
}

bool set_trait(Era& era, std::string_view trait) {
    const auto equals = trait.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = trait.substr(0, equals);
    const std::string_view value = trait.substr(equals + 1);
    if (name == "ethertype") return set(era.ethertype_raw, value, ethertype_spellings);
    if (name == "low-bit") return set(era.low_bit, value, low_bit_spellings);
    if (name == "icmp") return set(era.icmp, value, icmp_spellings);
    if (name == "dissector") return set(era.dissector, value, dissector_spellings);
    return false;
}

} // namespace

Result<Era> parse_era(std::string_view text) {
    Era era = newest_era;
    std::string_view rest = text;
    for (bool first = true;; first = false) {
        const auto comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        const auto release = first ? parse_release(part) : std::nullopt;
        if (release)
            era = era_of_release(*release);
        else if (!set_trait(era, part))
            return fail(ErrorKind::usage, fmt::format("unknown kernel era \"{}\"", text),
                        "give a mainline release such as 4.14, 5.10, 5.15 or 6.1, or traits: "
                        "ethertype=raw|host,low-bit=kept|dropped|dropped-by-ports,icmp=on|off,dissector=5.10|"
                        "5.15|6.5");
        if (comma == std::string_view::npos) return era;
        rest = rest.substr(comma + 1);
    }
}

std::string to_text(const Era& era) {
    for (const NamedEra& named : eras)
        if (named.era == era) return std::string(named.name);
    return fmt::format("ethertype={},low-bit={},icmp={},dissector={}",
                       spell(era.ethertype_raw, ethertype_spellings), spell(era.low_bit, low_bit_spellings),
                       spell(era.icmp, icmp_spellings), spell(era.dissector, dissector_spellings));
}

std::string_view to_text(EraSource source) {
    switch (source) {
    case EraSource::probed:
        return "probed";
    case EraSource::assumed:
        return "assumed";
    case EraSource::given:
        return "given";
    }
    return "?";
}

EraFinding assume_era(std::string_view release, std::string why) {
    const auto number = parse_release(release);
    return {number ? era_of_release(*number) : newest_era, EraSource::assumed, std::move(why)};
}

} // namespace bondtrace
