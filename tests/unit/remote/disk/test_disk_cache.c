// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include <sys/file.h>

#include "remote/disk/disk_cache.h"

#include "disk_test.h"

// --- what was written is read

static void what_was_written_is_read(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    assert_miss(cache, 1, 0, 100);
    write_now(cache, 1, 1000, 100000);
    assert_hit(cache, 1, 1000, 100000);
    assert_miss(cache, 1, 999, 2);
    assert_miss(cache, 1, 100999, 2);
    assert_miss(cache, 2, 1000, 100);
    struct sds_disk_stats stats = stats_of(cache);
    assert_int_equal(stats.hits, 1);
    assert_int_equal(stats.misses, 4);
    assert_int_equal(stats.hit_bytes, 100000);
    assert_int_equal(stats.written_bytes, 100000);
    assert_int_equal(stats.dropped_bytes, 0);
    assert_true(stats.working && stats.used_bytes >= 100000);
    assert_int_equal(told_broken + told_works, 0);
    sds_disk_cache_close(cache);
}

static void every_part_of_it_is_there(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 12345, 70000); // ragged at both ends, over five pieces
    for (uint64_t off = 12345; off < 82345; off += 1999) {
        for (size_t len = 1; off + len <= 82345; len = len * 3 + 1) {
            assert_hit(cache, 1, off, len);
        }
    }
    assert_hit(cache, 1, 50000, 0);
    sds_disk_cache_close(cache);
}

static void neighbours_make_one_run(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 5000, 5000);
    write_now(cache, 1, 20000, 30000);
    assert_miss(cache, 1, 5000, 15001);
    write_now(cache, 1, 10000, 10000);
    assert_hit(cache, 1, 5000, 45000);
    write_now(cache, 1, 0, 60000); // over all of them
    assert_hit(cache, 1, 0, 60000);
    assert_hit(cache, 1, 4999, 5003);
    write_now(cache, 1, 55000, 10000); // over the end
    assert_hit(cache, 1, 0, 65000);
    sds_disk_cache_close(cache);
}

static void over_the_border_of_segments(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    uint64_t border = SDS_DISK_SEGMENT;
    write_now(cache, 1, 3 * border - 70000, 150000);
    assert_hit(cache, 1, 3 * border - 70000, 150000);
    assert_hit(cache, 1, 3 * border - 1, 2);
    assert_hit(cache, 1, 3 * border, 80000);
    assert_true(exists(path_of(1, 2)) && exists(path_of(1, 3)));
    write_now(cache, 2, border / 2, 2 * border - 3); // more than one in between
    assert_hit(cache, 2, border / 2, 2 * border - 3);
    sds_disk_cache_close(cache);
}

static void at_the_end_of_numbers(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    assert_miss(cache, 1, UINT64_MAX - 5, 10);
    struct sds_disk_object of = object(1);
    struct sds_blob *blob = sds_blob_new(10);
    memset(blob->at, 0, 10);
    sds_disk_cache_write(cache, &of, UINT64_MAX - 5, blob, 0, 10); // nothing is written
    sds_disk_cache_write(cache, &of, 5, blob, 10, 0);
    sds_blob_unref(blob);
    write_now(cache, 1, UINT64_MAX - 20, 15);
    assert_hit(cache, 1, UINT64_MAX - 20, 15);
    sds_disk_cache_close(cache);
}

static void other_versions_are_others(void **state) {
    (void)state;
    struct sds_disk_object a = sds_disk_object_of("s3://h/b/k", "v1"),
                           b = sds_disk_object_of("s3://h/b/k", "v2"),
                           c = sds_disk_object_of("s3://h/b/kv", "1"),
                           d = sds_disk_object_of("s3://h/b/k", "v1");
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &c, sizeof a);
    assert_memory_equal(&a, &d, sizeof a);
}

static void the_next_mount_has_it(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_bytes(cache, 1, 0, 3 * MIB);
    sds_disk_cache_close(cache); // writes what is queued
    cache = open_cache();
    assert_hit(cache, 1, 0, 3 * MIB);
    struct sds_disk_cache *other = open_cache(); // at the same time
    assert_hit(other, 1, MIB, 1000);
    write_now(other, 1, 3 * MIB, MIB); // a segment that the first has open
    assert_hit(cache, 1, 0, 4 * MIB);
    sds_disk_cache_close(other);
    sds_disk_cache_close(cache);
}

static void assert_next(struct sds_disk_cache *cache, uint64_t off, uint64_t end, uint64_t start,
                        uint64_t len) {
    struct sds_disk_object of = object(1);
    uint64_t begins = 0, is;
    assert_int_equal(sds_disk_cache_next(cache, &of, off, end, &begins, &is), len > 0);
    if (len > 0) {
        assert_int_equal(begins, start);
        assert_int_equal(is, len);
    }
}

static void what_is_there_can_be_planned_with(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    uint64_t border = SDS_DISK_SEGMENT;
    assert_next(cache, 0, 10 * border, 0, 0);
    write_now(cache, 1, 1000, 1000);
    write_now(cache, 1, 2000, 3000);
    write_now(cache, 1, 9000, 10);
    write_now(cache, 1, 2 * border - 100, 200);
    assert_next(cache, 0, 4 * border, 1000, 4000);
    assert_next(cache, 1500, 4000, 1500, 2500);
    assert_next(cache, 5000, 10000, 9000, 10);
    assert_next(cache, 5000, 9000, 0, 0);
    assert_next(cache, 9010, 4 * border, 2 * border - 100, 200);
    assert_next(cache, 2 * border + 100, 4 * border, 0, 0);
    assert_next(cache, 7, 7, 0, 0);
    struct sds_disk_cache *other = open_cache();
    write_now(other, 1, 5000, 4000);
    assert_next(cache, 1000, 4 * border, 1000, 8010);
    sds_disk_cache_close(other);
    sds_disk_cache_close(cache);
}

static void what_is_there_is_not_written_again(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, MIB);
    struct stat st;
    assert_int_equal(stat(path_of(1, 0), &st), 0);
    for (unsigned i = 0; i < 500; i++) { // an entry each would be 260 KiB, more than there is room
        write_now(cache, 1, i, MIB - i);
    }
    uint8_t entry[16];
    int fd = open(path_of(1, 0), O_RDONLY);
    size_t second = SDS_DISK_HEADER + sds_disk_entry_size(0, MIB);
    assert_int_equal(pread(fd, entry, sizeof entry, (off_t)second), sizeof entry);
    assert_true(sds_le64(entry) == 0 && sds_le64(entry + 8) == 0);
    close(fd);
    write_now(cache, 1, MIB / 2, MIB); // only its second half is new
    assert_hit(cache, 1, 0, MIB + MIB / 2);
    sds_disk_cache_close(cache);
}

static void too_many_small_pieces(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    for (unsigned i = 0; i < 12000; i++) { // every other 100 bytes
        write_bytes(cache, 1, 200 * (uint64_t)i, 100);
        if (i % 1000 == 0) {
            sds_disk_cache_flush(cache);
        }
    }
    sds_disk_cache_flush(cache);
    assert_hit(cache, 1, 0, 100);
    assert_miss(cache, 1, 0, 101);
    assert_hit(cache, 1, 200 * 5000, 100);
    assert_miss(cache, 1, 200 * 11999, 100); // the front of the file is full
    assert_int_equal(told_broken, 0);
    sds_disk_cache_close(cache);
    cache = open_cache();
    assert_hit(cache, 1, 200 * 7777, 100);
    sds_disk_cache_close(cache);
}

static void private_files(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, 100);
    sds_disk_cache_note(cache, "a", "b", 1);
    sds_disk_cache_close(cache);
    struct stat st;
    char path[256];
    assert_int_equal(stat(path_of(1, 0), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    snprintf(path, sizeof path, "%s", path_of(1, 0));
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    for (const char *name = "usage"; name != NULL; name = *name == 'u' ? "notes" : NULL) {
        snprintf(path, sizeof path, "%s/blocks-1/%s", at, name);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
}

static void arguments(void **state) {
    (void)state;
    struct sds_disk_cache *cache;
    struct sds_err err;
    struct sds_disk_options relative = {.dir = "x", .size = 100 * MIB},
                            small = {.dir = at, .size = 1};
    assert_int_equal(sds_disk_cache_open(&relative, &cache, &err), SDS_ERR_INVALID);
    assert_int_equal(sds_disk_cache_open(&small, &cache, &err), SDS_ERR_INVALID);
    sds_disk_cache_close(NULL);
}

// --- notes

static void assert_note(struct sds_disk_cache *cache, const char *name, const char *tag,
                        uint64_t size) {
    char is[SDS_DISK_TAG];
    uint64_t sized;
    assert_int_equal(sds_disk_cache_recall(cache, name, is, &sized), tag != NULL);
    if (tag != NULL) {
        assert_string_equal(is, tag);
        assert_int_equal(sized, size);
    }
}

static void notes(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    assert_note(cache, "one", NULL, 0);
    sds_disk_cache_note(cache, "one", "tag", 7);
    sds_disk_cache_note(cache, "two", "", UINT64_MAX);
    sds_disk_cache_flush(cache);
    assert_note(cache, "one", "tag", 7);
    assert_note(cache, "two", "", UINT64_MAX);
    sds_disk_cache_note(cache, "one", "another", 8);
    char tag[SDS_DISK_TAG + 1];
    memset(tag, 'x', sizeof tag);
    tag[SDS_DISK_TAG] = '\0';
    sds_disk_cache_note(cache, "long", tag, 1);
    tag[SDS_DISK_TAG - 1] = '\0';
    sds_disk_cache_note(cache, "longest", tag, 1);
    sds_disk_cache_close(cache);
    cache = open_cache();
    assert_note(cache, "one", "another", 8);
    assert_note(cache, "long", NULL, 0);
    assert_note(cache, "longest", tag, 1);
    sds_disk_cache_close(cache);
}

static void more_notes_than_there_is_room_for(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    char name[16];
    for (unsigned i = 0; i < 30000; i++) {
        snprintf(name, sizeof name, "n%u", i);
        sds_disk_cache_note(cache, name, name, i);
        if (i % 2000 == 0) {
            sds_disk_cache_flush(cache);
        }
    }
    sds_disk_cache_flush(cache);
    unsigned known = 0;
    for (unsigned i = 0; i < 30000; i++) {
        char tag[SDS_DISK_TAG];
        uint64_t size;
        snprintf(name, sizeof name, "n%u", i);
        if (sds_disk_cache_recall(cache, name, tag, &size)) {
            assert_string_equal(tag, name);
            known++;
        }
    }
    assert_in_range(known, 12000, 16384);
    assert_note(cache, "n29999", "n29999", 29999);
    sds_disk_cache_close(cache);
    assert_true(du() < 6 * MIB);
}

static void torn_notes(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    sds_disk_cache_note(cache, "one", "tag", 7);
    sds_disk_cache_flush(cache);
    char path[256];
    snprintf(path, sizeof path, "%s/blocks-1/notes", at);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    uint8_t *bytes = malloc((size_t)st.st_size);
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
    uint8_t *tag = memmem(bytes, (size_t)st.st_size, "tag", 3);
    assert_non_null(tag);
    assert_int_equal(pwrite(fd, "T", 1, tag - bytes), 1);
    assert_note(cache, "one", NULL, 0);
    sds_disk_cache_note(cache, "one", "tag", 9);
    sds_disk_cache_flush(cache);
    assert_note(cache, "one", "tag", 9);
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_note(cache, "one", NULL, 0);
    close(fd);
    free(bytes);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_note(cache, "one", NULL, 0);
    sds_disk_cache_note(cache, "one", "tag", 10);
    sds_disk_cache_flush(cache);
    assert_note(cache, "one", "tag", 10);
    sds_disk_cache_close(cache);
}

// --- damage

static void flip(const char *path, uint64_t off) {
    int fd = open(path, O_RDWR);
    uint8_t byte;
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, (off_t)off), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)off), 1);
    close(fd);
}

static void a_wrong_byte(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, MIB);
    flip(path_of(1, 0), SDS_DISK_FRONT + 500000);
    assert_hit(cache, 1, 0, 400000); // what is checked is what is read
    assert_miss(cache, 1, 499000, 2000);
    sds_disk_cache_flush(cache);
    assert_false(exists(path_of(1, 0)));
    assert_int_equal(stats_of(cache).corrupt, 1);
    assert_miss(cache, 1, 0, 100);
    write_now(cache, 1, 0, MIB);
    assert_hit(cache, 1, 0, MIB);
    assert_int_equal(told_broken, 0);
    sds_disk_cache_close(cache);
}

static void every_place_of_a_wrong_byte(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    const uint32_t len = 40000;
    // The header, the whole entry, and places in the bytes.
    for (uint64_t place = 0; place < SDS_DISK_FRONT + len; place++) {
        if (place == SDS_DISK_HEADER + sds_disk_entry_size(77, len)) {
            place = SDS_DISK_FRONT + 77;
        } else if (place > SDS_DISK_FRONT) {
            place += 1231;
        }
        if (place >= SDS_DISK_FRONT + 77 + len) {
            break;
        }
        write_now(cache, 1, 77, len);
        flip(path_of(1, 0), place);
        struct sds_disk_cache *other = open_cache();
        assert_miss(other, 1, 77, len);
        sds_disk_cache_close(other);
        unlink(path_of(1, 0));
    }
    sds_disk_cache_close(cache);
}

// Its checksums are right, but what was written was not.
static void what_is_forgotten_is_gone_at_once(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache(), *other = open_cache();
    struct sds_disk_object mine = object(1);
    uint64_t start, len;
    write_now(cache, 1, 0, MIB);
    write_now(cache, 1, SDS_DISK_SEGMENT, MIB);
    write_now(cache, 2, 0, MIB);
    assert_hit(other, 1, 0, MIB); // which has the file open
    write_bytes(cache, 1, 2 * MIB, MIB);
    sds_disk_cache_forget(cache, &mine, MIB / 2, 10);
    assert_miss(cache, 1, 0, 1000);
    assert_false(sds_disk_cache_next(cache, &mine, 0, SDS_DISK_SEGMENT, &start, &len));
    assert_hit(cache, 1, SDS_DISK_SEGMENT, MIB); // another segment
    sds_disk_cache_flush(cache);
    assert_miss(cache, 1, 2 * MIB, 1000); // written before it was forgotten
    assert_false(exists(path_of(1, 0)));
    assert_miss(other, 1, 0, 1000);
    assert_int_equal(stats_of(cache).forgotten, 1);
    assert_int_equal(stats_of(cache).corrupt, 0);
    write_now(cache, 1, 0, MIB);
    assert_hit(cache, 1, 0, MIB);
    assert_hit(other, 1, 0, MIB);
    assert_hit(cache, 2, 0, MIB);
    for (unsigned i = 0; i < 5000; i++) { // of one file, and of none
        sds_disk_cache_forget(cache, &mine, 0, MIB);
    }
    sds_disk_cache_forget(cache, &mine, 3 * (uint64_t)SDS_DISK_SEGMENT, SDS_DISK_SEGMENT);
    sds_disk_cache_flush(cache);
    assert_miss(cache, 1, 0, 1000);
    write_now(cache, 1, 0, MIB);
    assert_hit(cache, 1, 0, MIB);
    assert_int_equal(told_broken, 0);
    sds_disk_cache_close(cache);
    sds_disk_cache_close(other);
}

// More than can be kept in mind: then nothing is believed.
static void too_much_is_forgotten(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    struct sds_disk_object mine = object(1);
    write_now(cache, 2, 0, MIB);
    assert_hit(cache, 2, 0, MIB);
    int fd = open(path_of(2, 0), O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX), 0); // somebody writes to it: the thread is kept busy
    struct sds_disk_object busy = object(2);
    sds_disk_cache_forget(cache, &busy, 0, 1);
    sds_disk_cache_forget(cache, &mine, 0, 1500 * (uint64_t)SDS_DISK_SEGMENT);
    close(fd);
    sds_disk_cache_flush(cache);
    write_now(cache, 3, 0, MIB);
    assert_miss(cache, 2, 0, 1000);
    assert_miss(cache, 3, 0, 1000);
    sds_disk_cache_close(cache);
    cache = open_cache();
    assert_miss(cache, 2, 0, 1000);
    assert_hit(cache, 3, 0, MIB);
    sds_disk_cache_close(cache);
}

static void a_torn_index(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, 1000);
    write_now(cache, 1, 5000, 50000);
    write_now(cache, 1, 100000, 1000);
    flip(path_of(1, 0), SDS_DISK_HEADER + sds_disk_entry_size(0, 1000) + 17);
    struct sds_disk_cache *other = open_cache();
    assert_hit(other, 1, 0, 1000);
    assert_miss(other, 1, 5000, 50000);
    assert_miss(other, 1, 100000, 1000);
    write_now(other, 1, 6000, 30); // where the torn one was
    write_now(other, 1, 7000, 30);
    assert_hit(other, 1, 6000, 30);
    sds_disk_cache_close(other);
    other = open_cache();
    assert_hit(other, 1, 0, 1000);
    assert_hit(other, 1, 6000, 30);
    assert_hit(other, 1, 7000, 30);
    sds_disk_cache_close(other);
    sds_disk_cache_close(cache);
}

static void cut_files(void **state) {
    (void)state;
    const off_t lengths[] = {0, 1, 63, 64, 100, SDS_DISK_FRONT, SDS_DISK_FRONT + 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct sds_disk_cache *cache = open_cache();
        write_now(cache, 1, 0, 100000);
        assert_hit(cache, 1, 0, 100000);
        assert_int_equal(truncate(path_of(1, 0), lengths[i]), 0);
        assert_miss(cache, 1, 0, 100000);
        sds_disk_cache_flush(cache);
        write_now(cache, 1, 0, 100000);
        assert_hit(cache, 1, 0, 100000);
        struct sds_disk_cache *other = open_cache(); // nobody had it open
        assert_int_equal(truncate(path_of(1, 0), lengths[i]), 0);
        assert_miss(other, 1, 0, 100000);
        write_now(other, 1, 0, 100000);
        write_now(other, 1, 0, 100000); // the first may have found it in the way
        assert_hit(other, 1, 0, 100000);
        sds_disk_cache_close(other);
        sds_disk_cache_close(cache);
        unlink(path_of(1, 0));
    }
}

static void garbage(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, 100);
    char path[256];
    snprintf(path, sizeof path, "%s", path_of(1, 0));
    int fd = open(path, O_WRONLY | O_TRUNC);
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t byte = byte_of(99, i);
        assert_int_equal(write(fd, &byte, 1), 1);
    }
    close(fd);
    struct sds_disk_cache *other = open_cache();
    assert_miss(other, 1, 0, 100);
    sds_disk_cache_flush(other);
    assert_false(exists(path));
    write_now(other, 2, 0, 100);
    char swapped[256];
    snprintf(swapped, sizeof swapped, "%s", path_of(2, 0));
    write_now(other, 1, 0, 100);
    assert_int_equal(rename(swapped, path), 0); // another one's file
    assert_miss(cache, 1, 0, 100);
    sds_disk_cache_close(other);
    sds_disk_cache_close(cache);
}

static void what_is_no_file_of_ours(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, 100);
    sds_disk_cache_close(cache);
    char path[256], target[128];
    snprintf(path, sizeof path, "%s", path_of(1, 0));
    snprintf(target, sizeof target, "%s/target", dir);
    assert_int_equal(rename(path, target), 0);
    for (int kind = 0; kind < 4; kind++) {
        assert_int_equal(kind == 0   ? symlink(target, path)
                         : kind == 1 ? link(target, path)
                         : kind == 2 ? mkfifo(path, 0600)
                                     : mkdir(path, 0700),
                         0);
        cache = open_cache();
        assert_miss(cache, 1, 0, 100);
        write_now(cache, 1, 1000, 100);
        write_now(cache, 1, 1000, 100); // the first found it in the way
        assert_hit(cache, 1, 1000, 100);
        sds_disk_cache_close(cache);
        struct stat st;
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISREG(st.st_mode) && st.st_nlink == 1);
        unlink(path);
    }
    assert_int_equal(told_broken, 0);
    struct sds_disk_cache *other = open_cache(); // what the links led to was left alone
    assert_int_equal(rename(target, path), 0);
    assert_hit(other, 1, 0, 100);
    assert_miss(other, 1, 1000, 100);
    sds_disk_cache_close(other);
}

static void directories_behind_links(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    char path[256], elsewhere[128];
    snprintf(path, sizeof path, "%s", path_of(1, 0));
    *strrchr(path, '/') = '\0';
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", dir);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    write_now(cache, 1, 0, 100);
    assert_miss(cache, 1, 0, 100);
    assert_int_equal(rmdir(elsewhere), 0); // it is empty
    sds_disk_cache_close(cache);
}

// --- the bound

static void the_bound_is_kept(void **state) {
    (void)state;
    const uint64_t bound = 24 * MIB;
    struct sds_disk_cache *cache = open_sized(bound);
    for (unsigned i = 0; i < 200; i++) {
        write_now(cache, i / 20, (uint64_t)(i % 20) * MIB, 3 * MIB / 4);
        assert_true(du() <= bound);
        assert_true(counted() + 65536 >= du());
        assert_hit(cache, i / 20, (uint64_t)(i % 20) * MIB, 3 * MIB / 4);
    }
    assert_true(stats_of(cache).evicted > 0);
    assert_int_equal(told_broken, 0);
    assert_true(du() >= bound / 2); // and it is made use of
    assert_true(stats_of(cache).used_bytes <= bound);
    assert_int_equal(stats_of(cache).dropped_bytes, 0);
    sds_disk_cache_close(cache);
}

static void another_bound(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_sized(24 * MIB);
    for (unsigned i = 0; i < 20; i++) {
        write_now(cache, i, 0, MIB);
    }
    assert_true(du() > 16 * MIB);
    sds_disk_cache_resize(cache, 8 * MIB);
    write_now(cache, 30, 0, MIB);
    assert_hit(cache, 30, 0, MIB);
    assert_true(du() <= 8 * MIB);
    sds_disk_cache_resize(cache, 0); // keeps what there is
    uint64_t before = du();
    write_now(cache, 31, 0, MIB);
    assert_miss(cache, 31, 0, MIB);
    assert_hit(cache, 30, 0, MIB);
    assert_int_equal(du(), before);
    sds_disk_cache_resize(cache, 24 * MIB);
    write_now(cache, 32, 0, MIB);
    assert_hit(cache, 32, 0, MIB);
    assert_int_equal(told_broken, 0);
    sds_disk_cache_close(cache);
}

static void small_files_count(void **state) {
    (void)state;
    const uint64_t bound = 4 * MIB;
    struct sds_disk_cache *cache = open_sized(bound);
    for (unsigned i = 0; i < 1500; i++) {
        write_bytes(cache, i, 0, 10);
        if (i % 100 == 99) {
            sds_disk_cache_flush(cache);
            assert_true(du() <= bound);
        }
    }
    assert_true(stats_of(cache).evicted > 0);
    sds_disk_cache_close(cache);
}

static void larger_than_the_bound(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_sized(4 * MIB);
    write_now(cache, 1, 0, 5 * MIB);
    assert_miss(cache, 1, 0, 100);
    assert_int_equal(stats_of(cache).dropped_bytes, 5 * MIB);
    write_now(cache, 1, 0, 3 * MIB);
    assert_hit(cache, 1, 0, 3 * MIB);
    assert_int_equal(told_broken, 0);
    sds_disk_cache_close(cache);
}

static void set_time(const char *path, time_t seconds) {
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void the_oldest_go_first(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_sized(10 * MIB);
    for (unsigned i = 0; i < 8; i++) { // in fewer directories than are looked at
        write_now(cache, i, 0, MIB);
    }
    for (unsigned i = 0; i < 8; i++) {
        set_time(path_of(i, 0), 1000000 + 100 * (time_t)((i * 5) % 8));
    }
    sds_disk_cache_close(cache);
    cache = open_sized(10 * MIB);
    assert_hit(cache, 0, 0, 100); // the oldest, but for that it is read now
    write_now(cache, 100, 0, 3 * MIB);
    assert_hit(cache, 100, 0, 3 * MIB);
    assert_hit(cache, 0, 0, 100);
    assert_false(exists(path_of(5, 0))); // 5 * 5 % 8 is 1
    unsigned kept = 0;
    for (unsigned i = 1; i < 8; i++) {
        bool old = (i * 5) % 8 <= 2;
        assert_true(!old || !exists(path_of(i, 0)));
        kept += exists(path_of(i, 0));
    }
    assert_true(kept >= 4);
    assert_miss(cache, 5, 0, 100);
    sds_disk_cache_close(cache);
}

static void a_sample_forgets_mostly_old_ones(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_sized(64 * MIB);
    for (unsigned i = 0; i < 500; i++) {
        write_now(cache, i, 0, 64 << 10);
        set_time(path_of(i, 0), 1000000 + (time_t)i);
    }
    assert_int_equal(stats_of(cache).evicted, 0);
    sds_disk_cache_close(cache);
    cache = open_sized(34 * MIB); // about four fifths of it
    write_now(cache, 1000, 0, 100);
    unsigned old = 0, young = 0;
    for (unsigned i = 0; i < 500; i++) {
        old += i < 250 && !exists(path_of(i, 0));
        young += i >= 250 && !exists(path_of(i, 0));
    }
    assert_true(old > 0);
    assert_true(old > 4 * young);
    sds_disk_cache_close(cache);
}

// A process that was killed between taking room and using it.
static void a_ledger_that_counts_too_much(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_sized(16 * MIB);
    write_now(cache, 1, 0, MIB);
    char path[256];
    snprintf(path, sizeof path, "%s/blocks-1/usage", at);
    int fd = open(path, O_RDWR);
    for (unsigned i = 0; i < 40; i++) {
        uint8_t bytes[8];
        sds_put_le64(bytes, 300000 + MIB * (i == 7));
        assert_int_equal(pwrite(fd, bytes, 8, SDS_DISK_LEDGER_HEAD + 8 * 6 * i), 8);
    }
    close(fd);
    assert_true(counted() > 12 * MIB);
    write_now(cache, 2, 0, 6 * MIB);
    assert_hit(cache, 2, 0, 6 * MIB);
    write_now(cache, 3, 0, 7 * MIB);
    assert_hit(cache, 3, 0, 7 * MIB);
    assert_true(counted() < 16 * MIB);
    sds_disk_cache_close(cache);
}

static void a_ledger_that_is_lost(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_sized(16 * MIB);
    for (unsigned i = 0; i < 12; i++) {
        write_now(cache, i, 0, MIB);
    }
    char path[256];
    snprintf(path, sizeof path, "%s/blocks-1/usage", at);
    uint64_t before = counted();
    for (int kind = 0; kind < 4; kind++) {
        int fd = open(path, O_RDWR);
        if (kind == 0) {
            assert_int_equal(unlink(path), 0);
        } else if (kind == 1) {
            assert_int_equal(ftruncate(fd, 100), 0);
        } else if (kind == 2) {
            assert_int_equal(pwrite(fd, "?", 1, 10), 1); // the machine was started anew
        } else {
            uint8_t nonsense[8 * SDS_DISK_COUNTERS];
            memset(nonsense, 0x55, sizeof nonsense);
            assert_int_equal(pwrite(fd, nonsense, sizeof nonsense, SDS_DISK_LEDGER_HEAD),
                             sizeof nonsense);
        }
        close(fd);
        write_now(cache, 50 + (unsigned)kind, 0, 4096);
        assert_hit(cache, 50 + (unsigned)kind, 0, 4096);
        assert_in_range(counted(), before, before + 5 * 16384);
    }
    for (unsigned i = 100; i < 130; i++) {
        write_now(cache, i, 0, MIB);
        assert_true(du() <= 16 * MIB);
    }
    assert_int_equal(told_broken, 0);
    sds_disk_cache_close(cache);
}

// --- directories that do not work

static void somebody_elses_directory(void **state) {
    (void)state;
    assert_int_equal(mkdir(at, 0700), 0);
    assert_int_equal(chmod(at, 0777), 0);
    struct sds_disk_cache *cache = open_cache();
    assert_int_equal(told_broken, 1);
    assert_non_null(strstr(told, "belong"));
    assert_false(stats_of(cache).working);
    write_now(cache, 1, 0, 100);
    assert_miss(cache, 1, 0, 100);
    char path[256];
    snprintf(path, sizeof path, "%s/blocks-1", at);
    assert_false(exists(path));
    if (geteuid() == 0) {
        assert_int_equal(chmod(at, 0700), 0);
        assert_int_equal(chown(at, 65534, 65534), 0);
        usleep(3000); // longer than it is left alone
        write_now(cache, 1, 0, 100);
        assert_false(exists(path));
        assert_int_equal(chown(at, 0, 0), 0);
    }
    assert_int_equal(chmod(at, 0700), 0);
    for (int i = 0; i < 10000 && !stats_of(cache).working; i++) {
        write_now(cache, 1, 0, 100);
        usleep(1000);
    }
    assert_hit(cache, 1, 0, 100); // tried again
    assert_int_equal(told_broken, 1);
    assert_int_equal(told_works, 1);
    sds_disk_cache_close(cache);
}

static void no_directory_at_all(void **state) {
    (void)state;
    close(creat(at, 0600));
    struct sds_disk_cache *cache = open_cache();
    assert_int_equal(told_broken, 1);
    write_now(cache, 1, 0, 100);
    sds_disk_cache_note(cache, "a", "b", 1);
    assert_miss(cache, 1, 0, 100);
    assert_note(cache, "a", NULL, 0);
    assert_next(cache, 0, 100, 0, 0);
    sds_disk_cache_close(cache);
    assert_int_equal(told_broken, 1);
}

static void removed_meanwhile(void **state) {
    (void)state;
    struct sds_disk_cache *cache = open_cache();
    write_now(cache, 1, 0, 100000);
    assert_hit(cache, 1, 0, 100);
    assert_int_equal(nftw(at, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    (void)look(cache, 1, 0, 100);
    write_now(cache, 2, 0, 100);
    assert_hit(cache, 2, 0, 100);
    assert_true(exists(path_of(2, 0)));
    write_now(cache, 1, 0, 100000);
    assert_hit(cache, 1, 0, 100000);
    assert_true(exists(path_of(1, 0)));
    sds_disk_cache_close(cache);
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        IN_DIR(what_was_written_is_read),
        IN_DIR(every_part_of_it_is_there),
        IN_DIR(neighbours_make_one_run),
        IN_DIR(over_the_border_of_segments),
        IN_DIR(at_the_end_of_numbers),
        cmocka_unit_test(other_versions_are_others),
        IN_DIR(the_next_mount_has_it),
        IN_DIR(what_is_there_can_be_planned_with),
        IN_DIR(what_is_there_is_not_written_again),
        IN_DIR(too_many_small_pieces),
        IN_DIR(private_files),
        IN_DIR(arguments),
        IN_DIR(notes),
        IN_DIR(more_notes_than_there_is_room_for),
        IN_DIR(torn_notes),
        IN_DIR(a_wrong_byte),
        IN_DIR(every_place_of_a_wrong_byte),
        IN_DIR(what_is_forgotten_is_gone_at_once),
        IN_DIR(too_much_is_forgotten),
        IN_DIR(a_torn_index),
        IN_DIR(cut_files),
        IN_DIR(garbage),
        IN_DIR(what_is_no_file_of_ours),
        IN_DIR(directories_behind_links),
        IN_DIR(the_bound_is_kept),
        IN_DIR(another_bound),
        IN_DIR(small_files_count),
        IN_DIR(larger_than_the_bound),
        IN_DIR(the_oldest_go_first),
        IN_DIR(a_sample_forgets_mostly_old_ones),
        IN_DIR(a_ledger_that_counts_too_much),
        IN_DIR(a_ledger_that_is_lost),
        IN_DIR(somebody_elses_directory),
        IN_DIR(no_directory_at_all),
        IN_DIR(removed_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
