// SPDX-License-Identifier: GPL-2.0-or-later
// Names of hosts from the system's resolver, asked for by threads of their own: a name server that does not
// answer holds up nothing but names.
#pragma once

#include "user/base/result.h"
#include "user/live/host_names.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace bondtrace {

// Asks the system (files, DNS, as nsswitch.conf says) for the name of a host, in the calling thread's network
// namespace. Waits for the answer; nullopt when there is none.
std::optional<std::string> system_host_name(const IpAddress& host);

class NameLookup : public HostNames {
  public:
    // Waits for an answer. Called by several threads at once, also after the NameLookup has gone.
    using Ask = std::function<std::optional<std::string>(const IpAddress&)>;

    // Starts the threads; give up privileges before, and block the signals that are not theirs. Fails when
    // the system gives no thread or descriptor.
    static Result<std::unique_ptr<NameLookup>> start(Ask ask = system_host_name);
    // Does not wait for answers that are due.
    ~NameLookup() override;
    NameLookup(const NameLookup&) = delete;
    NameLookup& operator=(const NameLookup&) = delete;

    // Asks for what is not known, the latest first. Hosts without a name are asked for again after a minute.
    [[nodiscard]] std::optional<std::string> name_of(const IpAddress& host) const override;

    // Readable when there are new answers since take_news().
    [[nodiscard]] int event_fd() const;
    void take_news();

    // Asks for these hosts, and waits until all are answered, at most `limit`.
    void wait_for(std::span<const IpAddress> hosts, std::chrono::milliseconds limit) const;

    static constexpr std::size_t most_known = 8192;  // then all are forgotten
    static constexpr std::size_t most_waiting = 512; // more are asked for when they are wanted again

  private:
    struct Shared;
    explicit NameLookup(std::shared_ptr<Shared> shared);
    static void work(const std::shared_ptr<Shared>& shared);

    std::shared_ptr<Shared> shared_; // with the threads, which may outlive this
};

} // namespace bondtrace
