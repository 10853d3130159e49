// SPDX-License-Identifier: GPL-2.0-or-later
// Traffic tests as they could have come out, for the writers' tests.
#pragma once

#include "user/report/traffic_report.h"

#include <string_view>

namespace bondtrace::test {

// "tcp": twelve flows balanced over three slaves; "many": 10,000 flows, some of which failed, in all
// directions and with every kind of remark; "udp": both directions with losses; "alone": the server has not
// reported.
TrafficReport sample_traffic(std::string_view which);

} // namespace bondtrace::test
