// SPDX-License-Identifier: Apache-2.0
// Runs every file below the folders named on the command line through a fuzz target, so that the
// kept corpus is an ordinary test under any compiler and sanitizer.
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

static int replay(const char *path, const struct stat *st, int type, struct FTW *where) {
    (void)where;
    if (type != FTW_F) {
        return 0;
    }
    size_t size = (size_t)st->st_size;
    uint8_t *data = malloc(size + 1);
    FILE *f = fopen(path, "rb");
    if (data == NULL || f == NULL || fread(data, 1, size, f) != size) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (nftw(argv[i], replay, 8, FTW_PHYS) != 0) {
            fprintf(stderr, "cannot walk %s\n", argv[i]);
            return 1;
        }
    }
    printf("replayed %u inputs\n", replayed);
    return replayed > 0 ? 0 : 1; // a corpus that is not there must not pass
}
