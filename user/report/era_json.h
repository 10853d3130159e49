// SPDX-License-Identifier: GPL-2.0-or-later
// The member "era" that several documents have.
#pragma once

#include "user/hash/era.h"

#include <nlohmann/json_fwd.hpp>

namespace bondtrace {

// {"name": "6.5", "source": "probed", "why": null}
nlohmann::ordered_json era_json(const EraFinding& found);

} // namespace bondtrace
