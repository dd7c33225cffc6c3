# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(json sdsfs_base)
