// SPDX-License-Identifier: Apache-2.0
//
// Any one answer may be wrong, and some would be a verdict on an object: that it is absent, another
// one, of another size than its reference declares. What one answer says against what is known of
// an object (struct sds_operation, promised) counts only when a second one says the same: its head
// is asked for after a range, its first byte after its head. When that second answer says
// otherwise, what was asked first is asked again, as after any bad answer.
//
// Belongs to one operation, one of whose answers is heard at a time.
#ifndef SDSFS_REMOTE_WITNESS_H
#define SDSFS_REMOTE_WITNESS_H

#include "remote/servers/provider.h"

struct sds_witness {
    bool asking;  // the second question is to be asked, or on its way
    bool repeats; // it is the first one once more
    struct sds_verdict first;
    struct sds_err err; // of the first
};

// What is to be asked next for what was to be done. Bytes that answer a second question are for
// nobody, unless it repeats the first one.
struct sds_operation sds_witness_question(const struct sds_witness *witness,
                                          const struct sds_operation *what);
// Hears the verdict on the answer to that. True: it says something that needs a second answer, so
// the next question is to be asked at once. Else *verdict and *err are what is to be believed.
bool sds_witness_hear(struct sds_witness *witness, const struct sds_operation *what,
                      struct sds_verdict *verdict, struct sds_err *err);

#endif
