#include "cache/blob_frames.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"
#include "cache/blob_format.h"
#include "tests/support/test.h"

static struct error error;

/* Bytes that compress a little, and differ from place to place. */
static uint8_t byte_at(uint64_t offset) {
    return (uint8_t)((offset * 2654435761u) >> 24 & 0x3f);
}

static int file_of(const void *bytes, size_t size) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes, size, &error), ERR_OK);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static uint8_t *raw_of(size_t size) {
    uint8_t *bytes = malloc(size + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_at(i);
    return bytes;
}

static int compress(const void *bytes, size_t size, struct blob_frames_summary *ret_summary) {
    int in = file_of(bytes, size);
    int out = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(blob_frames_write(in, out, NULL, ret_summary, &error), ERR_OK);
    close(in);
    return out;
}

static struct blob_frames *open_frames(int fd) {
    struct blob_frames *frames = NULL;
    assert_int_equal(blob_frames_open(fd, &frames, &error), ERR_OK);
    return frames;
}

static const size_t sizes[] = {0,
                               1,
                               4096,
                               BLOB_FRAME_SIZE - 1,
                               BLOB_FRAME_SIZE,
                               BLOB_FRAME_SIZE + 1,
                               3 * BLOB_FRAME_SIZE,
                               3 * BLOB_FRAME_SIZE + 12345};

static void every_size_comes_back_as_it_was(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        CLEANUP(cleanup_free) uint8_t *raw = raw_of(sizes[i]), *read = malloc(sizes[i] + 1);
        struct blob_frames_summary summary;
        int fd = compress(raw, sizes[i], &summary);
        struct digest digest = hash_sha256_of(span_of(raw, sizes[i]));
        assert_true(digest_equal(&summary.digest, &digest));
        assert_int_equal(summary.raw_size, sizes[i]);
        assert_int_equal(summary.stored_size, lseek(fd, 0, SEEK_END));
        CLEANUP(cleanup_blob_frames) struct blob_frames *frames = open_frames(fd);
        assert_int_equal(blob_frames_raw_size(frames), sizes[i]);
        assert_int_equal(blob_frames_read(frames, 0, read, sizes[i], &error), ERR_OK);
        assert_memory_equal(read, raw, sizes[i]);
    }
}

static void any_zstd_program_inflates_the_whole(void **state) {
    (void)state;
    size_t size = 2 * BLOB_FRAME_SIZE + 777;
    CLEANUP(cleanup_free) uint8_t *raw = raw_of(size), *read = malloc(size);
    struct blob_frames_summary summary;
    CLEANUP(cleanup_fd) int fd = compress(raw, size, &summary);
    struct span stored;
    assert_int_equal(fd_map(fd, &stored, &error), ERR_OK);
    assert_int_equal(ZSTD_decompress(read, size, stored.data, stored.size), size);
    assert_memory_equal(read, raw, size);
    fd_unmap(stored);
}

static void the_formats_worked_example_holds(void **state) {
    (void)state;
    size_t size = BLOB_FRAME_SIZE + 1;
    CLEANUP(cleanup_free) uint8_t *raw = calloc(1, size);
    struct blob_frames_summary summary;
    CLEANUP(cleanup_fd) int fd = compress(raw, size, &summary);
    uint8_t table[33];
    assert_int_equal(pread(fd, table, sizeof(table), (off_t)summary.stored_size - 33), 33);
    assert_memory_equal(table, "\x5e\x2a\x4d\x18\x19\0\0\0", 8);
    assert_memory_equal(table + 12, "\0\0\x10\0", 4);
    assert_memory_equal(table + 20, "\x01\0\0\0\x02\0\0\0\0\xb1\xea\x92\x8f", 13);
}

static void ranges_are_read_across_frames_and_refused_past_the_end(void **state) {
    (void)state;
    size_t size = 3 * BLOB_FRAME_SIZE + 100;
    CLEANUP(cleanup_free) uint8_t *raw = raw_of(size), *read = malloc(size);
    struct blob_frames_summary summary;
    CLEANUP(cleanup_blob_frames)
    struct blob_frames *frames = open_frames(compress(raw, size, &summary));
    const struct {
        uint64_t offset;
        size_t size;
    } ranges[] = {{0, 1},
                  {size - 1, 1},
                  {size, 0},
                  {BLOB_FRAME_SIZE - 1, 2},
                  {BLOB_FRAME_SIZE, BLOB_FRAME_SIZE},
                  {5, 2 * BLOB_FRAME_SIZE},
                  {3 * BLOB_FRAME_SIZE - 50, 150}};
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        assert_int_equal(blob_frames_read(frames, ranges[i].offset, read, ranges[i].size, &error),
                         ERR_OK);
        assert_memory_equal(read, raw + ranges[i].offset, ranges[i].size);
    }
    assert_int_equal(blob_frames_read(frames, size, read, 1, &error), ERR_INVALID);
    assert_int_equal(blob_frames_read(frames, 0, read, size + 1, &error), ERR_INVALID);
    assert_int_equal(blob_frames_read(frames, UINT64_MAX, read, 1, &error), ERR_INVALID);
    assert_int_equal(blob_frames_read(frames, 1, read, SIZE_MAX, &error), ERR_INVALID);
}

/* Whatever became of the file, reading it gives the right bytes or an error. */
static bool reads_right_or_fails(const void *stored, size_t stored_size, const uint8_t *raw,
                                 size_t size) {
    int fd = file_of(stored, stored_size);
    CLEANUP(cleanup_blob_frames) struct blob_frames *frames = NULL;
    enum err err = blob_frames_open(fd, &frames, &error);
    if (err != ERR_OK) {
        close(fd);
        assert_int_equal(err, ERR_DAMAGED);
        return false;
    }
    uint64_t claimed = blob_frames_raw_size(frames);
    CLEANUP(cleanup_free) uint8_t *read = malloc(claimed + 1);
    err = blob_frames_read(frames, 0, read, claimed, &error);
    if (err != ERR_OK) {
        assert_int_equal(err, ERR_DAMAGED);
        assert_non_null(strstr(error.text, "damaged"));
        return false;
    }
    assert_int_equal(claimed, size);
    assert_memory_equal(read, raw, size);
    return true;
}

static void a_flipped_or_missing_byte_anywhere_is_an_error(void **state) {
    (void)state;
    enum { SIZE = 700 };
    CLEANUP(cleanup_free) uint8_t *raw = raw_of(SIZE);
    struct blob_frames_summary summary;
    CLEANUP(cleanup_fd) int fd = compress(raw, SIZE, &summary);
    size_t stored_size = summary.stored_size;
    CLEANUP(cleanup_free) uint8_t *stored = malloc(stored_size);
    assert_int_equal(pread(fd, stored, stored_size, 0), stored_size);
    assert_true(reads_right_or_fails(stored, stored_size, raw, SIZE));
    size_t harmless = 0;
    for (size_t i = 0; i < stored_size; i++) {
        assert_false(reads_right_or_fails(stored, i, raw, SIZE));
        stored[i] ^= 0x40;
        harmless += reads_right_or_fails(stored, stored_size, raw, SIZE);
        stored[i] ^= 0x40;
    }
    /* Some bits of a frame change nothing, such as the weight of a byte that does not occur. */
    assert_true(harmless < stored_size / 20);
}

static void a_damaged_frame_does_not_spoil_the_others(void **state) {
    (void)state;
    size_t size = 3 * BLOB_FRAME_SIZE;
    CLEANUP(cleanup_free) uint8_t *raw = raw_of(size), *read = malloc(size);
    struct blob_frames_summary summary;
    int fd = compress(raw, size, &summary);
    assert_int_equal(pwrite(fd, "damage", 6, (off_t)summary.stored_size / 2), 6);
    CLEANUP(cleanup_blob_frames) struct blob_frames *frames = open_frames(fd);
    assert_int_equal(blob_frames_read(frames, BLOB_FRAME_SIZE, read, 1, &error), ERR_DAMAGED);
    assert_int_equal(blob_frames_read(frames, 0, read, BLOB_FRAME_SIZE, &error), ERR_OK);
    assert_memory_equal(read, raw, BLOB_FRAME_SIZE);
    assert_int_equal(blob_frames_read(frames, BLOB_FRAME_SIZE, read, 1, &error), ERR_DAMAGED);
    assert_int_equal(blob_frames_read(frames, 2 * BLOB_FRAME_SIZE, read, BLOB_FRAME_SIZE, &error),
                     ERR_OK);
    assert_memory_equal(read, raw + 2 * BLOB_FRAME_SIZE, BLOB_FRAME_SIZE);
}

static void a_table_that_claims_too_much_is_refused_before_memory_is_taken(void **state) {
    (void)state;
    /* 2^24 and 2^32-1 frames in a file of 25 bytes. */
    const uint32_t counts[] = {BLOB_FRAME_COUNT_MAX, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        uint8_t bytes[25] = {0x5e, 0x2a, 0x4d, 0x18};
        memcpy(bytes + 16, &counts[i], 4);
        const uint32_t magic = BLOB_TABLE_MAGIC;
        memcpy(bytes + 21, &magic, sizeof(magic));
        CLEANUP(cleanup_fd) int fd = file_of(bytes, sizeof(bytes));
        struct blob_frames *frames = NULL;
        assert_int_equal(blob_frames_open(fd, &frames, &error), ERR_DAMAGED);
        assert_non_null(strstr(error.text, "more frames"));
    }
}

static void a_cancelled_compression_stops(void **state) {
    (void)state;
    CLEANUP(cleanup_fd) int in = file_of("abc", 3);
    CLEANUP(cleanup_fd) int out = memfd_create("test", MFD_CLOEXEC);
    const atomic_bool cancel = true;
    struct blob_frames_summary summary;
    assert_int_equal(blob_frames_write(in, out, &cancel, &summary, &error), ERR_CANCELLED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_comes_back_as_it_was),
        cmocka_unit_test(any_zstd_program_inflates_the_whole),
        cmocka_unit_test(the_formats_worked_example_holds),
        cmocka_unit_test(ranges_are_read_across_frames_and_refused_past_the_end),
        cmocka_unit_test(a_flipped_or_missing_byte_anywhere_is_an_error),
        cmocka_unit_test(a_damaged_frame_does_not_spoil_the_others),
        cmocka_unit_test(a_table_that_claims_too_much_is_refused_before_memory_is_taken),
        cmocka_unit_test(a_cancelled_compression_stops),
    };
    return cmocka_run_group_tests_name("blob_frames", tests, NULL, NULL);
}
