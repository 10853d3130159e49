// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a file for each type of control message into the working directory: the seeds of the fuzz target.
// The byte in front is the target's own.
#include "user/traffic/data_header.h"
#include "user/traffic/frame_reader.h"

#include <fstream>
#include <string>
#include <vector>

int main() {
    using namespace bondtrace;
    using namespace bondtrace::traffic;
    FlowResult tcp, udp;
    tcp.address = {*parse_ip("10.0.0.1"), *parse_ip("10.0.0.2"), 40'000, default_port};
    tcp.tcp = TcpFacts{1, 2, 3, 4, 5};
    tcp.failure = "why";
    udp.udp = UdpFacts{1, 2, 3, 4.5};
    SummaryMessage summary;
    summary.flows = 2;
    summary.result.features = {"single-issuer"};
    summary.result.notes = {"a note"};
    TraceMessage trace;
    trace.flows = 2;
    trace.trace = {"bond0", "802.3ad", "layer3+4", "fentry", {{"s0", true, 10'000, 1, 2, 1, 2, 1.0, 0.5}, {}},
                   {},      {"a note"}};
    TestOptions options;
    options.dscp = 46;
    const std::vector<Message> messages{HelloMessage{protocol_version, "0.1.0"},
                                        RefusalMessage{"busy", "later"},
                                        RequestMessage{options, 2, true},
                                        AcceptedMessage{{}, "why"},
                                        StartMessage{2},
                                        StartedMessage{2},
                                        ProgressMessage{{0, 1, 2, 3, 4, 5}},
                                        EndedMessage{"stopped"},
                                        FinishMessage{},
                                        summary,
                                        FlowsMessage{0, {tcp, udp}},
                                        trace,
                                        TracedMessage{0, {{{{0, 1, 2}}, {{1, 3, 4}}}, {}}},
                                        DoneMessage{}};
    bool written = true;
    const auto write = [&](const std::string& name, const std::string& bytes) {
        std::ofstream file(name, std::ios::binary);
        file << bytes;
        file.close();
        written = written && file.good();
    };
    for (const Message& message : messages)
        write(std::string(type_name(message)), "\xff" + frame(message));
    const auto hello = encode(DataHello{});
    write("data-hello", {hello.begin(), hello.end()});
    std::array<std::uint8_t, datagram_header_size> datagram{};
    encode(DatagramHeader{}, datagram);
    write("datagram", {datagram.begin(), datagram.end()});
    return written ? 0 : 1;
}
