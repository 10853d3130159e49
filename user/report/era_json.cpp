// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/report/era_json.h"

#include "user/base/text.h"

#include <nlohmann/json.hpp>

namespace bondtrace {

nlohmann::ordered_json era_json(const EraFinding& found) {
    using Json = nlohmann::ordered_json;
    return {{"name", to_text(found.era)},
            {"source", to_text(found.source)},
            {"why", found.why.empty() ? Json(nullptr) : Json(valid_utf8(found.why))}};
}

} // namespace bondtrace
