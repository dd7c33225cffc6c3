# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(npy sdsfs_tensor)
