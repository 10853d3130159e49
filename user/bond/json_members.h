// SPDX-License-Identifier: GPL-2.0-or-later
// The members of a JSON object, read without trust.
#pragma once

#include "user/base/address.h"
#include "user/bond/dump_parser.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bondtrace {

// What is wrong with a document, and where.
struct JsonProblem {
    std::string what;
};

// Reads the members of one object. What is absent leaves the target alone; what is there and cannot be that
// is remembered, the first time.
class JsonMembers {
  public:
    JsonMembers(const nlohmann::json& object, std::string where, std::optional<JsonProblem>& wrong)
        : object_(&object), where_(std::move(where)), wrong_(&wrong) {}

    template<typename Number> bool number(const char* name, Number& target) const {
        const nlohmann::json* const value = find(name);
        if (!value) return false;
        const auto large = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
        if (value->is_number_unsigned() && value->get<std::uint64_t>() <= large) {
            target = static_cast<Number>(value->get<std::uint64_t>());
            return true;
        }
        // iproute2 prints some unsigned ones with %d, and prio is signed.
        if (value->is_number_integer()) {
            const auto signed_value = value->get<std::int64_t>();
            const bool fits = signed_value >= std::numeric_limits<std::int32_t>::min() && signed_value < 0 &&
                              sizeof(Number) == sizeof(std::int32_t);
            if (fits) {
                target = static_cast<Number>(static_cast<std::int32_t>(signed_value));
                return true;
            }
        }
        return complain(name, "is no number that fits");
    }
    template<typename Number> void number(const char* name, std::optional<Number>& target) const {
        Number value{};
        if (number(name, value)) target = value;
    }
    // 0 or 1, "off" or "on", false or true.
    bool flag(const char* name, bool& target) const {
        const nlohmann::json* const value = find(name);
        if (!value) return false;
        if (value->is_boolean())
            target = value->get<bool>();
        else if (value->is_number_unsigned())
            target = value->get<std::uint64_t>() != 0;
        else if (*value == "on" || *value == "off")
            target = *value == "on";
        else
            return complain(name, "is neither on nor off");
        return true;
    }
    void flag(const char* name, std::optional<bool>& target) const {
        bool value = false;
        if (flag(name, value)) target = value;
    }
    // A string; null counts as absent.
    [[nodiscard]] std::optional<std::string> text(const char* name) const {
        const nlohmann::json* const value = find(name);
        if (!value || value->is_null()) return std::nullopt;
        if (value->is_string()) return value->get<std::string>();
        complain(name, "is no text");
        return std::nullopt;
    }
    // A word that `parse` knows; others are left unknown.
    template<typename Enum>
    void word(const char* name, std::optional<Enum> (*parse)(std::string_view),
              std::optional<Enum>& target) const {
        if (const auto value = text(name)) target = parse(*value);
    }
    bool mac(const char* name, MacAddress& target) const {
        const auto value = text(name);
        const auto address = value ? parse_mac(*value) : std::nullopt;
        if (address) target = *address;
        return address.has_value(); // InfiniBand's have 20 bytes
    }
    void mac(const char* name, std::optional<MacAddress>& target) const {
        MacAddress value{};
        if (mac(name, value)) target = value;
    }
    void interface(const char* name, std::optional<std::string>& target) const {
        const auto value = text(name);
        if (!value) return;
        if (is_interface_name(*value))
            target = *value;
        else
            complain(name, "is no name of an interface");
    }
    void addresses(const char* name, bool v6, std::vector<IpAddress>& target) const {
        constexpr std::size_t max_targets = 16;
        const nlohmann::json* const value = find(name);
        if (!value) return;
        if (!value->is_array() || value->size() > max_targets) {
            complain(name, "is no list of addresses");
            return;
        }
        for (const nlohmann::json& item : *value) {
            const auto address = item.is_string() ? parse_ip(item.get<std::string>()) : std::nullopt;
            if (address && address->v6 == v6)
                target.push_back(*address);
            else
                complain(name, "has something that is no address");
        }
    }
    // An object within; nullopt when absent.
    [[nodiscard]] std::optional<JsonMembers> object(const char* name) const {
        const nlohmann::json* const value = find(name);
        if (!value) return std::nullopt;
        if (value->is_object()) return JsonMembers(*value, fmt::format("{}.{}", where_, name), *wrong_);
        complain(name, "is no object");
        return std::nullopt;
    }
    [[nodiscard]] const nlohmann::json* find(const char* name) const {
        const auto value = object_->find(name);
        return value == object_->end() ? nullptr : &*value;
    }
    bool complain(const char* name, std::string_view what) const {
        if (!*wrong_) *wrong_ = JsonProblem{fmt::format("{}.{} {}", where_, name, what)};
        return false;
    }

  private:
    const nlohmann::json* object_;
    std::string where_;
    std::optional<JsonProblem>* wrong_;
};

} // namespace bondtrace
