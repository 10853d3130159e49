// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/features.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bondtrace::traffic {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Feature::count)> feature_names{
    "single-issuer", "defer-taskrun", "coop-taskrun", "registered-ring",
    "msg-trunc",     "sendfile",      "udp-segment",  "udp-gro"};

} // namespace

std::vector<std::string> FeatureSet::names() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < feature_names.size(); ++i)
        if (bits_.test(i)) names.emplace_back(feature_names[i]);
    return names;
}

Result<FeatureSet> parse_features(std::string_view text) {
    FeatureSet set;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto name = text.substr(0, comma);
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
        std::size_t i = 0;
        while (i < feature_names.size() && feature_names[i] != name)
            ++i;
        if (i == feature_names.size())
            return fail(ErrorKind::usage, fmt::format("there is no feature '{}'", name),
                        fmt::format("the features are {}", fmt::join(feature_names, ", ")));
        set.add(static_cast<Feature>(i));
    }
    return set;
}

} // namespace bondtrace::traffic
