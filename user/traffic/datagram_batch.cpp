// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/traffic/datagram_batch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <linux/udp.h>

namespace bondtrace::traffic {
namespace {

constexpr std::uint8_t payload_byte = 0x42;

// The control message that gives a datagram the source address on which its flow's first one was received.
std::size_t write_source(const DatagramEnds& ends, std::vector<std::uint64_t>& control) {
    control.assign(control.size(), 0);
    msghdr header{};
    header.msg_control = control.data();
    header.msg_controllen = control.size() * sizeof(std::uint64_t);
    cmsghdr* const message = CMSG_FIRSTHDR(&header);
    if (ends.local6) {
        in6_pktinfo source = *ends.local6;
        source.ipi6_ifindex = 0; // the way back is the routing's to choose
        message->cmsg_level = IPPROTO_IPV6;
        message->cmsg_type = IPV6_PKTINFO;
        message->cmsg_len = CMSG_LEN(sizeof(source));
        std::memcpy(CMSG_DATA(message), &source, sizeof(source));
        return CMSG_SPACE(sizeof(source));
    }
    if (ends.local4) {
        in_pktinfo source{};
        source.ipi_spec_dst = ends.local4->ipi_addr;
        message->cmsg_level = IPPROTO_IP;
        message->cmsg_type = IP_PKTINFO;
        message->cmsg_len = CMSG_LEN(sizeof(source));
        std::memcpy(CMSG_DATA(message), &source, sizeof(source));
        return CMSG_SPACE(sizeof(source));
    }
    return 0;
}

constexpr std::size_t source_words = 8; // room for either

} // namespace

ReceiveBatch::ReceiveBatch(std::size_t count, std::size_t size)
    : size_((size + 63) / 64 * 64), memory_(count * size_), messages_(count), parts_(count), names_(count),
      control_(count * control_size / sizeof(std::uint64_t)) {
    for (std::size_t i = 0; i < count; ++i) {
        parts_[i] = {memory_.data() + i * size_, size_};
        messages_[i].msg_hdr.msg_iov = &parts_[i];
        messages_[i].msg_hdr.msg_iovlen = 1;
        messages_[i].msg_hdr.msg_name = &names_[i].storage;
    }
}

int ReceiveBatch::receive(int fd) {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
        msghdr& header = messages_[i].msg_hdr;
        if (header.msg_namelen == sizeof(sockaddr_storage) && header.msg_controllen == control_size) break;
        header.msg_namelen = sizeof(sockaddr_storage);
        header.msg_control = reinterpret_cast<std::uint8_t*>(control_.data()) + i * control_size;
        header.msg_controllen = control_size;
        header.msg_flags = 0;
    }
    const int count = recvmmsg(fd, messages_.data(), static_cast<unsigned>(messages_.size()),
                               MSG_DONTWAIT | MSG_TRUNC, nullptr);
    return count < 0 ? -errno : count;
}

std::span<const std::uint8_t> ReceiveBatch::bytes(std::size_t message) const {
    return {memory_.data() + message * size_, std::min<std::size_t>(messages_[message].msg_len, size_)};
}

std::size_t ReceiveBatch::length(std::size_t message) const {
    return messages_[message].msg_len;
}

std::size_t ReceiveBatch::segment(std::size_t message) const {
    const msghdr& header = messages_[message].msg_hdr;
    for (cmsghdr* control = CMSG_FIRSTHDR(&header); control;
         control = CMSG_NXTHDR(const_cast<msghdr*>(&header), control)) {
        if (control->cmsg_level != IPPROTO_UDP || control->cmsg_type != UDP_GRO) continue;
        int size = 0;
        std::memcpy(&size, CMSG_DATA(control), sizeof(size));
        return size > 0 ? static_cast<std::size_t>(size) : 0;
    }
    return 0;
}

DatagramEnds ReceiveBatch::ends(std::size_t message) const {
    DatagramEnds ends;
    ends.remote = names_[message];
    const msghdr& header = messages_[message].msg_hdr;
    ends.remote.length = header.msg_namelen;
    for (cmsghdr* control = CMSG_FIRSTHDR(&header); control;
         control = CMSG_NXTHDR(const_cast<msghdr*>(&header), control)) {
        if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO)
            std::memcpy(&ends.local4.emplace(), CMSG_DATA(control), sizeof(in_pktinfo));
        if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO)
            std::memcpy(&ends.local6.emplace(), CMSG_DATA(control), sizeof(in6_pktinfo));
    }
    return ends;
}

SendBatch::SendBatch(std::size_t count, std::size_t segments, std::size_t length)
    : segments_(segments), length_(length), memory_(count * segments * length), messages_(count),
      parts_(count), control_(source_words) {
    std::memset(memory_.data(), payload_byte, memory_.size());
    for (std::size_t i = 0; i < count; ++i) {
        parts_[i] = {memory_.data() + i * segments * length, segments * length};
        messages_[i].msg_hdr.msg_iov = &parts_[i];
        messages_[i].msg_hdr.msg_iovlen = 1;
    }
}

std::size_t SendBatch::fill(DatagramHeader header, std::size_t datagrams) {
    filled_ = std::min(datagrams, messages_.size() * segments_);
    for (std::size_t i = 0; i < filled_; ++i) {
        encode(header, std::span<std::uint8_t, datagram_header_size>(memory_.data() + i * length_,
                                                                     datagram_header_size));
        ++header.sequence;
    }
    const std::size_t messages = (filled_ + segments_ - 1) / segments_;
    for (std::size_t i = 0; i < messages; ++i)
        parts_[i].iov_len = std::min(segments_, filled_ - i * segments_) * length_;
    return messages;
}

void SendBatch::address(const DatagramEnds* ends) {
    if (ends) {
        name_ = ends->remote;
        control_length_ = write_source(*ends, control_);
    }
    for (mmsghdr& message : messages_) {
        message.msg_hdr.msg_name = ends ? &name_.storage : nullptr;
        message.msg_hdr.msg_namelen = ends ? name_.length : 0;
        message.msg_hdr.msg_control = ends && control_length_ != 0 ? control_.data() : nullptr;
        message.msg_hdr.msg_controllen = ends ? control_length_ : 0;
    }
}

int SendBatch::send(int fd, std::size_t messages) {
    const int count =
        sendmmsg(fd, messages_.data(), static_cast<unsigned>(messages), MSG_DONTWAIT | MSG_NOSIGNAL);
    return count < 0 ? -errno : count;
}

std::size_t SendBatch::datagrams(std::size_t messages) const {
    return std::min(messages * segments_, filled_);
}

int send_datagram(int fd, std::span<const std::uint8_t> bytes, const DatagramEnds* ends) {
    iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<std::uint64_t> control(source_words);
    SocketAddress name;
    if (ends) {
        name = ends->remote;
        message.msg_name = &name.storage;
        message.msg_namelen = name.length;
        message.msg_controllen = write_source(*ends, control);
        message.msg_control = message.msg_controllen != 0 ? control.data() : nullptr;
    }
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

} // namespace bondtrace::traffic
