// SPDX-License-Identifier: Apache-2.0
//
// An .npy file that a row names: opened where the request allows it, its header checked, its data
// read straight into a payload.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_TENSOR_FILE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_TENSOR_FILE_H

#include <stdbool.h>

#include "format/tensor/npy_read.h"

// Where names of files lead.
struct tensor_directory {
    int fd;        // what they are relative to; borrowed
    bool confined; // they stay inside it, and no symbolic link is followed
};

struct tensor_file {
    int fd; // -1 when it is not open
    uint64_t size;
    struct sds_npy npy;
};

// Opens and reads the header. Kinds: INVALID, check "npy" or that of the header, for a file that is
// not there, not allowed or not as it has to be; STORAGE.
SDS_MUST_CHECK enum sds_kind tensor_file_open(const struct tensor_directory *directory,
                                              const char *name, struct tensor_file *out,
                                              struct sds_err *err);
void tensor_file_close(struct tensor_file *file);

// Reads all data, npy.data_len bytes. INVALID, check "changed", when the file has another size by
// now.
SDS_MUST_CHECK enum sds_kind tensor_file_read(const struct tensor_file *file, void *out,
                                              struct sds_err *err);

#endif
