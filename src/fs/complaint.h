// SPDX-License-Identifier: Apache-2.0
//
// Helpers such as fusermount3, and libfuse itself, explain a failure on stderr and nowhere else. A
// complaint is a file in memory to be put in place of it, and the last line found there.
#ifndef SDSFS_FS_COMPLAINT_H
#define SDSFS_FS_COMPLAINT_H

#include <stddef.h>

int sds_complaint_open(void); // a descriptor, or -1 with errno
// The last line that was written, without the name of the program before it; "" when there is none.
// Closes fd.
void sds_complaint_take(int fd, char *out, size_t size);

#endif
