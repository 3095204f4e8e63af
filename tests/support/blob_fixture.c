#include "tests/support/blob_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/support/test.h"

int blob_fixture_set_up(void **state) {
    struct blob_fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    scratch_make(&fixture->scratch);
    assert_int_equal(blob_store_open(fixture->scratch.fd, &fixture->store, &fixture->error),
                     ERR_OK);
    *state = fixture;
    return 0;
}

int blob_fixture_tear_down(void **state) {
    struct blob_fixture *fixture = *state;
    blob_store_free(fixture->store);
    scratch_remove(&fixture->scratch);
    free(fixture);
    return 0;
}

static char *contents_of(enum blob_kind kind, size_t size, unsigned seed) {
    char *bytes = malloc(size + 16);
    assert_non_null(bytes);
    uint64_t state = seed + 1;
    for (size_t i = 0; i < size; i += 8) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (kind == BLOB_TEXT)
            snprintf(bytes + i, 9, "%08x", (unsigned)(state >> 56));
        else
            for (size_t byte = 0; byte < 8; byte++)
                bytes[i + byte] = (char)(state >> 32 >> byte * 3);
    }
    return bytes;
}

struct digest blob_fixture_put(struct blob_fixture *fixture, enum blob_kind kind, size_t size,
                               unsigned seed) {
    CLEANUP(cleanup_free) char *bytes = contents_of(kind, size, seed);
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = NULL;
    struct error *error = &fixture->error;
    struct digest digest = {0};
    assert_int_equal(blob_writer_open(fixture->store, size, &writer, error), ERR_OK);
    assert_int_equal(blob_writer_append(writer, bytes, size, error), ERR_OK);
    assert_int_equal(blob_writer_seal(writer, &digest, error), ERR_OK);
    assert_int_equal(blob_writer_publish(writer, error), ERR_OK);
    return digest;
}

void blob_fixture_assert_stored(struct blob_fixture *fixture, const struct digest *digest,
                                uint64_t size) {
    CLEANUP(cleanup_fd) int fd = -1;
    struct span bytes = {0};
    assert_int_equal(blob_store_open_blob(fixture->store, digest, &fd, &fixture->error), ERR_OK);
    assert_int_equal(fd_map(fd, &bytes, &fixture->error), ERR_OK);
    assert_int_equal(bytes.size, size);
    struct digest actual = hash_sha256_of(bytes);
    assert_true(digest_equal(&actual, digest));
    fd_unmap(bytes);
}

const char *blob_fixture_path(struct blob_fixture *fixture, const struct digest *digest,
                              const char *suffix) {
    char hex[DIGEST_HEX_SIZE], name[128];
    digest_to_hex(digest, hex);
    snprintf(name, sizeof(name), "blobs/%.2s/%s%s", hex, hex + 2, suffix);
    return scratch_path(&fixture->scratch, name);
}

bool blob_fixture_exists(struct blob_fixture *fixture, const struct digest *digest,
                         const char *suffix) {
    return access(blob_fixture_path(fixture, digest, suffix), F_OK) == 0;
}

size_t blob_fixture_temp_count(struct blob_fixture *fixture) {
    DIR *directory = opendir(scratch_path(&fixture->scratch, "tmp"));
    assert_non_null(directory);
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(directory)))
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}
