# SPDX-License-Identifier: GPL-2.0-or-later
# bpf_object(NAME SOURCE [HEADERS...]): compiles SOURCE with clang for the BPF target and makes its libbpf skeleton.
# Target NAME_skeleton gives the include path of NAME.skel.h; the object itself is at bpf/NAME.bpf.o in the build.
find_program(BPF_CLANG NAMES clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19 REQUIRED)
find_program(BPF_LLVM_STRIP NAMES llvm-strip llvm-strip-14 REQUIRED)
find_program(BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin REQUIRED)

set(BPF_WARNINGS -Wall -Wextra -Wshadow -Wno-unused-parameter -Werror)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(BPF_ARCH x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(BPF_ARCH arm64)
else()
  set(BPF_ARCH ${CMAKE_SYSTEM_PROCESSOR})
endif()

function(bpf_object name source)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/include/${name}.skel.h)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${BPF_CLANG} -target bpf -D__TARGET_ARCH_${BPF_ARCH} -mcpu=v3 -O2 -g -std=gnu11 -fno-strict-aliasing ${BPF_WARNINGS}
            -I${CMAKE_SOURCE_DIR} -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    COMMAND ${BPF_LLVM_STRIP} -g ${object}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${ARGN}
    DEPFILE ${object}.d
    COMMENT "BPF ${name}.bpf.o"
    VERBATIM)
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/include
    COMMAND sh -c "\"$0\" gen skeleton \"$1\" name \"$2\" > \"$3\"" ${BPFTOOL} ${object} ${name}_bpf ${skeleton}
    DEPENDS ${object}
    COMMENT "skeleton ${name}.skel.h"
    VERBATIM)
  add_custom_target(${name}_bpf DEPENDS ${object} ${skeleton})
  add_library(${name}_skeleton INTERFACE)
  add_dependencies(${name}_skeleton ${name}_bpf)
  target_include_directories(${name}_skeleton SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/include)
endfunction()
