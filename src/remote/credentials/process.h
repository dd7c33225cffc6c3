// SPDX-License-Identifier: Apache-2.0
//
// A program that prints a credential (credential_process).
#ifndef SDSFS_REMOTE_CREDENTIALS_PROCESS_H
#define SDSFS_REMOTE_CREDENTIALS_PROCESS_H

#include "base/buf.h"
#include "remote/credentials/finding.h"

// Runs a command by /bin/sh, with nothing to read and its errors dropped, and collects what it
// prints; out is zeroed before and holds secrets. Program and children are killed when the search
// is stopped or out of time, and when they print more than max bytes. Kinds: DENIED (it failed),
// TIMEOUT, LIMIT, STORAGE (it could not be run), NO_MEMORY; check "credentials".
SDS_MUST_CHECK enum sds_kind sds_process_run(const struct sds_finding *finding, const char *command,
                                             size_t max, struct sds_buf *out, struct sds_err *err);

#endif
