// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trace/bonding_btf.h"

#include <filesystem>
#include <string_view>

#include <bpf/btf.h>

namespace bondtrace {
namespace {

bool exists(const char* path) {
    std::error_code ignored; // not there and not allowed to look are the same to the caller
    return std::filesystem::exists(path, ignored);
}

} // namespace

void BondingBtf::Free::operator()(btf* data) const {
    btf__free(data);
}

BondingBtf BondingBtf::load() {
    BondingBtf loaded;
    if (!exists("/sys/kernel/btf/vmlinux")) return loaded;
    loaded.kernel_.reset(btf__load_vmlinux_btf());
    if (loaded.kernel_ && exists("/sys/kernel/btf/bonding"))
        loaded.module_.reset(btf__load_module_btf("bonding", loaded.kernel_.get()));
    return loaded;
}

bool BondingBtf::has_function(const std::string& name) const {
    const btf* where = module_ ? module_.get() : kernel_.get();
    return where && btf__find_by_name_kind(where, name.c_str(), BTF_KIND_FUNC) > 0;
}

std::optional<std::uint32_t> BondingBtf::member_offset(const std::string& structure,
                                                       const std::string& member) const {
    const btf* where = module_ ? module_.get() : kernel_.get();
    if (!where) return std::nullopt;
    // The module's own types come behind the kernel's.
    const std::uint32_t first = module_ ? btf__type_cnt(kernel_.get()) : 1;
    for (std::uint32_t id = first; id < btf__type_cnt(where); ++id) {
        const btf_type* type = btf__type_by_id(where, id);
        if (!type || !btf_is_struct(type)) continue;
        const char* name = btf__name_by_offset(where, type->name_off);
        if (!name || structure != name) continue;
        const btf_member* members = btf_members(type);
        for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
            const char* member_name = btf__name_by_offset(where, members[i].name_off);
            if (member_name && member == member_name && btf_member_bitfield_size(type, i) == 0)
                return btf_member_bit_offset(type, i) / 8;
        }
    }
    return std::nullopt;
}

} // namespace bondtrace
