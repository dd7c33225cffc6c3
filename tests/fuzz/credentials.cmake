# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(aws_config sdsfs_remote)
sdsfs_fuzz(token sdsfs_remote)
