// SPDX-License-Identifier: GPL-2.0-or-later
// What the model of the kernel's hash says about a conversation's sending side.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace bondtrace {

struct Prediction {
    std::optional<std::string> slave; // nullopt: the tuple does not determine it
    std::optional<bool> agrees;       // with the slaves seen; nullopt: cannot be said
    std::string why;                  // in words, when either is missing or they disagree; may be empty

    auto operator<=>(const Prediction&) const = default;
};

// A prediction or none, to be used like an optional one that cannot be changed in place. There are few
// different ones however many conversations there are, so that those that are equal may be one in memory.
class SharedPrediction {
  public:
    SharedPrediction() = default;
    SharedPrediction(std::nullopt_t) {}
    SharedPrediction(Prediction prediction)
        : shared_(std::make_shared<const Prediction>(std::move(prediction))) {}
    explicit SharedPrediction(std::shared_ptr<const Prediction> shared) : shared_(std::move(shared)) {}

    // A copy, for who wants one of its own.
    operator std::optional<Prediction>() const { return shared_ ? std::optional(*shared_) : std::nullopt; }

    [[nodiscard]] bool has_value() const { return shared_ != nullptr; }
    explicit operator bool() const { return has_value(); }
    const Prediction& operator*() const { return *shared_; }
    const Prediction* operator->() const { return shared_.get(); }
    [[nodiscard]] Prediction value_or(const Prediction& other) const { return shared_ ? *shared_ : other; }

  private:
    std::shared_ptr<const Prediction> shared_;
};

// Makes equal predictions one.
class PredictionPool {
  public:
    SharedPrediction share(Prediction prediction);
    [[nodiscard]] std::size_t size() const { return pool_.size(); }

  private:
    struct ByValue {
        using is_transparent = void;
        using Shared = std::shared_ptr<const Prediction>;
        bool operator()(const Shared& a, const Shared& b) const { return *a < *b; }
        bool operator()(const Shared& a, const Prediction& b) const { return *a < b; }
        bool operator()(const Prediction& a, const Shared& b) const { return a < *b; }
    };
    std::set<std::shared_ptr<const Prediction>, ByValue> pool_;
    std::shared_ptr<const Prediction> last_; // most follow their like
    std::size_t clean_at_ = 1024;            // predictions; those that nobody has any more then go
};

} // namespace bondtrace
