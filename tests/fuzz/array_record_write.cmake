# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(array_record_write sdsfs_array_record)
