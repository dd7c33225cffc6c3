# SPDX-License-Identifier: Apache-2.0
sdsfs_fuzz(views sdsfs_signal_views)
