# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(encode sdsfs_signal_codecs)
target_sources(fuzz_encode PRIVATE ../unit/format/signal_dataset/reencode.c)
