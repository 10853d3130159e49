// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a capture of generated frames to standard output: write_capture
// ethernet|ethernet-pcapng|cooked|cooked2|raw [FRAMES [SEED]].
#include "tests/support/capture_writer.h"
#include "tests/support/frame_generator.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

int main(int argc, char** argv) {
    using namespace bondtrace::test;
    const std::map<std::string, std::uint32_t> links{{"ethernet", link_ethernet},
                                                     {"ethernet-pcapng", link_ethernet},
                                                     {"cooked", link_cooked},
                                                     {"cooked2", link_cooked2},
                                                     {"raw", link_raw}};
    const auto link = links.find(argc > 1 ? argv[1] : "");
    if (link == links.end()) {
        std::fputs("usage: write_capture ethernet|ethernet-pcapng|cooked|cooked2|raw [FRAMES [SEED]]\n",
                   stderr);
        return 64;
    }
    const unsigned long frames = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2000;
    FrameGenerator generator(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1);
    CaptureWriter writer(link->second,
                         link->first == "ethernet-pcapng" ? CaptureFormat::pcapng : CaptureFormat::pcap);
    for (unsigned long i = 0; i < frames; ++i) {
        const std::vector<std::uint8_t> frame = generator.next();
        std::vector<std::uint8_t> packet = frame;
        const auto direction = static_cast<std::uint8_t>(i % 4 != 0 ? 4 : 0); // 4: outgoing
        if (link->second == link_cooked) {
            packet = {0, direction, 0, 1, 0, 6};
            packet.insert(packet.end(), frame.begin() + 6, frame.begin() + 12);
            packet.insert(packet.end(), {0, 0});
            packet.insert(packet.end(), frame.begin() + 12, frame.end());
        } else if (link->second == link_cooked2) {
            packet.assign(frame.begin() + 12, frame.begin() + 14);
            packet.insert(packet.end(), {0, 0, 0, 0, 0, 7, 0, 1, direction, 6});
            packet.insert(packet.end(), frame.begin() + 6, frame.begin() + 12);
            packet.insert(packet.end(), {0, 0});
            packet.insert(packet.end(), frame.begin() + 14, frame.end());
        } else if (link->second == link_raw) {
            packet.assign(frame.begin() + 14, frame.end());
        }
        writer.add(packet, 0, i * 1000);
    }
    const auto& bytes = writer.bytes();
    return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0 ? 0
                                                                                                          : 1;
}
