// SPDX-License-Identifier: GPL-2.0-or-later
// Which of the known kernels' hashes the running kernel has.
//
// Asked of the driver itself, not concluded from a version: vendors and stable series carry single changes
// back. A bond of three veth slaves in a namespace of its own gets frames for which the known kernels choose
// different slaves, and a packet socket sees which slave each leaves through. That needs no BTF and no BPF
// program, unlike reading the hash at the return of bond_xmit_hash(), so that it works on every kernel; and
// since each answer must fit, it is a test of the whole model on this kernel too.
#pragma once

#include "user/base/result.h"
#include "user/hash/era.h"

#include <optional>

namespace bondtrace {

// Asks the kernel, on a thread of its own; takes some tens of milliseconds, leaves nothing behind but a few
// lines in the kernel's log (the driver announces every slave). nullopt: the answers are those of no era that
// is known. Fails when the rights or the driver are not there.
Result<std::optional<Era>> probe_era();

// The running kernel's era: probed, or, where that is not possible, assumed from the release with the reason.
// Asked once a process. Fails when the kernel answered as none that is known: nothing can be predicted then.
Result<EraFinding> find_era();

// The same where every prediction is held against the kernel's own choice at once, so that a wrong era shows:
// asks only kernels whose release leaves doubt about what has been carried back. From 5.18 on there is none,
// and the kernel's log stays as it is.
Result<EraFinding> find_era_for_checking();

} // namespace bondtrace
