# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(s3_error sdsfs_remote)
sdsfs_fuzz(gcs_answer sdsfs_remote)
