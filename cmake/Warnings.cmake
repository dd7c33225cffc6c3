# SPDX-License-Identifier: Apache-2.0
# Warnings and hardening, as one interface target that every target of ours links.
add_library(sdsfs_flags INTERFACE)
target_compile_definitions(sdsfs_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
target_compile_options(sdsfs_flags INTERFACE
  -Wall -Wextra -Wshadow -Wvla -Wconversion -Wno-sign-conversion -Wformat=2 -Wundef
  -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wimplicit-fallthrough
  -fstack-protector-strong -fvisibility=hidden)
if(SDSFS_WERROR)
  target_compile_options(sdsfs_flags INTERFACE -Werror)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(CMAKE_BUILD_TYPE MATCHES "Rel" AND NOT SDSFS_SANITIZE)
  target_compile_definitions(sdsfs_flags INTERFACE _FORTIFY_SOURCE=2)
endif()
target_link_options(sdsfs_flags INTERFACE -Wl,-z,relro,-z,now)
