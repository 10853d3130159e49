// SPDX-License-Identifier: GPL-2.0-or-later
// A worker whose flows are TCP connections: one send and one receive at a time for each, from and into one
// buffer that all flows share and that stays in the cache.
#pragma once

#include "user/traffic/mapped_buffer.h"
#include "user/traffic/socket_address.h"
#include "user/traffic/worker.h"

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace bondtrace::traffic {

class TcpWorker final : public Worker {
  public:
    TcpWorker(EngineShared& shared, std::optional<unsigned> cpu);
    ~TcpWorker() override;

  private:
    void on_open(std::size_t slot) override;
    void on_adopt(std::size_t slot) override;
    void on_completion(Op op, std::size_t slot, int result) override;
    void on_timer(std::size_t slot) override;
    void on_begin() override;
    void on_stop() override;
    bool on_ready() override;
    void on_interval(Flow& flow) override;

    void start_connects();
    void connect_ended(std::size_t slot, int result);
    void start_flow(std::size_t slot);
    void cap_buffers(const Flow& flow) const;
    void limit_rate(Flow& flow) const;

    void next_send(std::size_t slot);
    void issue_send(std::size_t slot);
    void issue_send_file(std::size_t slot);
    void send_ended(std::size_t slot, int result);
    void sent_some(std::size_t slot, std::uint64_t bytes);
    void end_sending(Flow& flow);

    void issue_receive(std::size_t slot);
    void receive_ended(std::size_t slot, int result);

    MappedBuffer send_buffer_, receive_buffer_;
    Fd pages_; // a memory file of constant pages (no_copy)
    std::uint32_t chunk_ = 0;
    double ns_per_byte_ = 0; // of a paced flow
    bool truncating_ = false, truncation_tried_ = false, sending_pages_ = false;

    std::size_t connects_at_a_time_ = 1;
    std::deque<std::size_t> to_connect_;
    std::unordered_map<std::size_t, SocketAddress> connecting_; // addresses the kernel may still read
    std::deque<std::size_t> ready_;                             // flows to send pages on
};

} // namespace bondtrace::traffic
