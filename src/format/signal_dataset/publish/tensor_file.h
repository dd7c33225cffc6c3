// SPDX-License-Identifier: Apache-2.0
//
// An .npy file that a row names: opened where the request allows it, its header checked, its data
// read straight into a payload.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_TENSOR_FILE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_TENSOR_FILE_H

#include <stdbool.h>

#include "format/signal_dataset/publish/file_state.h"
#include "format/tensor/npy_read.h"

// Where names of files lead.
struct tensor_directory {
    int fd;        // what they are relative to; borrowed
    bool confined; // they stay inside it, and no symbolic link is followed
};

struct tensor_file {
    int fd;                  // -1 when it is not open
    struct file_state state; // when its header was read
    struct sds_npy npy;
};

// Opens and reads the header. Kinds: INVALID, check "npy" or that of the header, for a file that is
// not there, not allowed or not as it has to be; STORAGE.
SDS_MUST_CHECK enum sds_kind tensor_file_open(const struct tensor_directory *directory,
                                              const char *name, struct tensor_file *out,
                                              struct sds_err *err);
void tensor_file_close(struct tensor_file *file);

// Reads all data, npy.data_len bytes. INVALID, check "changed", unless it is that of the header:
// the file is the same one, and was not written to since it was opened.
SDS_MUST_CHECK enum sds_kind tensor_file_read(const struct tensor_file *file, void *out,
                                              struct sds_err *err);

#endif
