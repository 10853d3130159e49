// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/flow/prediction.h"

#include <algorithm>

namespace bondtrace {

SharedPrediction PredictionPool::share(Prediction prediction) {
    if (last_ && *last_ == prediction) return SharedPrediction(last_);
    const auto known = pool_.find(prediction);
    if (known != pool_.end()) {
        last_ = *known;
        return SharedPrediction(last_);
    }
    if (pool_.size() >= clean_at_) {
        std::erase_if(pool_, [](const auto& shared) { return shared.use_count() == 1; });
        clean_at_ = std::max(clean_at_, 2 * pool_.size());
    }
    last_ = *pool_.insert(std::make_shared<const Prediction>(std::move(prediction))).first;
    return SharedPrediction(last_);
}

} // namespace bondtrace
