// SPDX-License-Identifier: GPL-2.0-or-later
// A conversation in a few words.
#pragma once

#include "user/flow/conversation.h"

#include <string>

namespace bondtrace {

// "tcp 10.77.0.1:40001 - 10.77.0.2:443".
std::string flow_words(const ConversationKey& key);

// "100", "100.7" for two tags, empty without one.
std::string vlan_words(const ConversationKey& key);

// What there is beside addresses and ports: "echo id 4711", "spi 0xc0ffee01", "fragments"; may be empty.
std::string detail_words(const ConversationKey& key);

} // namespace bondtrace
