# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(disk_index sdsfs_remote)
