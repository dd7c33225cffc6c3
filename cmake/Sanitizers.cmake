# SPDX-License-Identifier: Apache-2.0
if(SDSFS_SANITIZE)
  target_compile_options(sdsfs_flags INTERFACE
    -fsanitize=${SDSFS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sdsfs_flags INTERFACE -fsanitize=${SDSFS_SANITIZE})
endif()
if(SDSFS_FUZZ)
  # Coverage for everything the fuzz targets link; libFuzzer's main only in the targets themselves.
  target_compile_options(sdsfs_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(sdsfs_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
