// SPDX-License-Identifier: GPL-2.0-or-later
// The members of a control message, read without trust: what is missing, of another type or out of range is
// remembered, the first time.
#pragma once

#include "user/base/address.h"
#include "user/bond/json_members.h"
#include "user/traffic/control_message.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bondtrace::traffic {

using Wrong = std::optional<JsonProblem>;

// Members that must be there, on top of JsonMembers, which lets them be absent.
class ControlReader {
  public:
    ControlReader(const nlohmann::json& object, std::string where, Wrong& wrong)
        : members_(object, std::move(where), wrong) {}

    template<typename Number>
    Number number(const char* name, Number most = std::numeric_limits<Number>::max()) const {
        const nlohmann::json* const value = members_.find(name);
        if (value && value->is_number_unsigned() &&
            value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most))
            return static_cast<Number>(value->get<std::uint64_t>());
        members_.complain(name, fmt::format("is no whole number from 0 to {}", most));
        return 0;
    }
    [[nodiscard]] double real(const char* name, double most) const {
        const nlohmann::json* const value = members_.find(name);
        if (value && value->is_number()) {
            const double real = value->get<double>();
            if (std::isfinite(real) && real >= 0 && real <= most) return real;
        }
        members_.complain(name, fmt::format("is no number from 0 to {}", most));
        return 0;
    }
    [[nodiscard]] bool truth(const char* name) const {
        const nlohmann::json* const value = members_.find(name);
        if (value && value->is_boolean()) return value->get<bool>();
        members_.complain(name, "is neither true nor false");
        return false;
    }
    [[nodiscard]] std::string text(const char* name, std::size_t most = max_text) const {
        const nlohmann::json* const value = members_.find(name);
        return value ? text_of(*value, name, most) : (members_.complain(name, "is missing"), std::string{});
    }
    [[nodiscard]] std::vector<std::string> texts(const char* name, std::size_t most) const {
        std::vector<std::string> texts;
        if (const nlohmann::json* const value = array(name, most))
            for (const nlohmann::json& item : *value)
                texts.push_back(text_of(item, name, max_text));
        return texts;
    }
    [[nodiscard]] const nlohmann::json* array(const char* name, std::size_t most) const {
        const nlohmann::json* const value = members_.find(name);
        if (value && value->is_array() && value->size() <= most) return value;
        members_.complain(name, fmt::format("is no list of at most {}", most));
        return nullptr;
    }
    [[nodiscard]] std::optional<ControlReader> object(const char* name, Wrong& wrong) const {
        const nlohmann::json* const value = members_.find(name);
        if (value && value->is_object()) return ControlReader(*value, name, wrong);
        members_.complain(name, "is no object");
        return std::nullopt;
    }
    // One of the words that `parse` knows.
    template<typename Enum>
    Enum word(const char* name, std::optional<Enum> (*parse)(std::string_view)) const {
        const auto value = parse(text(name));
        if (!value) members_.complain(name, "is a word of an unknown meaning");
        return value.value_or(Enum{});
    }
    [[nodiscard]] IpAddress address(const char* name) const {
        const auto value = parse_ip(text(name));
        if (!value) members_.complain(name, "is no IP address");
        return value.value_or(IpAddress{});
    }
    [[nodiscard]] bool has(const char* name) const { return members_.find(name) != nullptr; }
    void complain(const char* name, std::string_view what) const { members_.complain(name, what); }

  private:
    [[nodiscard]] std::string text_of(const nlohmann::json& value, const char* name, std::size_t most) const {
        const auto* const text = value.get_ptr<const std::string*>();
        if (text && text->size() <= most) return *text;
        members_.complain(name, fmt::format("is no text of at most {} bytes", most));
        return {};
    }

    JsonMembers members_;
};

} // namespace bondtrace::traffic
