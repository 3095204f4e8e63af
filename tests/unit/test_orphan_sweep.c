#include "ingest/orphan_sweep.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ingest/purge.h"
#include "tests/support/fake_worker.h"
#include "tests/support/ingest_site.h"
#include "tests/support/test.h"

#define GNU_ID "abcdef0123456789"
#define FILE_OF(words) "id gnu " GNU_ID "\ncontents dwarf,symtab\n" words

static struct error error;
static const atomic_bool never_stopping;
static const struct orphan_sweep_config at_once = {.grace_ms = -1, .lost_keep_ms = 0};
static const struct orphan_sweep_config next_day = {.grace_ms = 0};

static int set_up(void **state) {
    static struct ingest_site site;
    ingest_site_make(&site);
    ingest_site_open(&site);
    *state = &site;
    return 0;
}

static int tear_down(void **state) {
    ingest_site_remove(*state);
    return 0;
}

static struct orphan_sweep_result sweep(struct ingest_site *site,
                                        const struct orphan_sweep_config *config) {
    struct orphan_sweep_result result;
    if (orphan_sweep(site->ingest, site->indexes, config, &never_stopping, &result, &error) !=
        ERR_OK)
        fail_msg("%s", error.text);
    return result;
}

/* What a crash between publishing and the rows leaves. */
static struct digest store(struct ingest_site *site, const char *text) {
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = NULL;
    struct digest digest;
    assert_int_equal(blob_writer_open(site->blobs, strlen(text), &writer, &error), ERR_OK);
    assert_int_equal(blob_writer_append(writer, text, strlen(text), &error), ERR_OK);
    assert_int_equal(blob_writer_seal(writer, &digest, &error), ERR_OK);
    assert_int_equal(blob_writer_publish(writer, &error), ERR_OK);
    return digest;
}

static bool is_stored(struct ingest_site *site, const struct digest *digest) {
    CLEANUP(cleanup_fd) int fd = -1;
    return blob_store_open_blob(site->blobs, digest, &fd, &error) == ERR_OK;
}

static bool is_in_lost(struct ingest_site *site, const struct digest *digest) {
    char name[DIGEST_HEX_SIZE + 8] = "lost/";
    digest_to_hex(digest, name + 5);
    return access(scratch_path(&site->scratch, name), F_OK) == 0;
}

static void stored_files_without_an_object_are_set_aside(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = ingest_site_query(BINARY_ID_GNU, GNU_ID, ARTIFACT_DEBUGINFO, "h");
    assert_int_equal(ingest_site_upload(site, &query, FILE_OF("named"), &error), ERR_OK);
    struct digest named = hash_sha256_of(span_cstr(FILE_OF("named")));
    struct digest orphan = store(site, "orphan");
    struct orphan_sweep_result result = sweep(site, &at_once);
    assert_int_equal(result.files, 2);
    assert_int_equal(result.blobs, 1);
    assert_int_equal(result.blob_bytes, strlen("orphan"));
    assert_int_equal(result.lost, 0);
    assert_true(is_stored(site, &named));
    assert_false(is_stored(site, &orphan));
    assert_true(is_in_lost(site, &orphan));
    assert_int_equal(sweep(site, &at_once).blobs, 0);
}

static void fresh_files_are_left(void **state) {
    struct ingest_site *site = *state;
    struct digest orphan = store(site, "orphan");
    assert_int_equal(sweep(site, &next_day).blobs, 0);
    assert_true(is_stored(site, &orphan));
}

static void what_was_set_aside_is_removed_when_its_time_is_over(void **state) {
    struct ingest_site *site = *state;
    const struct orphan_sweep_config keep_nothing = {.grace_ms = -1, .lost_keep_ms = -1};
    struct digest orphan = store(site, "orphan");
    assert_int_equal(sweep(site, &at_once).blobs, 1);
    struct orphan_sweep_result result = sweep(site, &keep_nothing);
    assert_int_equal(result.lost, 1);
    assert_int_equal(result.lost_bytes, strlen("orphan"));
    assert_false(is_in_lost(site, &orphan));
}

static void nothing_goes_when_more_than_half_would(void **state) {
    struct ingest_site *site = *state;
    struct digest last;
    for (unsigned i = 0; i <= ORPHANS_PLAUSIBLE; i++) {
        char text[16];
        snprintf(text, sizeof(text), "orphan %u", i);
        last = store(site, text);
    }
    struct orphan_sweep_result result = sweep(site, &at_once);
    assert_int_equal(result.refused, ORPHANS_PLAUSIBLE + 1);
    assert_int_equal(result.files, ORPHANS_PLAUSIBLE + 1);
    assert_int_equal(result.blobs, 0);
    assert_true(is_stored(site, &last));
}

static struct digest build_key_of(struct ingest_site *site, const struct upload_query *query) {
    struct generation_row generation = ingest_site_generation(site, &query->id);
    struct digest key = generation.has_serving ? generation.serving : generation.pending;
    ingest_site_await(site, &key);
    return key;
}

/* A crash between the transaction of a deletion and its unlinks. */
static void write_index(struct ingest_site *site, const struct digest *key) {
    CLEANUP(cleanup_index_output) struct index_output *output = NULL;
    assert_int_equal(index_output_open(site->indexes, key, &output, &error), ERR_OK);
    assert_int_equal(index_output_publish(output, &error), ERR_OK);
}

static void indexes_without_a_build_are_removed_and_others_stay(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = ingest_site_query(BINARY_ID_GNU, GNU_ID, ARTIFACT_DEBUGINFO, "h");
    assert_int_equal(ingest_site_upload(site, &query, FILE_OF(""), &error), ERR_OK);
    struct digest key = build_key_of(site, &query);
    struct digest orphan = hash_sha256_of(span_cstr("orphan"));
    write_index(site, &orphan);
    assert_int_equal(sweep(site, &next_day).indexes, 0);
    assert_int_equal(sweep(site, &at_once).indexes, 1);
    CLEANUP(cleanup_index_handle) struct index_handle *handle = NULL;
    assert_int_equal(index_cache_acquire(site->indexes, &key, &handle, &error), ERR_OK);
    struct index_handle *none = NULL;
    assert_int_equal(index_cache_acquire(site->indexes, &orphan, &none, &error), ERR_NOT_FOUND);
}

static void bytes_that_were_set_aside_may_come_again(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = ingest_site_query(BINARY_ID_GNU, GNU_ID, ARTIFACT_DEBUGINFO, "h");
    struct digest digest = store(site, FILE_OF(""));
    assert_int_equal(sweep(site, &at_once).blobs, 1);
    assert_int_equal(ingest_site_upload(site, &query, FILE_OF(""), &error), ERR_OK);
    assert_int_equal(sweep(site, &at_once).blobs, 0);
    assert_true(is_stored(site, &digest));
}

static void a_stop_ends_a_sweep(void **state) {
    struct ingest_site *site = *state;
    const atomic_bool stopping = true;
    struct orphan_sweep_result result;
    struct digest orphan = store(site, "orphan");
    assert_int_equal(
        orphan_sweep(site->ingest, site->indexes, &at_once, &stopping, &result, &error),
        ERR_CANCELLED);
    assert_true(is_stored(site, &orphan));
}

#define SWEEP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argument_count, char **arguments) {
    fake_worker_main(argument_count, arguments);
    const struct CMUnitTest tests[] = {
        SWEEP_TEST(stored_files_without_an_object_are_set_aside),
        SWEEP_TEST(fresh_files_are_left),
        SWEEP_TEST(what_was_set_aside_is_removed_when_its_time_is_over),
        SWEEP_TEST(nothing_goes_when_more_than_half_would),
        SWEEP_TEST(indexes_without_a_build_are_removed_and_others_stay),
        SWEEP_TEST(bytes_that_were_set_aside_may_come_again),
        SWEEP_TEST(a_stop_ends_a_sweep),
    };
    return cmocka_run_group_tests_name("orphan_sweep", tests, NULL, NULL);
}
