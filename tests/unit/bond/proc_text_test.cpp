// SPDX-License-Identifier: GPL-2.0-or-later
// The layout is that of bond_procfs.c.
#include "user/bond/proc_text.h"

#include <string>

#include <gtest/gtest.h>

namespace bondtrace {

bool operator==(const ProcSlave& a, const ProcSlave& b) {
    return a.name == b.name && a.speed_mbps == b.speed_mbps;
}
void PrintTo(const ProcSlave& slave, std::ostream* out) {
    *out << slave.name << '@' << (slave.speed_mbps ? std::to_string(*slave.speed_mbps) : "unknown");
}

namespace {

using Slaves = std::vector<ProcSlave>;

// An 802.3ad bond as 6.12 prints it for root, shortened to one set of LACP details.
const std::string lacp_dump = "Ethernet Channel Bonding Driver: v6.12.117+deb13-amd64\n"
                              "\n"
                              "Bonding Mode: IEEE 802.3ad Dynamic link aggregation\n"
                              "Transmit Hash Policy: layer3+4 (1)\n"
                              "MII Status: up\n"
                              "MII Polling Interval (ms): 100\n"
                              "\n"
                              "802.3ad info\n"
                              "LACP rate: fast\n"
                              "Active Aggregator Info:\n"
                              "\tAggregator ID: 1\n"
                              "\tPartner Mac Address: 00:00:5e:00:53:b0\n"
                              "\n"
                              "Slave Interface: s3\n"
                              "MII Status: up\n"
                              "Speed: 10000 Mbps\n"
                              "Duplex: full\n"
                              "Permanent HW addr: 00:00:5e:00:53:a0\n"
                              "details actor lacp pdu:\n"
                              "    port state: 63\n"
                              "\n"
                              "Slave Interface: s0.7@x-y\n"
                              "MII Status: up\n"
                              "Speed: Unknown\n"
                              "Duplex: Unknown\n";

TEST(ProcText, OrderAndSpeeds) {
    EXPECT_EQ(parse_proc_slaves(lacp_dump), (Slaves{{"s3", 10000}, {"s0.7@x-y", std::nullopt}}));
}

TEST(ProcText, WindowsLineEndsAndOddBlanks) {
    std::string dump;
    for (const char c : lacp_dump)
        dump += c == '\n' ? std::string("\r\n") : std::string(1, c);
    EXPECT_EQ(parse_proc_slaves(dump), parse_proc_slaves(lacp_dump));
    EXPECT_EQ(parse_proc_slaves("  Slave Interface :\teth0  \n\tSpeed:25000Mbps\n"),
              (Slaves{{"eth0", 25000}}));
}

// Driver v3.5.0 prints no speed.
TEST(ProcText, OldDriverWithoutSpeed) {
    EXPECT_EQ(parse_proc_slaves("Slave Interface: eth1\nMII Status: up\nLink Failure Count: 0\n\n"
                                "Slave Interface: eth0\nMII Status: up\nLink Failure Count: 0\n"),
              (Slaves{{"eth1", std::nullopt}, {"eth0", std::nullopt}}));
}

TEST(ProcText, UnknownSpeedsInAllTheirShapes) {
    for (const char* speed : {"Unknown", "4294967295 Mbps", "65535 Mbps", "0 Mbps", "-1 Mbps",
                              "99999999999 Mbps", "1000", "1000 Mb", "", "fast"})
        EXPECT_EQ(parse_proc_slaves(std::string("Slave Interface: a\nSpeed: ") + speed + "\n"),
                  (Slaves{{"a", std::nullopt}}))
            << speed;
}

TEST(ProcText, NoSlaves) {
    EXPECT_EQ(parse_proc_slaves(""), Slaves{});
    EXPECT_EQ(parse_proc_slaves("Bonding Mode: IEEE 802.3ad Dynamic link aggregation\n"
                                "bond bond0 has no active aggregator\n"),
              Slaves{});
    EXPECT_EQ(parse_proc_slaves(std::string("\0\0\0:\n:\n::\n", 10)), Slaves{});
}

TEST(ProcText, EveryCutGivesABeginningOfTheAnswer) {
    const Slaves whole = parse_proc_slaves(lacp_dump);
    for (std::size_t size = 0; size <= lacp_dump.size(); ++size) {
        const Slaves cut = parse_proc_slaves(lacp_dump.substr(0, size));
        ASSERT_LE(cut.size(), whole.size());
        for (std::size_t i = 0; i < cut.size(); ++i) {
            EXPECT_EQ(cut[i].name, whole[i].name) << size;
            if (cut[i].speed_mbps) {
                EXPECT_EQ(cut[i].speed_mbps, whole[i].speed_mbps) << size;
            }
        }
    }
}

TEST(ProcText, ImpossibleAndRepeatedNamesAreLeftOutWithTheirSpeeds) {
    EXPECT_EQ(parse_proc_slaves("Slave Interface: eth0\nSpeed: 1000 Mbps\n"
                                "Slave Interface: ../etc/passwd\nSpeed: 2000 Mbps\n"
                                "Slave Interface: two words\nSlave Interface: sixteencharacter\n"
                                "Slave Interface: .\nSlave Interface:\nSlave Interface: a:b\n"
                                "Slave Interface: eth0\nSpeed: 3000 Mbps\n"
                                "Slave Interface: fifteen-letters\n"),
              (Slaves{{"eth0", 1000}, {"fifteen-letters", std::nullopt}}));
}

TEST(ProcText, HugeInputsAreBounded) {
    std::string many;
    for (int i = 0; i < 20000; ++i)
        many += "Slave Interface: e" + std::to_string(i) + "\n";
    EXPECT_EQ(parse_proc_slaves(many).size(), 4096U);
    EXPECT_EQ(parse_proc_slaves(std::string(8 * 1024 * 1024, 'x')), Slaves{});
    EXPECT_EQ(parse_proc_slaves("Slave Interface: " + std::string(8 * 1024 * 1024, 'x') + "\n"), Slaves{});
}

} // namespace
} // namespace bondtrace
