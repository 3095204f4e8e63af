#include "ingest/upload.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cache/catalog_objects.h"
#include "tests/support/fake_worker.h"
#include "tests/support/ingest_site.h"
#include "tests/support/test.h"

#define GNU_ID "abcdef0123456789"
#define GNU_FILE "id gnu " GNU_ID "\ncontents dwarf,symtab\n"
#define FILE_ID "00112233445566778899aabbccddeeff"
#define OTHER_FILE_ID "ffeeddccbbaa99887766554433221100"
#define MINUTE_MS ((int64_t)60000)
#define HOUR_MS (60 * MINUTE_MS)

static struct error error;

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

static struct upload_query debuginfo(const char *hash) {
    return ingest_site_query(BINARY_ID_GNU, GNU_ID, ARTIFACT_DEBUGINFO, hash);
}

static void assert_error(enum err err, enum err wanted, const char *text) {
    assert_int_equal(err, wanted);
    assert_string_equal(error.text, text);
}

static void assert_should(struct ingest_site *site, const struct upload_query *query, bool should,
                          enum upload_reason reason) {
    bool answer = !should;
    enum upload_reason why = 0;
    assert_int_equal(
        ingest_should_initiate(site->ingest, &site->context, query, &answer, &why, &error), ERR_OK);
    assert_int_equal(answer, should);
    assert_string_equal(upload_reason_text(why), upload_reason_text(reason));
}

static void assert_uploaded(struct ingest_site *site, const struct upload_query *query,
                            const char *text) {
    if (ingest_site_upload(site, query, text, &error) != ERR_OK)
        fail_msg("%s", error.text);
}

static enum err finish(struct ingest_site *site, const struct upload_query *query,
                       const char *upload_id) {
    return ingest_finish(site->ingest, &site->context, &query->id, query->type, upload_id, &error);
}

static enum err initiate(struct ingest_site *site, const struct upload_query *query) {
    char upload_id[UPLOAD_ID_SIZE];
    return ingest_initiate(site->ingest, &site->context, query, 10, upload_id, &error);
}

static struct upload_stream *open_stream(struct ingest_site *site, const struct upload_query *query,
                                         const char *upload_id) {
    struct upload_stream *stream = NULL;
    if (upload_stream_open(site->ingest, &site->context, &query->id, query->type, upload_id,
                           &stream, &error) != ERR_OK)
        fail_msg("%s", error.text);
    return stream;
}

static enum err try_stream(struct ingest_site *site, const struct upload_query *query,
                           const char *upload_id) {
    struct upload_stream *stream = NULL;
    enum err err = upload_stream_open(site->ingest, &site->context, &query->id, query->type,
                                      upload_id, &stream, &error);
    upload_stream_free(stream);
    return err;
}

struct listing {
    struct ingest_site *site;
    struct binary_id id;
    struct object_row rows[OBJECTS_PER_ID_MAX];
    size_t count;
};

static enum err list(struct catalog_txn *txn, void *argument, struct error *list_error) {
    struct listing *listing = argument;
    return catalog_objects_by_id(txn, listing->site->context.tenant, &listing->id, listing->rows,
                                 &listing->count, list_error);
}

static struct listing objects_of(struct ingest_site *site, enum binary_id_kind kind,
                                 const char *text) {
    struct listing listing = {.site = site};
    listing.id = ingest_site_query(kind, text, ARTIFACT_DEBUGINFO, "").id;
    assert_int_equal(catalog_read(site->catalog, list, &listing, &error), ERR_OK);
    return listing;
}

static unsigned count_files(struct ingest_site *site, const char *folder) {
    DIR *directory = opendir(scratch_path(&site->scratch, folder));
    assert_non_null(directory);
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static struct ingest_stats stats_of(struct ingest_site *site) {
    struct ingest_stats stats;
    ingest_stats_read(site->ingest, &stats);
    return stats;
}

static void an_agent_goes_through_the_whole_protocol(void **state) {
    struct ingest_site *site = *state;
    struct upload_query question = debuginfo("");
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    assert_should(site, &question, true, UPLOAD_REASON_FIRST_TIME_SEEN);
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    assert_should(site, &question, false, UPLOAD_REASON_IN_PROGRESS);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    assert_should(site, &question, false, UPLOAD_REASON_IN_PROGRESS);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
    assert_should(site, &question, false, UPLOAD_REASON_EXISTS);
    struct listing listing = objects_of(site, BINARY_ID_GNU, GNU_ID);
    assert_int_equal(listing.count, 1);
    assert_int_equal(listing.rows[0].size, strlen(GNU_FILE));
    assert_int_equal(listing.rows[0].contents, CONTENTS_DWARF | CONTENTS_SYMTAB);
    assert_int_equal(listing.rows[0].verification, VERIFICATION_NOTE);
    assert_string_equal(listing.rows[0].uploader, "tester");
    assert_int_equal(count_files(site, "tmp"), 0);
    struct ingest_stats stats = stats_of(site);
    assert_int_equal(stats.initiated, 1);
    assert_int_equal(stats.finished, 1);
    assert_int_equal(stats.failed, 0);
    assert_int_equal(stats.streams_open, 0);
    assert_int_equal(stats.bytes_received, strlen(GNU_FILE));
}

static void every_name_inside_finds_the_file(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    assert_uploaded(site, &query, GNU_FILE "id go aa/bb\nid htlhash " FILE_ID "\n");
    assert_int_equal(objects_of(site, BINARY_ID_GNU, GNU_ID).count, 1);
    assert_int_equal(objects_of(site, BINARY_ID_GO, "aa/bb").count, 1);
    struct listing listing = objects_of(site, BINARY_ID_HTLHASH, FILE_ID);
    assert_int_equal(listing.count, 1);
    assert_int_equal(listing.rows[0].verification, VERIFICATION_HASH);
    struct upload_query by_hash =
        ingest_site_query(BINARY_ID_HTLHASH, FILE_ID, ARTIFACT_DEBUGINFO, "");
    assert_should(site, &by_hash, false, UPLOAD_REASON_EXISTS);
    struct generation_row generation = ingest_site_generation(site, &by_hash.id);
    assert_true(generation.has_pending || generation.has_serving);
}

static void a_file_id_of_an_extracted_file_is_kept_unproven(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query =
        ingest_site_query(BINARY_ID_HTLHASH, FILE_ID, ARTIFACT_DEBUGINFO, FILE_ID);
    assert_uploaded(site, &query, "id htlhash " OTHER_FILE_ID "\ncontents dwarf\n");
    struct listing listing = objects_of(site, BINARY_ID_HTLHASH, FILE_ID);
    assert_int_equal(listing.count, 1);
    assert_int_equal(listing.rows[0].verification, VERIFICATION_NONE);
    assert_int_equal(objects_of(site, BINARY_ID_HTLHASH, OTHER_FILE_ID).count, 1);
}

#define RACER_COUNT 16

struct race {
    struct ingest_site *site;
    pthread_barrier_t start;
    _Atomic unsigned won;
    _Atomic unsigned told_in_progress;
};

static void *race(void *argument) {
    struct race *shared = argument;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    struct error own;
    pthread_barrier_wait(&shared->start);
    enum err err =
        ingest_initiate(shared->site->ingest, &shared->site->context, &query, 10, upload_id, &own);
    if (err == ERR_OK)
        shared->won++;
    else if (err == ERR_STATE && strstr(own.text, upload_reason_text(UPLOAD_REASON_IN_PROGRESS)))
        shared->told_in_progress++;
    return NULL;
}

static void of_many_concurrent_initiators_one_wins(void **state) {
    struct race shared = {.site = *state};
    pthread_t threads[RACER_COUNT];
    pthread_barrier_init(&shared.start, NULL, RACER_COUNT);
    for (int i = 0; i < RACER_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, &shared), 0);
    for (int i = 0; i < RACER_COUNT; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&shared.start);
    assert_int_equal(shared.won, 1);
    assert_int_equal(shared.told_in_progress, RACER_COUNT - 1);
}

static void what_parca_refuses_to_initiate_is_refused_in_its_words(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo("");
    char upload_id[UPLOAD_ID_SIZE];
    assert_error(initiate(site, &query), ERR_INVALID, "hash must be set");
    query = debuginfo(FILE_ID);
    assert_error(ingest_initiate(site->ingest, &site->context, &query, 0, upload_id, &error),
                 ERR_INVALID, "size must be set");
    assert_error(
        ingest_initiate(site->ingest, &site->context, &query, (uint64_t)5 << 30, upload_id, &error),
        ERR_INVALID, "upload size 5368709120 exceeds maximum allowed size 4294967296");
    assert_int_equal(initiate(site, &query), ERR_OK);
    assert_error(initiate(site, &query), ERR_STATE,
                 "upload should not have been attempted to be initiated, a previous check should "
                 "have failed with: A previous upload is still in-progress and not stale yet (only "
                 "stale uploads can be retried).");
}

static void a_stale_upload_gives_way_to_the_next(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char stale_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), stale_id);
    struct upload_stream *stale = open_stream(site, &query, stale_id);
    assert_int_equal(upload_stream_append(stale, GNU_FILE, 5, &error), ERR_OK);
    ingest_site_set_clock(1800000000000 + 17 * MINUTE_MS + 1);
    assert_should(site, &query, true, UPLOAD_REASON_STALE);
    assert_int_equal(upload_stream_append(stale, GNU_FILE, 5, &error), ERR_STATE);
    assert_uploaded(site, &query, GNU_FILE);
    assert_int_equal(stats_of(site).stale, 1);
    assert_int_equal(stats_of(site).replaced, 0);
    upload_stream_free(stale);
    assert_error(finish(site, &query, stale_id), ERR_INVALID, "upload id mismatch");
    assert_error(try_stream(site, &query, stale_id), ERR_INVALID,
                 "the upload ID does not match the one returned by the InitiateUpload call");
}

static void a_stream_needs_the_upload_that_was_initiated(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    assert_int_equal(try_stream(site, &query, "no-such-upload"), ERR_STATE);
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, 10, upload_id);
    assert_error(try_stream(site, &query, "no-such-upload"), ERR_INVALID,
                 "the upload ID does not match the one returned by the InitiateUpload call");
    query.type = ARTIFACT_EXECUTABLE;
    assert_int_equal(try_stream(site, &query, upload_id), ERR_STATE);
}

struct loss {
    unsigned count;
    struct error why;
};

static void note_loss(void *argument, const struct error *why) {
    struct loss *loss = argument;
    loss->count++;
    loss->why = *why;
}

static void a_newer_stream_takes_over_from_one_whose_sender_may_be_gone(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    struct loss losses[2] = {{.count = 0}, {.count = 0}};
    uint64_t size = 0;
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    struct upload_stream *first = open_stream(site, &query, upload_id);
    upload_stream_watch(first, note_loss, &losses[0]);
    assert_int_equal(upload_stream_append(first, GNU_FILE, strlen(GNU_FILE), &error), ERR_OK);
    struct upload_stream *second = open_stream(site, &query, upload_id);
    assert_int_equal(losses[0].count, 1);
    assert_int_equal(losses[0].why.code, ERR_ABORTED);
    struct upload_stream *third = open_stream(site, &query, upload_id);
    upload_stream_watch(second, note_loss, &losses[1]);
    assert_int_equal(losses[1].count, 1);
    assert_int_equal(upload_stream_append(second, GNU_FILE, 1, &error), ERR_ABORTED);
    assert_int_equal(upload_stream_complete(first, &size, &error), ERR_ABORTED);
    assert_int_equal(finish(site, &query, upload_id), ERR_STATE);
    upload_stream_free(first);
    upload_stream_abandon(second);
    upload_stream_free(second);
    assert_int_equal(count_files(site, "tmp"), 1);
    assert_int_equal(upload_stream_append(third, GNU_FILE, strlen(GNU_FILE), &error), ERR_OK);
    assert_int_equal(upload_stream_complete(third, &size, &error), ERR_OK);
    upload_stream_free(third);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
    assert_int_equal(losses[0].count + losses[1].count, 2);
}

static void an_upload_that_is_being_received_cannot_be_finished(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    struct upload_stream *first = open_stream(site, &query, upload_id);
    assert_error(finish(site, &query, upload_id), ERR_STATE,
                 "the bytes of this upload are still being received");
    upload_stream_free(first);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
}

static void more_bytes_than_declared_are_refused(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, 10, upload_id);
    struct upload_stream *stream = open_stream(site, &query, upload_id);
    assert_int_equal(upload_stream_append(stream, GNU_FILE, 9, &error), ERR_OK);
    assert_error(upload_stream_append(stream, GNU_FILE, 2, &error), ERR_INVALID,
                 "more bytes came than the declared 10");
    upload_stream_free(stream);
    assert_int_equal(count_files(site, "tmp"), 0);
}

static void an_upload_that_broke_off_may_be_sent_again(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    uint64_t size = 0;
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    struct upload_stream *cancelled = open_stream(site, &query, upload_id);
    assert_int_equal(upload_stream_append(cancelled, GNU_FILE, 5, &error), ERR_OK);
    upload_stream_free(cancelled);
    struct upload_stream *short_one = open_stream(site, &query, upload_id);
    assert_int_equal(upload_stream_append(short_one, GNU_FILE, 5, &error), ERR_OK);
    assert_error(upload_stream_complete(short_one, &size, &error), ERR_INVALID,
                 "the upload ended after 5 bytes, its declared size is 46");
    upload_stream_free(short_one);
    assert_int_equal(count_files(site, "tmp"), 0);
    assert_int_equal(finish(site, &query, upload_id), ERR_STATE);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    /* The answer got lost, say, and the sender begins once more. */
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
}

static void finishing_needs_an_upload_and_its_bytes(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    assert_error(finish(site, &query, "no-such-upload"), ERR_NOT_FOUND,
                 "no debuginfo upload metadata found for build id");
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    assert_error(finish(site, &query, "no-such-upload"), ERR_INVALID, "upload id mismatch");
    assert_error(finish(site, &query, upload_id), ERR_STATE,
                 "no bytes were received for this upload: send them before finishing it");
}

static void finishing_twice_is_finishing_once(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
    query.force = true;
    assert_int_equal(initiate(site, &query), ERR_OK);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
    assert_int_equal(objects_of(site, BINARY_ID_GNU, GNU_ID).count, 1);
    assert_int_equal(try_stream(site, &query, upload_id), ERR_INVALID);
}

static void the_wrong_build_id_does_not_take_the_bytes_away(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    struct upload_query other =
        ingest_site_query(BINARY_ID_GNU, "abcd", ARTIFACT_DEBUGINFO, FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    assert_int_equal(finish(site, &other, upload_id), ERR_NOT_FOUND);
    assert_int_equal(initiate(site, &other), ERR_OK);
    assert_error(finish(site, &other, upload_id), ERR_INVALID, "upload id mismatch");
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
}

static void another_build_id_inside_fails_the_upload(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    const char *why = "build ID mismatch: the file says abcd, the upload claims " GNU_ID;
    char upload_id[UPLOAD_ID_SIZE];
    const char *file = "id gnu abcd\ncontents dwarf\n";
    ingest_site_initiate(site, &query, strlen(file), upload_id);
    ingest_site_send(site, &query, upload_id, file);
    assert_error(finish(site, &query, upload_id), ERR_INVALID, why);
    assert_error(finish(site, &query, upload_id), ERR_INVALID, why);
    assert_int_equal(objects_of(site, BINARY_ID_GNU, GNU_ID).count, 0);
    assert_int_equal(objects_of(site, BINARY_ID_GNU, "abcd").count, 0);
    assert_int_equal(count_files(site, "tmp"), 0);
    struct upload_query question = debuginfo("");
    assert_should(site, &question, true, UPLOAD_REASON_INVALID);
    struct ingest_stats stats = stats_of(site);
    assert_int_equal(stats.failed, 1);
}

static void a_failed_upload_may_be_retried_three_times_a_day(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    for (int i = 0; i < 4; i++)
        assert_error(ingest_site_upload(site, &query, "identify malformed", &error), ERR_INVALID,
                     "malformed: the input says malformed");
    assert_error(initiate(site, &query), ERR_EXISTS, upload_reason_text(UPLOAD_REASON_EQUAL));
    struct upload_query other = debuginfo(OTHER_FILE_ID);
    assert_should(site, &other, true, UPLOAD_REASON_NOT_EQUAL);
    ingest_site_set_clock(1800000000000 + 24 * HOUR_MS + 1);
    assert_uploaded(site, &query, GNU_FILE);
}

static void a_file_that_kills_the_parser_fails_the_upload(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    assert_error(ingest_site_upload(site, &query, "identify crash", &error), ERR_INVALID,
                 "parser_killed: killed by SIGSEGV");
    site->worker_config.deadline_ms = 50;
    ingest_site_configure_workers(site);
    assert_error(ingest_site_upload(site, &query, "identify hang", &error), ERR_INVALID,
                 "parser_killed: over the deadline of 50 ms");
}

static void our_own_trouble_leaves_the_upload_to_be_finished_later(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    site->worker_config.program = "/nonexistent/worker";
    ingest_site_configure_workers(site);
    assert_int_equal(finish(site, &query, upload_id), ERR_UNAVAILABLE);
    assert_should(site, &query, false, UPLOAD_REASON_IN_PROGRESS);
    site->worker_config.program = fake_worker_program();
    ingest_site_configure_workers(site);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
}

static void a_worker_without_memory_is_no_fault_of_the_file(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    assert_int_equal(ingest_site_upload(site, &query, GNU_FILE "identify failed\n", &error),
                     ERR_UNAVAILABLE);
    assert_should(site, &query, false, UPLOAD_REASON_IN_PROGRESS);
}

static void a_poor_object_is_asked_for_again_and_replaced(void **state) {
    struct ingest_site *site = *state;
    struct upload_query question = debuginfo("");
    struct upload_query query = debuginfo(FILE_ID);
    assert_uploaded(site, &query, "id gnu " GNU_ID "\ncontents dynsym\n");
    assert_should(site, &question, true, UPLOAD_REASON_INVALID);
    assert_should(site, &question, false, UPLOAD_REASON_EXISTS);
    assert_error(initiate(site, &query), ERR_EXISTS, upload_reason_text(UPLOAD_REASON_EQUAL));
    ingest_site_set_clock(1800000000000 + 60 * MINUTE_MS);
    assert_should(site, &question, true, UPLOAD_REASON_INVALID);
    assert_should(site, &question, false, UPLOAD_REASON_EXISTS);
    struct upload_query better = debuginfo(OTHER_FILE_ID);
    assert_uploaded(site, &better, GNU_FILE);
    assert_int_equal(objects_of(site, BINARY_ID_GNU, GNU_ID).count, 2);
    ingest_site_set_clock(1800000000000 + 120 * MINUTE_MS);
    assert_should(site, &question, false, UPLOAD_REASON_EXISTS);
}

static struct build_row await_pending(struct ingest_site *site, const struct upload_query *query) {
    struct generation_row generation = ingest_site_generation(site, &query->id);
    assert_true(generation.has_pending || generation.has_serving);
    return ingest_site_await(site,
                             generation.has_pending ? &generation.pending : &generation.serving);
}

static void an_object_that_cannot_be_built_is_answered_like_an_invalid_one(void **state) {
    struct ingest_site *site = *state;
    struct upload_query question = debuginfo("");
    struct upload_query query = debuginfo(FILE_ID);
    struct upload_query other = debuginfo(OTHER_FILE_ID);
    assert_uploaded(site, &query, GNU_FILE "build malformed\n");
    assert_int_equal(await_pending(site, &query).state, BUILD_MALFORMED);
    assert_should(site, &question, true, UPLOAD_REASON_INVALID);
    assert_should(site, &question, true, UPLOAD_REASON_INVALID);
    assert_should(site, &query, false, UPLOAD_REASON_EQUAL);
    assert_should(site, &other, true, UPLOAD_REASON_NOT_EQUAL);
    assert_error(initiate(site, &query), ERR_EXISTS, upload_reason_text(UPLOAD_REASON_EQUAL));
    assert_uploaded(site, &other, GNU_FILE);
    assert_int_equal(await_pending(site, &other).state, BUILD_OK);
    assert_should(site, &question, false, UPLOAD_REASON_EXISTS);
}

static void an_object_whose_file_is_lost_is_asked_for_again(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    assert_uploaded(site, &query, GNU_FILE);
    struct digest blob = objects_of(site, BINARY_ID_GNU, GNU_ID).rows[0].digest;
    await_pending(site, &query);
    struct digest key = ingest_site_generation(site, &query.id).serving;
    assert_should(site, &query, false, UPLOAD_REASON_EXISTS);
    assert_int_equal(blob_store_remove(site->blobs, &blob, &error), ERR_OK);
    ingest_site_empty_index(site);
    assert_int_equal(build_queue_rebuild(site->queue, site->context.tenant, &key, &error), ERR_OK);
    ingest_site_await(site, &key);
    assert_int_equal(objects_of(site, BINARY_ID_GNU, GNU_ID).count, 0);
    assert_should(site, &query, true, UPLOAD_REASON_PURGED);
    assert_uploaded(site, &query, GNU_FILE);
    assert_int_equal(await_pending(site, &query).state, BUILD_OK);
    assert_should(site, &query, false, UPLOAD_REASON_EXISTS);
}

static void the_hash_of_a_whole_file_counts_as_held_under_its_other_names(void **state) {
    struct ingest_site *site = *state;
    struct upload_query by_hash =
        ingest_site_query(BINARY_ID_HTLHASH, FILE_ID, ARTIFACT_DEBUGINFO, "another hash");
    assert_uploaded(site, &by_hash, "id gnu " GNU_ID "\nid htlhash " FILE_ID "\ncontents dynsym\n");
    struct upload_query by_note = debuginfo(FILE_ID);
    assert_error(initiate(site, &by_note), ERR_EXISTS, upload_reason_text(UPLOAD_REASON_EQUAL));
}

static void a_forced_upload_takes_over(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char first_id[UPLOAD_ID_SIZE];
    char second_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), first_id);
    struct upload_stream *first = open_stream(site, &query, first_id);
    query.force = true;
    assert_should(site, &query, true, UPLOAD_REASON_IN_PROGRESS_BUT_FORCED);
    ingest_site_initiate(site, &query, strlen(GNU_FILE), second_id);
    assert_int_equal(stats_of(site).replaced, 1);
    assert_int_equal(upload_stream_append(first, GNU_FILE, 5, &error), ERR_STATE);
    upload_stream_free(first);
    ingest_site_send(site, &query, second_id, GNU_FILE);
    assert_error(finish(site, &query, first_id), ERR_INVALID, "upload id mismatch");
    assert_int_equal(finish(site, &query, second_id), ERR_OK);
}

static void bytes_that_wait_go_when_another_upload_takes_over(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char first_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), first_id);
    ingest_site_send(site, &query, first_id, GNU_FILE);
    assert_int_equal(count_files(site, "tmp"), 1);
    query.force = true;
    assert_int_equal(initiate(site, &query), ERR_OK);
    assert_int_equal(count_files(site, "tmp"), 0);
}

static void a_restart_interrupts_what_was_not_finished(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    struct upload_query done = ingest_site_query(BINARY_ID_GNU, "abcd", ARTIFACT_DEBUGINFO, "x");
    char upload_id[UPLOAD_ID_SIZE];
    assert_uploaded(site, &done, "id gnu abcd\ncontents dwarf\n");
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    ingest_site_close(site);
    ingest_site_open(site);
    assert_int_equal(stats_of(site).interrupted, 1);
    assert_int_equal(count_files(site, "tmp"), 0);
    assert_int_equal(finish(site, &query, upload_id), ERR_STATE);
    assert_should(site, &query, true, UPLOAD_REASON_STALE);
    assert_should(site, &done, false, UPLOAD_REASON_EXISTS);
    assert_uploaded(site, &query, GNU_FILE);
}

static void sources_are_stored_unparsed(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = ingest_site_query(BINARY_ID_GNU, GNU_ID, ARTIFACT_SOURCES, "x");
    assert_uploaded(site, &query, "identify crash\n");
    assert_should(site, &query, false, UPLOAD_REASON_EXISTS);
    assert_int_equal(objects_of(site, BINARY_ID_GNU, GNU_ID).count, 1);
    struct generation_row generation = ingest_site_generation(site, &query.id);
    assert_false(generation.has_pending || generation.has_serving);
    struct upload_query binary = debuginfo("");
    assert_should(site, &binary, true, UPLOAD_REASON_FIRST_TIME_SEEN);
}

static void places_are_bounded_and_stale_bytes_make_room(void **state) {
    struct ingest_site *site = *state;
    ingest_site_close(site);
    site->ingest_config.limits.upload_count_max = 1;
    ingest_site_open(site);
    struct upload_query query = debuginfo(FILE_ID);
    struct upload_query other = ingest_site_query(BINARY_ID_GNU, "abcd", ARTIFACT_DEBUGINFO, "x");
    char upload_id[UPLOAD_ID_SIZE];
    char other_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    ingest_site_initiate(site, &other, strlen(GNU_FILE), other_id);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    assert_error(try_stream(site, &other, other_id), ERR_EXHAUSTED,
                 "all places for uploads are taken");
    other.force = true;
    assert_int_equal(initiate(site, &other), ERR_EXHAUSTED);
    ingest_site_set_clock(1800000000000 + 17 * MINUTE_MS + 1);
    assert_int_equal(initiate(site, &other), ERR_OK);
    assert_int_equal(count_files(site, "tmp"), 0);
}

static enum err open_once(struct ingest_site *site, const char *upload_id,
                          struct upload_stream **ret_stream) {
    struct upload_row row;
    enum err err = ingest_upload_get(site->ingest, &site->context, upload_id, &row, &error);
    if (err == ERR_OK)
        err = upload_stream_open_once(site->ingest, &site->context, &row, ret_stream, &error);
    return err;
}

static enum err send_once(struct ingest_site *site, const char *upload_id, const char *text) {
    CLEANUP(cleanup_upload_stream) struct upload_stream *stream = NULL;
    uint64_t size = 0;
    enum err err = open_once(site, upload_id, &stream);
    if (err == ERR_OK)
        err = upload_stream_append(stream, text, strlen(text), &error);
    if (err == ERR_OK)
        err = upload_stream_complete(stream, &size, &error);
    return err;
}

static void a_right_to_send_once_is_used_by_what_came_whole(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    assert_int_equal(send_once(site, upload_id, "too short"), ERR_INVALID);
    CLEANUP(cleanup_upload_stream) struct upload_stream *stream = NULL;
    assert_int_equal(open_once(site, upload_id, &stream), ERR_OK);
    assert_int_equal(send_once(site, upload_id, GNU_FILE), ERR_STATE);
    upload_stream_free(TAKE(stream));
    assert_int_equal(send_once(site, upload_id, GNU_FILE), ERR_OK);
    assert_int_equal(send_once(site, upload_id, GNU_FILE), ERR_STATE);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
    assert_int_equal(send_once(site, upload_id, GNU_FILE), ERR_STATE);
    assert_int_equal(send_once(site, "no such upload", GNU_FILE), ERR_NOT_FOUND);
}

static void a_right_to_send_once_ends_with_its_upload(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    char other_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    query.force = true;
    ingest_site_initiate(site, &query, strlen(GNU_FILE), other_id);
    assert_int_equal(send_once(site, upload_id, GNU_FILE), ERR_STATE);
    ingest_site_set_clock(1800000000000 + 17 * MINUTE_MS + 1);
    assert_int_equal(send_once(site, other_id, GNU_FILE), ERR_STATE);
}

static void a_full_table_answers_in_progress(void **state) {
    struct ingest_site *site = *state;
    ingest_site_close(site);
    site->ingest_config.limits.upload_count_max = 1;
    ingest_site_open(site);
    struct upload_query query = debuginfo(FILE_ID);
    struct upload_query other = ingest_site_query(BINARY_ID_GNU, "abcd", ARTIFACT_DEBUGINFO, "");
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    assert_should(site, &other, true, UPLOAD_REASON_FIRST_TIME_SEEN);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    assert_should(site, &other, false, UPLOAD_REASON_IN_PROGRESS);
    other.force = true;
    assert_should(site, &other, false, UPLOAD_REASON_IN_PROGRESS);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
    assert_should(site, &query, false, UPLOAD_REASON_EXISTS);
    assert_should(site, &other, true, UPLOAD_REASON_FIRST_TIME_SEEN);
}

static void another_tenant_sees_nothing(void **state) {
    struct ingest_site *site = *state;
    struct upload_query query = debuginfo(FILE_ID);
    char upload_id[UPLOAD_ID_SIZE];
    ingest_site_add_tenant(site, "other");
    ingest_site_initiate(site, &query, strlen(GNU_FILE), upload_id);
    snprintf(site->context.tenant, sizeof(site->context.tenant), "other");
    assert_should(site, &query, true, UPLOAD_REASON_FIRST_TIME_SEEN);
    assert_int_equal(try_stream(site, &query, upload_id), ERR_STATE);
    assert_int_equal(finish(site, &query, upload_id), ERR_NOT_FOUND);
    snprintf(site->context.tenant, sizeof(site->context.tenant), TENANT_DEFAULT);
    ingest_site_send(site, &query, upload_id, GNU_FILE);
    assert_int_equal(finish(site, &query, upload_id), ERR_OK);
    snprintf(site->context.tenant, sizeof(site->context.tenant), "other");
    assert_int_equal(objects_of(site, BINARY_ID_GNU, GNU_ID).count, 0);
    assert_uploaded(site, &query, GNU_FILE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argument_count, char **arguments) {
    fake_worker_main(argument_count, arguments);
    const struct CMUnitTest tests[] = {
        TEST(an_agent_goes_through_the_whole_protocol),
        TEST(every_name_inside_finds_the_file),
        TEST(a_file_id_of_an_extracted_file_is_kept_unproven),
        TEST(of_many_concurrent_initiators_one_wins),
        TEST(what_parca_refuses_to_initiate_is_refused_in_its_words),
        TEST(a_stale_upload_gives_way_to_the_next),
        TEST(a_stream_needs_the_upload_that_was_initiated),
        TEST(a_newer_stream_takes_over_from_one_whose_sender_may_be_gone),
        TEST(an_upload_that_is_being_received_cannot_be_finished),
        TEST(more_bytes_than_declared_are_refused),
        TEST(an_upload_that_broke_off_may_be_sent_again),
        TEST(finishing_needs_an_upload_and_its_bytes),
        TEST(finishing_twice_is_finishing_once),
        TEST(the_wrong_build_id_does_not_take_the_bytes_away),
        TEST(another_build_id_inside_fails_the_upload),
        TEST(a_failed_upload_may_be_retried_three_times_a_day),
        TEST(a_file_that_kills_the_parser_fails_the_upload),
        TEST(our_own_trouble_leaves_the_upload_to_be_finished_later),
        TEST(a_worker_without_memory_is_no_fault_of_the_file),
        TEST(a_poor_object_is_asked_for_again_and_replaced),
        TEST(an_object_that_cannot_be_built_is_answered_like_an_invalid_one),
        TEST(an_object_whose_file_is_lost_is_asked_for_again),
        TEST(the_hash_of_a_whole_file_counts_as_held_under_its_other_names),
        TEST(a_forced_upload_takes_over),
        TEST(bytes_that_wait_go_when_another_upload_takes_over),
        TEST(a_restart_interrupts_what_was_not_finished),
        TEST(sources_are_stored_unparsed),
        TEST(places_are_bounded_and_stale_bytes_make_room),
        TEST(a_right_to_send_once_is_used_by_what_came_whole),
        TEST(a_right_to_send_once_ends_with_its_upload),
        TEST(a_full_table_answers_in_progress),
        TEST(another_tenant_sees_nothing),
    };
    return cmocka_run_group_tests_name("upload", tests, NULL, NULL);
}
