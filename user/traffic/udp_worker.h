// SPDX-License-Identifier: GPL-2.0-or-later
// A worker whose flows are UDP. The ring waits, for readiness and for times; datagrams are moved by sendmmsg
// and recvmmsg, which keep a flow's datagrams in order and cost less for each (docs/performance.md). A
// client's flow has a connected socket of its own; a server's flows of one worker share a socket on the
// server's port.
#pragma once

#include "user/traffic/datagram_batch.h"
#include "user/traffic/sequence_tracker.h"
#include "user/traffic/worker.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace bondtrace::traffic {

class UdpWorker final : public Worker {
  public:
    // `socket` is the server's shared one; a client's worker has none.
    UdpWorker(EngineShared& shared, std::optional<unsigned> cpu, Fd socket);
    ~UdpWorker() override;

    // A socket on the server's port that shares it with those of the other workers.
    static Result<Fd> open_shared(const TestOptions& options, const IpAddress& listen, std::uint16_t port);

    FlowResult result_of(const Flow& flow) const override;
    [[nodiscard]] int typical_socket() const override {
        return socket_.valid() ? socket_.get() : Worker::typical_socket();
    }

  private:
    // What a UDP flow has beside Flow.
    struct Peer {
        DatagramEnds ends; // server
        SequenceTracker sequence;
        std::uint64_t next_sequence = 0; // to be sent
        unsigned hellos = 0;
        bool waiting = false; // for room to send
    };

    void on_launched() override;
    void on_open(std::size_t slot) override;
    void on_adopt(std::size_t) override {}
    void on_completion(Op op, std::size_t slot, int result) override;
    void on_timer(std::size_t slot) override;
    void on_begin() override;
    void on_stop() override;
    bool on_ready() override;

    void start_hellos();
    void say_hello(std::size_t slot);
    void hello_failed(std::size_t slot, int error, Step step = Step::connect);
    void answered(std::size_t slot);
    void accept_hello(const DatagramHeader& header, const DatagramEnds& ends);
    void begin_flow(std::size_t slot);

    void arm_receive(std::size_t slot);
    void receive(std::size_t slot);
    void take_datagram(const DatagramHeader& header, std::size_t length, std::size_t message);
    void send(std::size_t slot);
    void after_send(std::size_t slot, std::size_t datagrams);
    [[nodiscard]] std::size_t due_datagrams(const Flow& flow) const;
    [[nodiscard]] int fd_of(std::size_t slot) const;

    static constexpr std::size_t shared_slot = 0xffff'ffff; // the shared socket, where a slot is asked for
    static constexpr std::uint32_t unknown = 0xffff'ffff;

    Fd socket_; // shared
    std::uint64_t tag_;
    std::deque<Peer> peers_;             // by slot
    std::vector<std::uint32_t> slot_of_; // by index of the flow
    std::deque<std::size_t> to_greet_;
    std::size_t greeting_ = 0; // flows whose answer is awaited
    std::deque<std::size_t> ready_receive_, ready_send_;
    ReceiveBatch received_;
    SendBatch to_send_;
    double ns_per_datagram_ = 0; // of a paced flow
};

} // namespace bondtrace::traffic
