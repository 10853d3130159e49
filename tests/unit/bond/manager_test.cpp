// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/bond/manager.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace bondtrace {
namespace {

namespace fs = std::filesystem;

// A host's files, as far as a test needs them.
class Root {
  public:
    Root() { fs::create_directories(path_); }
    Root(const Root&) = delete;
    Root& operator=(const Root&) = delete;
    ~Root() { fs::remove_all(path_); }
    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << text;
    }
    [[nodiscard]] std::optional<Manager> find(int ifindex = 7) const {
        return find_manager(path_.string(), "bond0", ifindex);
    }

  private:
    static inline int count = 0;
    fs::path path_ = fs::path(testing::TempDir()) /
                     ("manager-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
};

TEST(Manager, NobodyIsUnknown) {
    const Root root;
    EXPECT_EQ(root.find(), std::nullopt);
    root.write("etc/network/interfaces", "auto lo\niface lo inet loopback\niface bond00 inet dhcp\n");
    root.write("etc/netplan/01.yaml", "network:\n  bonds:\n    bond01:\n      interfaces: [bond0]\n");
    root.write("run/systemd/netif/links/7", "ADMIN_STATE=unmanaged\nOPER_STATE=routable\n");
    root.write("run/NetworkManager/devices/7", "[device]\nmanaged=false\n");
    EXPECT_EQ(root.find(), std::nullopt);
}

TEST(Manager, Ifupdown) {
    const Root root;
    root.write("etc/network/interfaces", "source interfaces.d/*\n");
    root.write("etc/network/interfaces.d/bond", "auto bond0\n  iface\tbond0 inet static\n    bond-mode 4\n");
    EXPECT_EQ(root.find(), Manager::ifupdown);
}

TEST(Manager, NetworkdByItsLinkOrItsFile) {
    const Root running;
    running.write("run/systemd/netif/links/7", "# private\nADMIN_STATE=configured\n");
    EXPECT_EQ(running.find(), Manager::networkd);
    EXPECT_EQ(running.find(0), std::nullopt);
    const Root file;
    file.write("etc/systemd/network/bond.netdev", "[NetDev]\nName=bond0\nKind=bond\n");
    EXPECT_EQ(file.find(0), Manager::networkd);
}

TEST(Manager, NetworkManagerBeforeAForgottenFile) {
    const Root root;
    root.write("run/NetworkManager/devices/7", "[device]\nmanaged=true\nconnection-uuid=4d\n");
    root.write("etc/network/interfaces", "iface bond0 inet dhcp\n");
    EXPECT_EQ(root.find(), Manager::network_manager);
    const Root saved;
    saved.write("etc/sysconfig/network-scripts/ifcfg-bond0", "DEVICE=bond0\n");
    EXPECT_EQ(saved.find(0), Manager::network_manager);
}

TEST(Manager, NetplanWritesTheOthersFiles) {
    const Root root;
    root.write("etc/netplan/50-cloud-init.yaml",
               "network:\n  bonds:\n    \"bond0\":\r\n      interfaces: []\n");
    root.write("run/systemd/netif/links/7", "ADMIN_STATE=configured\n");
    EXPECT_EQ(root.find(), Manager::netplan);
}

TEST(Manager, ANameIsNoPath) {
    const Root root;
    root.write("etc/sysconfig/network-scripts/ifcfg-x", "a\n");
    EXPECT_EQ(find_manager("/", "../../etc/passwd", 0), std::nullopt);
    EXPECT_EQ(find_manager("/", "", 0), std::nullopt);
}

} // namespace
} // namespace bondtrace
