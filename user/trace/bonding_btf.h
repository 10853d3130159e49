// SPDX-License-Identifier: GPL-2.0-or-later
// What the running kernel's BTF says about the bonding driver, be it a module or built in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

struct btf;

namespace bondtrace {

class BondingBtf {
  public:
    // Reads /sys/kernel/btf; what is not there is found to be missing by the questions below.
    static BondingBtf load();

    // The kernel itself has BTF.
    [[nodiscard]] bool has_kernel() const { return kernel_ != nullptr; }
    [[nodiscard]] bool has_function(const std::string& name) const;
    // Offset in bytes of a member of a structure. The structure is the one that has such a member: names like
    // "port" are used for several in one kernel, which is more than CO-RE can tell apart.
    [[nodiscard]] std::optional<std::uint32_t> member_offset(const std::string& structure,
                                                             const std::string& member) const;

  private:
    struct Free {
        void operator()(btf* data) const;
    };
    std::unique_ptr<btf, Free> kernel_, module_; // in this order: the module's refers to the kernel's
};

} // namespace bondtrace
