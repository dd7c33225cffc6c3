# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(documents sdsfs_signal_codecs sdsfs_name)
