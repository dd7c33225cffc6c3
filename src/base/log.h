// SPDX-License-Identifier: Apache-2.0
//
// The log: one event, one line. Libraries return errors; only the edges (fs, cli) log. To stderr in
// the foreground, to syslog (so the journal) in a daemon. Lines of one kind (a format, or a check)
// are not written more than 20 times in 10 seconds, but for those for debugging; how many were left
// out is told afterwards. Keeps errno. Safe from any thread.
#ifndef SDSFS_BASE_LOG_H
#define SDSFS_BASE_LOG_H

#include <stdbool.h>

#include "base/err.h"

enum sds_log_level { SDS_LOG_ERROR, SDS_LOG_WARNING, SDS_LOG_INFO, SDS_LOG_DEBUG };

struct sds_log_options {
    enum sds_log_level level; // this and what is more severe
    bool json;                // one JSON object a line
    bool syslog;
    bool journal; // stderr goes to the journal: the level in front of each line
    // What is no warning is kept until the log is set up again, so that a command that fails says
    // just why; the first few lines, that is.
    bool hold;
};

void sds_log_setup(const struct sds_log_options *options);
// Whether lines are held: what fails now is told by whoever waits for it.
bool sds_log_holds(void);
// Changes level and format alone, at any time.
void sds_log_change(enum sds_log_level level, bool json);
// Whether stderr goes to the journal, as $JOURNAL_STREAM tells.
bool sds_log_is_journal(void);
// Parses "error", "warning", "info", "debug"; false for anything else.
bool sds_log_level_parse(const char *text, enum sds_log_level *out);
void sds_log(enum sds_log_level level, const char *fmt, ...) SDS_PRINTF(2, 3);
// A failure of a part of a dataset, at a place in the tree ("": none): "path: object: check:
// message", in JSON with a member for each.
void sds_log_failure(enum sds_log_level level, const char *path, const struct sds_err *what);
// Tells of lines that were left out; to be called now and then.
void sds_log_sweep(void);

#endif
