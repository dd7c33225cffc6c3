# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(annotation_row sdsfs_signal_dataset)
