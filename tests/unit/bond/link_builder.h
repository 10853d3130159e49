// SPDX-License-Identifier: GPL-2.0-or-later
// Builds rtnetlink link messages with libmnl, as the kernel would, for the tests of the parser.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace bondtrace::test {

class LinkBuilder {
  public:
    explicit LinkBuilder(int ifindex, std::uint16_t type = RTM_NEWLINK, unsigned char family = AF_UNSPEC) {
        header_ = mnl_nlmsg_put_header(buffer_.data());
        header_->nlmsg_type = type;
        info_ = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(header_, sizeof(ifinfomsg)));
        info_->ifi_index = ifindex;
        info_->ifi_family = family;
    }
    LinkBuilder& flags(unsigned flags) {
        info_->ifi_flags = flags;
        return *this;
    }
    LinkBuilder& bytes(std::uint16_t type, const void* data, std::size_t size) {
        mnl_attr_put(header_, type, size, data);
        return *this;
    }
    LinkBuilder& text(std::uint16_t type, const char* text) {
        mnl_attr_put_strz(header_, type, text);
        return *this;
    }
    LinkBuilder& u8(std::uint16_t type, std::uint8_t value) { return bytes(type, &value, sizeof(value)); }
    LinkBuilder& u16(std::uint16_t type, std::uint16_t value) { return bytes(type, &value, sizeof(value)); }
    LinkBuilder& u32(std::uint16_t type, std::uint32_t value) { return bytes(type, &value, sizeof(value)); }
    LinkBuilder& stats(const rtnl_link_stats64& stats, std::size_t size = sizeof(rtnl_link_stats64)) {
        std::vector<std::byte> padded(size);
        std::memcpy(padded.data(), &stats, std::min(size, sizeof(stats)));
        return bytes(IFLA_STATS64, padded.data(), padded.size());
    }
    LinkBuilder& open(std::uint16_t type) {
        nests_.push_back(mnl_attr_nest_start(header_, type));
        return *this;
    }
    LinkBuilder& close() {
        mnl_attr_nest_end(header_, nests_.back());
        nests_.pop_back();
        return *this;
    }
    [[nodiscard]] std::vector<std::byte> build() const {
        return {buffer_.begin(), buffer_.begin() + header_->nlmsg_len};
    }

  private:
    std::vector<std::byte> buffer_ = std::vector<std::byte>(8192);
    nlmsghdr* header_ = nullptr;
    ifinfomsg* info_ = nullptr;
    std::vector<nlattr*> nests_;
};

} // namespace bondtrace::test
