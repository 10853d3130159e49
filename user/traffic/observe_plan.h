// SPDX-License-Identifier: GPL-2.0-or-later
// Flows on the slaves one wants where only observing tells: open a flow, look which slave carries it, keep it
// or reset it and try another. The decisions alone; whoever opens flows and traces them asks. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bondtrace::traffic {

class ObservePlan {
  public:
    enum class Verdict : std::uint8_t { keep, reset };

    // The slaves, by name and in any order, and how many flows each is to have. Slaves are named by their
    // position from here on.
    ObservePlan(std::vector<std::string> slaves, std::vector<std::size_t> wanted);

    // A flow was opened, has sent something, and was seen on `slaves`: none when the tracer has not seen it,
    // or it left through one that is not listed; several when its packets are spread. Only a flow on one
    // slave that still wants some is kept.
    Verdict opened(std::span<const std::size_t> slaves);
    // A flow that was kept on `from` is seen on `to` now. It is kept when that slave wants it.
    Verdict moved(std::size_t from, std::size_t to);
    // A flow that was kept on `slave` has ended.
    void ended(std::size_t slave);

    [[nodiscard]] std::size_t missing() const;
    [[nodiscard]] bool complete() const { return missing() == 0; }
    // How many flows to open next, `most` at a time: never more than will surely be needed.
    [[nodiscard]] std::size_t next_batch(std::size_t most) const;

    // Why it makes no sense to go on; nullopt: it does. A slave that wants flows and has had none of so many
    // that chance alone explains it once in 10^9 times; flows that nobody sees; flows that are spread.
    [[nodiscard]] std::optional<std::string> hopeless() const;

    [[nodiscard]] const std::vector<std::size_t>& kept() const { return kept_; }
    [[nodiscard]] std::size_t opens() const { return opens_; } // so far
    [[nodiscard]] std::size_t moves() const { return moves_; }

  private:
    std::vector<std::string> slaves_;
    std::vector<std::size_t> wanted_, kept_;
    std::vector<std::size_t> since_; // flows seen on other slaves since the last one on this
    std::size_t opens_ = 0, moves_ = 0;
    std::size_t unseen_ = 0, spread_ = 0; // one after another
};

} // namespace bondtrace::traffic
