# SPDX-License-Identifier: GPL-2.0-or-later
# One interface target that carries the warnings (errors, all of them) and the sanitizers for user-space code.
add_library(bondtrace_options INTERFACE)
target_compile_options(bondtrace_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor
                                                   -Werror -fno-omit-frame-pointer)
target_include_directories(bondtrace_options INTERFACE ${CMAKE_SOURCE_DIR})
if(BONDTRACE_SANITIZE)
  target_compile_options(bondtrace_options INTERFACE -fsanitize=${BONDTRACE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(bondtrace_options INTERFACE -fsanitize=${BONDTRACE_SANITIZE})
endif()
