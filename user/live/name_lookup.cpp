// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/live/name_lookup.h"

#include "user/base/fd.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bondtrace {
namespace {

using Clock = std::chrono::steady_clock;

// A server that is silent costs its thread some ten seconds a host.
constexpr std::size_t thread_count = 4;
constexpr std::chrono::seconds ask_again_after{60};

} // namespace

std::optional<std::string> system_host_name(const IpAddress& host) {
    std::array<char, NI_MAXHOST> name{};
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    const sockaddr* address = nullptr;
    socklen_t size = 0;
    if (host.v6) {
        v6.sin6_family = AF_INET6;
        std::memcpy(&v6.sin6_addr, host.bytes.data(), sizeof(v6.sin6_addr));
        address = reinterpret_cast<const sockaddr*>(&v6);
        size = sizeof(v6);
    } else {
        v4.sin_family = AF_INET;
        std::memcpy(&v4.sin_addr, host.bytes.data(), sizeof(v4.sin_addr));
        address = reinterpret_cast<const sockaddr*>(&v4);
        size = sizeof(v4);
    }
    const int failed =
        getnameinfo(address, size, name.data(), static_cast<socklen_t>(name.size()), nullptr, 0, NI_NAMEREQD);
    if (failed != 0 || name[0] == '\0') return std::nullopt;
    return std::string(name.data());
}

struct NameLookup::Shared {
    struct Answer {
        std::optional<std::string> name;
        bool pending = true;
        Clock::time_point ask_again; // of a host without a name
    };

    Ask ask;
    Fd news;
    std::mutex mutex;
    std::condition_variable work_there, answered;
    std::map<IpAddress, Answer> answers;
    std::vector<IpAddress> waiting; // the latest last
    bool ended = false;

    // With the mutex held. The answer that is there, pending or not; nullptr when too many are waiting.
    const Answer* want(const IpAddress& host) {
        const auto found = answers.find(host);
        if (found != answers.end()) {
            Answer& answer = found->second;
            if (answer.pending || answer.name || Clock::now() < answer.ask_again) return &answer;
        }
        if (waiting.size() >= most_waiting) return nullptr;
        if (found == answers.end() && answers.size() >= most_known) {
            answers.clear();
            waiting.clear();
        }
        Answer& answer = answers[host];
        answer.pending = true;
        waiting.push_back(host);
        work_there.notify_one();
        return &answer;
    }
};

NameLookup::NameLookup(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

Result<std::unique_ptr<NameLookup>> NameLookup::start(Ask ask) {
    auto shared = std::make_shared<Shared>();
    shared->ask = std::move(ask);
    shared->news = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!shared->news.valid()) return fail_errno(errno, "making a descriptor for names of hosts");
    std::unique_ptr<NameLookup> lookup(new NameLookup(shared));
    try {
        for (std::size_t number = 0; number < thread_count; ++number)
            std::thread([shared] { work(shared); }).detach();
    } catch (const std::system_error& error) {
        return fail_errno(error.code().value(), "starting a thread for names of hosts");
    }
    return lookup;
}

NameLookup::~NameLookup() {
    const std::scoped_lock lock(shared_->mutex);
    shared_->ended = true;
    shared_->work_there.notify_all();
}

void NameLookup::work(const std::shared_ptr<Shared>& shared) {
    std::unique_lock lock(shared->mutex);
    for (;;) {
        shared->work_there.wait(lock, [&] { return shared->ended || !shared->waiting.empty(); });
        if (shared->ended) return;
        const IpAddress host = shared->waiting.back();
        shared->waiting.pop_back();
        lock.unlock();
        std::optional<std::string> name = shared->ask(host);
        lock.lock();
        shared->answers[host] = {std::move(name), false, Clock::now() + ask_again_after};
        shared->answered.notify_all();
        // It can only fail when the counter is full, and then it is readable.
        [[maybe_unused]] const int written = eventfd_write(shared->news.get(), 1);
    }
}

std::optional<std::string> NameLookup::name_of(const IpAddress& host) const {
    const std::scoped_lock lock(shared_->mutex);
    const Shared::Answer* const answer = shared_->want(host);
    return answer ? answer->name : std::nullopt;
}

int NameLookup::event_fd() const {
    return shared_->news.get();
}

void NameLookup::take_news() {
    eventfd_t count = 0;
    [[maybe_unused]] const int none = eventfd_read(shared_->news.get(), &count); // fails when there are none
}

void NameLookup::wait_for(std::span<const IpAddress> hosts, std::chrono::milliseconds limit) const {
    std::unique_lock lock(shared_->mutex);
    shared_->answered.wait_for(lock, limit, [&] {
        return std::all_of(hosts.begin(), hosts.end(), [&](const IpAddress& host) {
            const Shared::Answer* const answer = shared_->want(host);
            return answer && !answer->pending;
        });
    });
}

} // namespace bondtrace
