// SPDX-License-Identifier: GPL-2.0-or-later
// Files and directories as people save them, made of the cases' texts.
#include "user/bond/source.h"
#include "user/bond/supportconfig.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bondtrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string cases = BONDTRACE_SOURCE_DIR "/tests/fixtures/cases/";
const std::string good = cases + "90-vm-lacp-good-rate-asymmetric-6.12.txt",
                  no_partner = cases + "92-vm-linux-bridge-eats-lacp-6.12.txt",
                  links = cases + "93-vm-ip-d-link-good-6.12.txt";

std::string load(const std::string& path) {
    const std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

class SavedDirectoryTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string path = testing::TempDir() + "bondtrace-XXXXXX";
        ASSERT_TRUE(::mkdtemp(path.data()));
        root_ = path;
    }
    void TearDown() override { fs::remove_all(root_); }
    void write(const std::string& relative, const std::string& text) const {
        fs::create_directories((root_ / relative).parent_path());
        std::ofstream(root_ / relative) << text;
    }
    [[nodiscard]] std::string path(const std::string& relative = "") const {
        return (root_ / relative).string();
    }
    [[nodiscard]] SavedState read(const std::string& relative = "") const {
        const auto state = read_saved_state(path(relative));
        EXPECT_TRUE(state) << state.error().what;
        return state ? *state : SavedState{};
    }
    [[nodiscard]] std::string error(const std::string& relative = "") const {
        const auto state = read_saved_state(path(relative));
        EXPECT_FALSE(state);
        return state ? "" : state.error().what;
    }

    fs::path root_;
};

std::vector<std::string> names(const SavedState& state) {
    std::vector<std::string> result;
    for (const Bond& bond : state.bonds)
        result.push_back(bond.name);
    return result;
}

TEST_F(SavedDirectoryTest, AFileIsKnownByItsContent) {
    write("bond3", load(good));
    write("bond4.txt", load(good));
    write("what-ever", load(links));
    EXPECT_THAT(names(read("bond3")), ElementsAre("bond3"));
    EXPECT_THAT(names(read("bond4.txt")), ElementsAre("bond4"));
    EXPECT_THAT(names(read("what-ever")), ElementsAre("bond0"));
}

TEST_F(SavedDirectoryTest, ACopyOfTheProcDirectory) {
    write("bond0", load(good));
    write("bond1", load(no_partner));
    write("README", "saved on Monday\n");
    const SavedState state = read();
    EXPECT_THAT(names(state), ElementsAre("bond0", "bond1"));
    EXPECT_THAT(state.notes, Contains(AllOf(HasSubstr("left out"), HasSubstr("README"))));
}

// Case 46: bonding_masters is a plain file among the names, and an empty directory holds no bond.
TEST_F(SavedDirectoryTest, NoBondAtAll) {
    EXPECT_THAT(error(), HasSubstr("no bond in"));
    write("bonding_masters", "\n");
    EXPECT_THAT(error(), HasSubstr("no bond in"));
    const auto state = read_saved_state(path());
    EXPECT_EQ(state.error().kind, ErrorKind::unavailable);
}

TEST_F(SavedDirectoryTest, OneBrokenFileDoesNotHideTheOthers) {
    write("bond0", load(good));
    write("bond1", "Bonding Mode IEEE 802.3ad\n");
    const SavedState state = read();
    EXPECT_THAT(names(state), ElementsAre("bond0"));
    EXPECT_THAT(state.notes, Contains(AllOf(HasSubstr("left out"), HasSubstr("bond1:1:"))));
    fs::remove(path("bond0"));
    EXPECT_THAT(error(), HasSubstr("bond1:1: not recognised"));
}

// sos copies /proc/net, which is a link into /proc/PID, and puts commands into files of their names.
TEST_F(SavedDirectoryTest, AnUnpackedSosreport) {
    write("sosreport-hostA/proc/4711/net/bonding/bond0", load(good));
    fs::create_directory_symlink("4711/net", root_ / "sosreport-hostA/proc/net");
    write("sosreport-hostA/sos_commands/networking/ip_-s_-d_link", load(links));
    const SavedState state = read();
    ASSERT_THAT(names(state), ElementsAre("bond0"));
    const Bond& bond = state.bonds[0];
    // From ip link.
    EXPECT_EQ(bond.ifindex, 4);
    EXPECT_TRUE(bond.admin_up);
    EXPECT_EQ(bond.fail_over_mac, FailOverMac::none);
    EXPECT_EQ(bond.lp_interval, 1U);
    // From the dump.
    EXPECT_TRUE(bond.order_known);
    EXPECT_EQ(bond.driver, "v6.12.117+deb13-amd64");
    EXPECT_EQ(bond.slaves.at(1).speed_mbps, 10000U);
    EXPECT_EQ(to_text(bond.slaves[1].partner->system_mac.value()), "00:00:5e:00:53:b0");
    EXPECT_EQ(bond.privileged, true);
    EXPECT_THAT(names(read("sosreport-hostA")), ElementsAre("bond0"));
}

TEST_F(SavedDirectoryTest, ASosreportWithoutOneOfTheTwo) {
    write("sos_commands/networking/ip_-s_-d_link", load(links));
    const SavedState state = read();
    EXPECT_THAT(names(state), ElementsAre("bond0"));
    EXPECT_THAT(state.notes, Contains(HasSubstr("has no proc/net/bonding")));
    EXPECT_FALSE(state.bonds[0].privileged);
    write("proc/net/bonding/bond0", load(good));
    fs::remove_all(path("sos_commands"));
    EXPECT_THAT(names(read()), ElementsAre("bond0"));
}

TEST_F(SavedDirectoryTest, AnUnpackedSupportconfig) {
    const std::string text =
        "#==[ Command ]======================================#\n# /bin/hostname\nhostA\n\n"
        "#==[ Command ]======================================#\n# /sbin/ip -d link show\n" +
        load(links) + "\n#==[ Configuration File ]===========================#\n# /proc/net/bonding/bond0\n" +
        load(good) + "\n#==[ Configuration File ]===========================#\n# /proc/net/bonding/bond9\n" +
        load(no_partner) + "\n#==[ Command ]====#\n# /sbin/ethtool eth0\n\tSpeed: 25000Mb/s\n";
    write("scc_hostA/network.txt", text);
    write("scc_hostA/basic-environment.txt", "#==[ Command ]===#\n");
    const SavedState state = read("scc_hostA");
    EXPECT_THAT(names(state), ElementsAre("bond0", "bond9"));
    EXPECT_EQ(state.bonds[0].ifindex, 4);
    EXPECT_TRUE(state.bonds[0].slaves.at(0).partner);
    EXPECT_FALSE(state.bonds[1].truncated);
    // Lines are counted from the file's beginning.
    write("scc_hostA/network.txt",
          "#==[ Configuration File ]===#\n# /proc/net/bonding/bond0\n\nBonding Mode: odd\n");
    EXPECT_THAT(error("scc_hostA"), HasSubstr("network.txt:4:"));
}

TEST_F(SavedDirectoryTest, LinksLeadNowhereOutside) {
    write("outside/bond0", load(good));
    fs::create_directories(root_ / "inside");
    fs::create_symlink("../outside/bond0", root_ / "inside/bond0");
    fs::create_symlink("/proc/self/environ", root_ / "inside/bond1");
    fs::create_directory_symlink("../outside", root_ / "inside/proc");
    EXPECT_THAT(error("inside"), HasSubstr("no bond in"));
    // Within, they do.
    write("inside/real", load(good));
    fs::remove(root_ / "inside/bond0");
    fs::create_symlink("real", root_ / "inside/bond0");
    EXPECT_EQ(read("inside").bonds.size(), 2U);
    // The path that the user gave is the user's.
    fs::create_directory_symlink("inside", root_ / "link");
    EXPECT_EQ(read("link").bonds.size(), 2U);
}

TEST_F(SavedDirectoryTest, WhatCannotBeRead) {
    const auto missing = read_saved_state(path("nothing"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::usage);
    EXPECT_THAT(missing.error().what, AllOf(HasSubstr("nothing"), HasSubstr("ENOENT")));
    // More than any state of bonds has.
    fs::create_directories(root_);
    std::ofstream(root_ / "huge").close();
    fs::resize_file(root_ / "huge", 17U << 20U);
    EXPECT_THAT(error("huge"), HasSubstr("more than 16 MiB"));
    EXPECT_THAT(read_saved_state("/dev/zero").error().what, HasSubstr("more than 16 MiB"));
}

TEST(Supportconfig, Sections) {
    const std::string text = "#==[ Command ]===#\n# /bin/date\nx\n#==[ Configuration File ]===#\n"
                             "# /proc/net/bonding/bond0\nBonding Mode: x\nMII\n#==[ Note ]===#\n";
    const auto sections = supportconfig_sections(text);
    ASSERT_EQ(sections.size(), 1U);
    EXPECT_EQ(sections[0].bond, "bond0");
    EXPECT_EQ(sections[0].text, "Bonding Mode: x\nMII\n");
    EXPECT_EQ(sections[0].first_line, 6U);
    EXPECT_TRUE(supportconfig_sections("").empty());
    EXPECT_TRUE(supportconfig_sections("#==[ Command ]===#").empty());
}

} // namespace
} // namespace bondtrace
