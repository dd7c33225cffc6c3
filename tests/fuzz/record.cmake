# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(record sdsfs_signal_codecs)
