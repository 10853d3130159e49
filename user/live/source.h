// SPDX-License-Identifier: GPL-2.0-or-later
// Where readings come from: the kernel, or a recording.
#pragma once

#include "user/base/result.h"
#include "user/live/reading.h"
#include "user/live/replay.h"
#include "user/trace/observation.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace bondtrace {

class LiveSource {
  public:
    virtual ~LiveSource() = default;

    // The next reading; nullopt when there are no more.
    virtual Result<std::optional<LiveReading>> next() = 0;

    // Readable when something has happened that is worth a reading before its time; negative: never.
    [[nodiscard]] virtual int event_fd() const { return -1; }
    // To be called then.
    virtual Result<void> follow() { return {}; }

    // Recordings only: how many readings there are, and which one next() gave last, from 1.
    [[nodiscard]] virtual std::size_t count() const { return 0; }
    [[nodiscard]] virtual std::size_t number() const { return 0; }
    // Makes `number` the one that next() gives.
    virtual void seek(std::size_t /*number*/) {}

  protected:
    LiveSource() = default;
    LiveSource(const LiveSource&) = default;
    LiveSource& operator=(const LiveSource&) = default;
};

class KernelSource : public LiveSource {
  public:
    // What predictions need, which is asked for before attaching.
    struct Hash {
        EraFinding era;
        bool flow_dissector = true; // a BPF flow dissector may be attached
    };
    // `make_header` gives a reading's header when told how the programs are attached.
    KernelSource(Observation observation, std::function<ReportHeader(std::string)> make_header,
                 std::string netns, std::string host, Hash hash)
        : observation_(std::move(observation)), make_header_(std::move(make_header)),
          netns_(std::move(netns)), host_(std::move(host)), hash_(std::move(hash)) {}

    Result<std::optional<LiveReading>> next() override {
        auto observed = observation_.snapshot();
        if (!observed) return tl::make_unexpected(observed.error());
        const std::string attachment = observed->attachment;
        LiveReading reading = make_reading(std::move(*observed), make_header_(attachment), netns_, host_);
        reading.report.era = hash_.era;
        reading.flow_dissector = hash_.flow_dissector;
        return reading;
    }
    [[nodiscard]] int event_fd() const override { return observation_.fd(); }
    Result<void> follow() override { return observation_.follow(); }

  private:
    Observation observation_;
    std::function<ReportHeader(std::string)> make_header_;
    std::string netns_, host_;
    Hash hash_;
};

class RecordedSource : public LiveSource {
  public:
    explicit RecordedSource(Recording recording) : recording_(std::move(recording)) {}

    Result<std::optional<LiveReading>> next() override {
        if (next_ >= recording_.size()) return std::nullopt;
        auto reading = recording_.read(next_);
        if (!reading) return tl::make_unexpected(reading.error());
        ++next_;
        return std::move(*reading);
    }
    [[nodiscard]] std::size_t count() const override { return recording_.size(); }
    [[nodiscard]] std::size_t number() const override { return next_; }
    void seek(std::size_t number) override { next_ = number > 0 ? number - 1 : 0; }

  private:
    Recording recording_;
    std::size_t next_ = 0;
};

} // namespace bondtrace
