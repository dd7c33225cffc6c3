# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(http_head sdsfs_remote)
