// SPDX-License-Identifier: Apache-2.0
#include "cli/annotate_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program_dir.h"
#include "cli/content.h"
#include "format/driver.h"

#define MAX_FILE ((size_t)64 << 20)
enum { STEP_BYTES = 1 << 20 };

void sds_annotate_input_init(struct sds_annotate_input *input) {
    *input = (struct sds_annotate_input){.rows = -1,
                                         .directory = -1,
                                         .spool = -1,
                                         .metadata = SDS_BUF_INIT(MAX_FILE),
                                         .id_text = SDS_BUF_INIT(MAX_FILE)};
}

void sds_annotate_input_fini(struct sds_annotate_input *input) {
    const int fds[] = {input->rows, input->directory, input->spool};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    sds_buf_fini(&input->metadata);
    sds_buf_fini(&input->id_text);
    free(input->ids);
    sds_annotate_input_init(input);
}

// A file that the user named: that it is not there is a slip of the pen.
static enum sds_kind cannot(struct sds_err *err) {
    enum sds_kind kind = errno == EIO ? SDS_ERR_STORAGE : SDS_ERR_INVALID;
    return sds_fail(err, kind, "open", "%s", strerror(errno));
}

enum sds_kind sds_annotate_spool(struct sds_annotate_input *input, const char *option,
                                 struct sds_err *err) {
    sds_autofree char *path = NULL;
    enum sds_kind kind = sds_program_dir_path(SDS_STATE_DIR, option, &path, err);
    if (kind == SDS_OK) {
        kind = sds_program_dir_open(SDS_STATE_DIR, path, true, &input->spool, err);
    }
    if (kind != SDS_OK) {
        sds_err_hint(err, "option state_dir= names another directory for temporary files");
    }
    return kind;
}

static int open_parent(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    sds_autofree char *parent = strndup(path, (size_t)(slash - path) + 1);
    return parent != NULL ? open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

enum sds_kind sds_annotate_rows(struct sds_annotate_input *input, const char *path, bool *piped,
                                struct sds_err *err) {
    struct stat st;
    bool standard_input = strcmp(path, "-") == 0;
    input->rows = standard_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                                 : open(path, O_RDONLY | O_CLOEXEC);
    if (input->rows < 0 || fstat(input->rows, &st) != 0) {
        return cannot(err);
    }
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return cannot(err);
    }
    *piped = standard_input || !S_ISREG(st.st_mode);
    input->directory = *piped ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) : open_parent(path);
    return input->directory < 0 ? cannot(err) : SDS_OK;
}

// Where copying has got to.
struct line_place {
    uint64_t number; // lines that ended
    uint64_t len;    // of the one at hand
};

// A line that is too long is refused before the disk is full of it.
static enum sds_kind measure_lines(struct line_place *line, const uint8_t *bytes, size_t len,
                                   struct sds_err *err) {
    const uint8_t *end = bytes + len;
    while (bytes < end) {
        const uint8_t *lf = memchr(bytes, '\n', (size_t)(end - bytes));
        line->len += (size_t)((lf != NULL ? lf : end) - bytes);
        if (line->len > SDS_ANNOTATE_MAX_ROW) {
            return sds_fail(err, SDS_ERR_LIMIT, "row_size", "line %llu has more than %llu bytes",
                            (unsigned long long)line->number + 1, SDS_ANNOTATE_MAX_ROW);
        }
        if (lf == NULL) {
            break;
        }
        *line = (struct line_place){.number = line->number + 1};
        bytes = lf + 1;
    }
    return SDS_OK;
}

static enum sds_kind copy(int from, int to, struct sds_err *err) {
    struct line_place line = {0};
    sds_autofree uint8_t *step = malloc(STEP_BYTES);
    if (step == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for rows");
    }
    for (;;) {
        ssize_t n = read(from, step, STEP_BYTES);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return sds_fail(err, SDS_ERR_STORAGE, "read", "%s", strerror(errno));
        }
        if (n == 0) {
            return SDS_OK;
        }
        enum sds_kind kind = measure_lines(&line, step, (size_t)n, err);
        if (kind != SDS_OK) {
            return kind;
        }
        kind = sds_write_all(to, sds_span(step, (size_t)n), err);
        if (kind != SDS_OK) {
            sds_err_context(err, "copying to the state directory");
            return kind;
        }
    }
}

enum sds_kind sds_annotate_copy_rows(struct sds_annotate_input *input, struct sds_err *err) {
    sds_autofd int to = openat(input->spool, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (to < 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "state_dir", "making a temporary file: %s",
                        strerror(errno));
    }
    enum sds_kind kind = copy(input->rows, to, err);
    if (kind == SDS_OK) {
        int pipe = input->rows;
        input->rows = to;
        to = pipe;
    }
    return kind;
}

static enum sds_kind read_file(const char *path, struct sds_buf *out, struct sds_err *err) {
    sds_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return cannot(err);
    }
    for (;;) {
        uint8_t step[4096];
        ssize_t n = read(fd, step, sizeof step);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return cannot(err);
        }
        if (n == 0) {
            return SDS_OK;
        }
        enum sds_kind kind = sds_buf_add(out, step, (size_t)n);
        if (kind != SDS_OK) {
            return sds_buf_failed(out, kind, err);
        }
    }
}

enum sds_kind sds_annotate_metadata(struct sds_annotate_input *input, const char *path,
                                    struct sds_err *err) {
    enum sds_kind kind = read_file(path, &input->metadata, err);
    if (kind == SDS_OK && input->metadata.len == 0) {
        kind = sds_fail(err, SDS_ERR_INVALID, "json", "it is empty");
    }
    return kind;
}

// The next line from *pos on, without white space around it, ended with a NUL; NULL at the end.
static char *next_line(struct sds_buf *text, size_t *pos) {
    if (*pos >= text->len) {
        return NULL;
    }
    char *start = (char *)text->at + *pos, *end = start + strcspn(start, "\n");
    *pos = (size_t)(end - (char *)text->at) + 1;
    start += strspn(start, " \t\r");
    while (end > start && strchr(" \t\r", end[-1]) != NULL) {
        end--;
    }
    *end = '\0';
    return start;
}

static size_t count_lines(const struct sds_buf *text) {
    size_t count = 1; // the last one may lack its LF
    for (size_t i = 0; i < text->len; i++) {
        count += text->at[i] == '\n';
    }
    return count;
}

enum sds_kind sds_annotate_ids(struct sds_annotate_input *input, const char *path,
                               struct sds_err *err) {
    struct sds_buf *text = &input->id_text;
    enum sds_kind kind = read_file(path, text, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = sds_buf_add(text, "", 1);
    if (kind != SDS_OK) {
        return sds_buf_failed(text, kind, err);
    }
    if (strlen((char *)text->at) + 1 != text->len) {
        return sds_fail(err, SDS_ERR_INVALID, "text", "it holds a NUL");
    }
    input->ids = calloc(count_lines(text), sizeof *input->ids);
    if (input->ids == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for its lines");
    }
    size_t pos = 0;
    for (char *line; (line = next_line(text, &pos)) != NULL;) {
        if (line[0] != '\0') {
            input->ids[input->id_count++] = line;
        }
    }
    return SDS_OK;
}
