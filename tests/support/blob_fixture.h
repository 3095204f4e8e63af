/* A blob store in a scratch directory, and blobs whose bytes are known without keeping them. */
#pragma once

#include <stdbool.h>

#include "cache/blob_store.h"
#include "tests/support/scratch.h"

struct blob_fixture {
    struct scratch scratch;
    struct blob_store *store;
    struct error error;
};

/* For cmocka: *state becomes the fixture. */
int blob_fixture_set_up(void **state);
int blob_fixture_tear_down(void **state);

/* Publishes a blob of this size; the seed makes it differ from others. Text compresses well, noise
 * not at all. */
enum blob_kind { BLOB_TEXT, BLOB_NOISE };
struct digest blob_fixture_put(struct blob_fixture *fixture, enum blob_kind kind, size_t size,
                               unsigned seed);

/* Opens the blob and compares all of it. */
void blob_fixture_assert_stored(struct blob_fixture *fixture, const struct digest *digest,
                                uint64_t size);

/* Whether blobs/<2>/<62><suffix> exists. */
bool blob_fixture_exists(struct blob_fixture *fixture, const struct digest *digest,
                         const char *suffix);
/* Its path, in a static buffer of scratch_path. */
const char *blob_fixture_path(struct blob_fixture *fixture, const struct digest *digest,
                              const char *suffix);

/* How many files there are in tmp/. */
size_t blob_fixture_temp_count(struct blob_fixture *fixture);
