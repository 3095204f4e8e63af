#include "ingest/build_queue.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "symbolizer/protocol/job.h"
#include "tests/support/fake_worker.h"
#include "tests/support/ingest_site.h"
#include "tests/support/test.h"

#define ID "abcdef01"

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

static void reopen(struct ingest_site *site) {
    ingest_site_close(site);
    ingest_site_open(site);
}

static struct upload_query query_of(const char *id, enum artifact_type type) {
    struct upload_query query = ingest_site_query(BINARY_ID_GNU, id, type, "hash");
    query.force = true;
    return query;
}

/* Uploads a file of this id that says `text` to the worker; the key of the build it brings. */
static struct digest upload_typed(struct ingest_site *site, const char *id, enum artifact_type type,
                                  const char *text) {
    char file[1024];
    snprintf(file, sizeof(file), "id gnu %s\n%s", id, text);
    struct upload_query query = query_of(id, type);
    if (ingest_site_upload(site, &query, file, &error) != ERR_OK)
        fail_msg("%s", error.text);
    struct generation_row generation = ingest_site_generation(site, &query.id);
    return generation.has_pending ? generation.pending : generation.serving;
}

static struct digest upload(struct ingest_site *site, const char *id, const char *text) {
    return upload_typed(site, id, ARTIFACT_DEBUGINFO, text);
}

static struct generation_row generation_of(struct ingest_site *site, const char *id) {
    struct upload_query query = query_of(id, ARTIFACT_DEBUGINFO);
    return ingest_site_generation(site, &query.id);
}

/* How often the operation appears in what workers have logged. */
static unsigned count_logged(struct ingest_site *site, const char *operation) {
    char line[64];
    unsigned count = 0;
    FILE *file = fopen(scratch_path(&site->scratch, "log"), "r");
    while (file && fgets(line, sizeof(line), file))
        count += strncmp(line, operation, strlen(operation)) == 0;
    if (file)
        fclose(file);
    return count;
}

/* "log PATH" and more for the worker. */
static const char *logged(struct ingest_site *site, const char *more) {
    static char text[512];
    snprintf(text, sizeof(text), "log %s\n%s", scratch_path(&site->scratch, "log"), more);
    return text;
}

static void make_gate(struct ingest_site *site) {
    assert_int_equal(mkfifo(scratch_path(&site->scratch, "gate"), 0600), 0);
}

/* The worker then waits at the gate until it is opened. */
static const char *gated(struct ingest_site *site, const char *more) {
    static char text[512];
    snprintf(text, sizeof(text), "await %s\n%s", scratch_path(&site->scratch, "gate"), more);
    return text;
}

/* Blocks until a worker waits there. */
static void open_gate(struct ingest_site *site) {
    int fd = open(scratch_path(&site->scratch, "gate"), O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    fd_close(fd);
}

static void assert_has_index(struct ingest_site *site, const struct digest *key, bool has) {
    CLEANUP(cleanup_index_handle) struct index_handle *handle = NULL;
    enum err err = index_cache_acquire(site->indexes, key, &handle, &error);
    assert_int_equal(err, has ? ERR_OK : ERR_NOT_FOUND);
}

static void await_wall_clock(int64_t wall_ms) {
    const struct timespec moment = {.tv_nsec = 1000000};
    while (clock_wall_ms() < wall_ms)
        nanosleep(&moment, NULL);
}

static void an_upload_brings_an_index_that_answers(void **state) {
    struct ingest_site *site = *state;
    struct digest key = upload(site, ID, "contents dwarf\n");
    struct build_row row = ingest_site_await(site, &key);
    assert_int_equal(row.state, BUILD_OK);
    assert_string_equal(row.reason, "");
    assert_true(row.index_size > 0);
    assert_int_equal(row.expires_ms, 0);
    assert_has_index(site, &key, true);
    struct generation_row generation = generation_of(site, ID);
    assert_int_equal(generation.number, 1);
    assert_true(generation.has_serving && !generation.has_pending);
    assert_true(digest_equal(&generation.serving, &key));
    struct build_queue_stats stats;
    build_queue_stats_read(site->queue, &stats);
    assert_int_equal(stats.ok, 1);
    assert_int_equal(stats.queued + stats.running, 0);
}

static void the_same_file_is_built_once(void **state) {
    struct ingest_site *site = *state;
    const char *text = logged(site, "contents dwarf\n");
    struct digest key = upload(site, ID, text);
    ingest_site_await(site, &key);
    struct digest again = upload(site, ID, text);
    assert_true(digest_equal(&key, &again));
    ingest_site_await(site, &key);
    assert_int_equal(count_logged(site, "build"), 1);
    assert_int_equal(generation_of(site, ID).number, 1);
}

static void two_tenants_with_the_same_file_share_the_index(void **state) {
    struct ingest_site *site = *state;
    const char *text = logged(site, "contents dwarf\n");
    struct digest key = upload(site, ID, text);
    ingest_site_add_tenant(site, "other");
    snprintf(site->context.tenant, sizeof(site->context.tenant), "other");
    struct digest others = upload(site, ID, text);
    assert_true(digest_equal(&key, &others));
    assert_int_equal(ingest_site_await(site, &key).state, BUILD_OK);
    snprintf(site->context.tenant, sizeof(site->context.tenant), TENANT_DEFAULT);
    assert_int_equal(ingest_site_await(site, &key).state, BUILD_OK);
    assert_int_equal(count_logged(site, "build"), 1);
}

static void what_answered_before_answers_until_the_better_one_is_built(void **state) {
    struct ingest_site *site = *state;
    struct digest poor = upload(site, ID, "contents dynsym\n");
    ingest_site_await(site, &poor);
    make_gate(site);
    struct digest good = upload(site, ID, gated(site, "contents dwarf,dynsym\n"));
    struct generation_row generation = generation_of(site, ID);
    assert_true(generation.has_serving && generation.has_pending);
    assert_true(digest_equal(&generation.serving, &poor));
    assert_true(digest_equal(&generation.pending, &good));
    assert_int_equal(generation.number, 1);
    open_gate(site);
    ingest_site_await(site, &good);
    generation = generation_of(site, ID);
    assert_true(digest_equal(&generation.serving, &good));
    assert_false(generation.has_pending);
    assert_int_equal(generation.number, 2);
}

static void a_poorer_file_changes_nothing(void **state) {
    struct ingest_site *site = *state;
    struct digest good = upload(site, ID, "contents dwarf,dynsym\n");
    ingest_site_await(site, &good);
    struct digest still = upload(site, ID, "contents dynsym\nanother\n");
    assert_true(digest_equal(&good, &still));
    assert_int_equal(generation_of(site, ID).number, 1);
}

struct inputs_of_build {
    const struct digest *key;
    struct build_input inputs[BUILD_INPUT_MAX];
    size_t count;
};

static enum err read_inputs(struct catalog_txn *txn, void *argument, struct error *read_error) {
    struct inputs_of_build *wanted = argument;
    return catalog_build_inputs(txn, TENANT_DEFAULT, wanted->key, wanted->inputs, &wanted->count,
                                read_error);
}

static void an_executable_and_its_debug_file_are_built_together(void **state) {
    struct ingest_site *site = *state;
    struct digest alone = upload_typed(site, ID, ARTIFACT_EXECUTABLE, "contents pclntab,dynsym\n");
    ingest_site_await(site, &alone);
    struct digest both = upload(site, ID, "contents dwarf,symtab\n");
    assert_int_equal(ingest_site_await(site, &both).state, BUILD_OK);
    struct inputs_of_build wanted = {.key = &both};
    assert_int_equal(catalog_read(site->catalog, read_inputs, &wanted, &error), ERR_OK);
    assert_int_equal(wanted.count, 2);
    assert_int_equal(wanted.inputs[0].role, JOB_ROLE_MAIN);
    assert_int_equal(wanted.inputs[1].role, JOB_ROLE_DEBUG);
}

static void a_debug_file_answers_under_the_file_hash_of_its_executable(void **state) {
    struct ingest_site *site = *state;
    const char *hash = "00112233445566778899aabbccddeeff";
    struct upload_query by_hash =
        ingest_site_query(BINARY_ID_HTLHASH, hash, ARTIFACT_EXECUTABLE, "");
    char executable[128];
    snprintf(executable, sizeof(executable), "id htlhash %s\ncontents dynsym\n", hash);
    upload_typed(site, ID, ARTIFACT_EXECUTABLE, executable);
    struct digest both = upload(site, ID, "contents dwarf\n");
    ingest_site_await(site, &both);
    struct generation_row generation = ingest_site_generation(site, &by_hash.id);
    assert_true(generation.has_serving && digest_equal(&generation.serving, &both));
}

static void a_good_file_found_by_its_hash_is_not_mixed_with_others(void **state) {
    struct ingest_site *site = *state;
    const char *hash = "00112233445566778899aabbccddeeff";
    struct upload_query by_hash =
        ingest_site_query(BINARY_ID_HTLHASH, hash, ARTIFACT_EXECUTABLE, "");
    char good[128];
    snprintf(good, sizeof(good), "id htlhash %s\ncontents dwarf\n", hash);
    struct digest alone = upload(site, ID, good);
    struct digest better = upload(site, ID, "contents dwarf,symtab\n");
    ingest_site_await(site, &alone);
    ingest_site_await(site, &better);
    struct generation_row generation = ingest_site_generation(site, &by_hash.id);
    assert_true(digest_equal(&generation.serving, &alone));
    generation = generation_of(site, ID);
    assert_true(digest_equal(&generation.serving, &better));
}

static void assert_ends(struct ingest_site *site, const char *id, const char *text,
                        enum build_state wanted, const char *reason) {
    struct digest key = upload(site, id, text);
    struct build_row row = ingest_site_await(site, &key);
    assert_int_equal(row.state, wanted);
    assert_string_equal(row.reason, reason);
    assert_true(row.expires_ms >= row.finished_ms + 3600000 && row.finished_ms > 0);
    assert_has_index(site, &key, false);
    struct generation_row generation = generation_of(site, id);
    assert_true(generation.has_pending && !generation.has_serving);
}

static void a_failed_build_is_kept_with_its_reason_and_an_expiry(void **state) {
    struct ingest_site *site = *state;
    assert_ends(site, "aa01", "build malformed\n", BUILD_MALFORMED, "the input says malformed");
    assert_ends(site, "aa02", "build unsupported\n", BUILD_UNSUPPORTED,
                "the input says unsupported");
    assert_ends(site, "aa03", "build limit\n", BUILD_KILLED, "over a limit: the input says limit");
    assert_ends(site, "aa04", "build crash\n", BUILD_KILLED, "killed by SIGSEGV");
    struct build_queue_stats stats;
    build_queue_stats_read(site->queue, &stats);
    assert_int_equal(stats.malformed, 1);
    assert_int_equal(stats.unsupported, 1);
    assert_int_equal(stats.killed, 2);
}

static void assert_serves(struct ingest_site *site, const char *id, const struct digest *key) {
    struct generation_row generation = generation_of(site, id);
    assert_true(generation.has_serving && !generation.has_pending);
    assert_true(digest_equal(&generation.serving, key));
}

static void await_serving(struct ingest_site *site, const char *id) {
    for (struct generation_row row = {0}; !row.has_serving || row.has_pending;) {
        row = generation_of(site, id);
        if (row.has_pending)
            ingest_site_await(site, &row.pending);
    }
}

static void a_poorer_file_goes_on_to_answer_when_the_better_one_cannot_be_built(void **state) {
    struct ingest_site *site = *state;
    static const char *const ends[] = {"malformed", "unsupported", "crash"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char id[16];
        char text[64];
        snprintf(id, sizeof(id), "aa%02zx", i);
        snprintf(text, sizeof(text), "contents dwarf,dynsym\nbuild %s\n", ends[i]);
        struct digest poor = upload(site, id, "contents dynsym\n");
        ingest_site_await(site, &poor);
        struct digest better = upload(site, id, text);
        ingest_site_await(site, &better);
        assert_serves(site, id, &poor);
        assert_int_equal(generation_of(site, id).number, 1);
    }
}

static void a_poorer_file_that_comes_later_answers_for_a_broken_one(void **state) {
    struct ingest_site *site = *state;
    struct digest broken = upload(site, ID, "contents dwarf,dynsym\nbuild malformed\n");
    ingest_site_await(site, &broken);
    struct digest poor = upload(site, ID, "contents dynsym\n");
    assert_false(digest_equal(&poor, &broken));
    ingest_site_await(site, &poor);
    assert_serves(site, ID, &poor);
}

static void of_a_pair_of_which_one_is_broken_the_other_answers(void **state) {
    struct ingest_site *site = *state;
    struct digest broken =
        upload_typed(site, ID, ARTIFACT_EXECUTABLE, "contents pclntab,dynsym\nbuild malformed\n");
    ingest_site_await(site, &broken);
    struct digest both = upload(site, ID, "contents dwarf,symtab\n");
    assert_int_equal(ingest_site_await(site, &both).state, BUILD_MALFORMED);
    await_serving(site, ID);
    struct generation_row generation = generation_of(site, ID);
    assert_false(digest_equal(&generation.serving, &both));
    struct inputs_of_build wanted = {.key = &generation.serving};
    assert_int_equal(catalog_read(site->catalog, read_inputs, &wanted, &error), ERR_OK);
    assert_int_equal(wanted.count, 1);
    assert_int_equal(wanted.inputs[0].role, JOB_ROLE_MAIN);
}

static void when_nothing_can_be_built_the_reason_is_that_of_the_best(void **state) {
    struct ingest_site *site = *state;
    struct digest best =
        upload(site, ID, logged(site, "contents dwarf,dynsym\nbuild unsupported\n"));
    ingest_site_await(site, &best);
    struct digest worse = upload(site, ID, logged(site, "contents dynsym\nbuild malformed\n"));
    ingest_site_await(site, &worse);
    struct generation_row generation = generation_of(site, ID);
    assert_true(generation.has_pending && !generation.has_serving);
    assert_true(digest_equal(&generation.pending, &best));
    assert_int_equal(count_logged(site, "build"), 2);
}

static void a_relative_answers_for_a_good_file_that_is_broken(void **state) {
    struct ingest_site *site = *state;
    const char *hash = "00112233445566778899aabbccddeeff";
    struct upload_query by_hash =
        ingest_site_query(BINARY_ID_HTLHASH, hash, ARTIFACT_EXECUTABLE, "");
    struct digest sound = upload(site, ID, "contents dynsym\n");
    ingest_site_await(site, &sound);
    char broken[128];
    snprintf(broken, sizeof(broken), "id htlhash %s\ncontents dwarf,dynsym\nbuild crash\n", hash);
    struct digest better = upload(site, ID, broken);
    ingest_site_await(site, &better);
    struct generation_row generation = ingest_site_generation(site, &by_hash.id);
    assert_true(generation.has_serving && digest_equal(&generation.serving, &sound));
}

/* Removes the stored file of the build's first input. */
static void lose_file(struct ingest_site *site, const struct digest *key) {
    struct inputs_of_build wanted = {.key = key};
    assert_int_equal(catalog_read(site->catalog, read_inputs, &wanted, &error), ERR_OK);
    assert_int_equal(blob_store_remove(site->blobs, &wanted.inputs[0].digest, &error), ERR_OK);
}

static void damage_file(struct ingest_site *site, const struct digest *key) {
    struct inputs_of_build wanted = {.key = key};
    char name[6 + DIGEST_HEX_SIZE + 1] = "blobs/";
    char hex[DIGEST_HEX_SIZE];
    assert_int_equal(catalog_read(site->catalog, read_inputs, &wanted, &error), ERR_OK);
    digest_to_hex(&wanted.inputs[0].digest, hex);
    snprintf(name + 6, sizeof(name) - 6, "%.2s/%s", hex, hex + 2);
    CLEANUP(cleanup_fd) int fd = open(scratch_path(&site->scratch, name), O_WRONLY);
    assert_int_equal(pwrite(fd, "?", 1, 0), 1);
}

static void a_damaged_file_answers_no_more_until_it_comes_again(void **state) {
    struct ingest_site *site = *state;
    struct build_queue_stats stats;
    struct digest poor = upload(site, ID, "contents dynsym\n");
    ingest_site_await(site, &poor);
    struct digest good = upload(site, ID, "contents dwarf,dynsym\n");
    ingest_site_await(site, &good);
    damage_file(site, &good);
    ingest_site_empty_index(site);
    assert_int_equal(build_queue_rebuild(site->queue, TENANT_DEFAULT, &good, &error), ERR_OK);
    struct build_row row = ingest_site_await(site, &good);
    assert_int_equal(row.state, BUILD_FAILED);
    assert_non_null(strstr(row.reason, "damaged"));
    assert_serves(site, ID, &poor);
    build_queue_stats_read(site->queue, &stats);
    assert_int_equal(stats.files_damaged, 1);
    assert_int_equal(stats.files_missing, 0);
    upload(site, ID, "contents dwarf,dynsym\n");
    assert_int_equal(ingest_site_await(site, &good).state, BUILD_OK);
    assert_serves(site, ID, &good);
}

static void an_id_whose_file_is_lost_knows_nothing_until_it_comes_again(void **state) {
    struct ingest_site *site = *state;
    struct digest key = upload(site, ID, "contents dwarf\n");
    ingest_site_await(site, &key);
    lose_file(site, &key);
    ingest_site_empty_index(site);
    assert_int_equal(build_queue_rebuild(site->queue, TENANT_DEFAULT, &key, &error), ERR_OK);
    assert_int_equal(ingest_site_await(site, &key).state, BUILD_FAILED);
    struct generation_row generation = generation_of(site, ID);
    assert_false(generation.has_serving || generation.has_pending);
    assert_int_equal(generation.number, 2);
    struct digest again = upload(site, ID, "contents dwarf\n");
    assert_true(digest_equal(&again, &key));
    assert_int_equal(ingest_site_await(site, &key).state, BUILD_OK);
    assert_serves(site, ID, &key);
}

static void another_file_answers_for_one_that_is_lost(void **state) {
    struct ingest_site *site = *state;
    struct digest poor = upload(site, ID, "contents dynsym\n");
    ingest_site_await(site, &poor);
    struct digest good = upload(site, ID, "contents dwarf,dynsym\n");
    ingest_site_await(site, &good);
    lose_file(site, &good);
    ingest_site_empty_index(site);
    assert_int_equal(build_queue_rebuild(site->queue, TENANT_DEFAULT, &good, &error), ERR_OK);
    ingest_site_await(site, &good);
    assert_serves(site, ID, &poor);
}

static void what_is_no_index_is_not_published(void **state) {
    struct ingest_site *site = *state;
    struct digest key = upload(site, ID, "build garbage\n");
    struct build_row row = ingest_site_await(site, &key);
    assert_int_equal(row.state, BUILD_KILLED);
    assert_non_null(strstr(row.reason, "the worker wrote no index"));
    assert_has_index(site, &key, false);
}

static void a_crash_does_not_stop_the_others(void **state) {
    struct ingest_site *site = *state;
    struct digest crash = upload(site, "aa01", "build crash\n");
    struct digest good = upload(site, "aa02", "contents dwarf\n");
    assert_int_equal(ingest_site_await(site, &good).state, BUILD_OK);
    assert_int_equal(ingest_site_await(site, &crash).state, BUILD_KILLED);
}

static void a_failure_is_tried_again_only_after_its_expiry(void **state) {
    struct ingest_site *site = *state;
    struct digest key = upload(site, ID, logged(site, "build crash\n"));
    ingest_site_await(site, &key);
    assert_int_equal(build_queue_rebuild(site->queue, TENANT_DEFAULT, &key, &error), ERR_OK);
    ingest_site_await(site, &key);
    assert_int_equal(count_logged(site, "build"), 1);
    site->queue_config.failure_expiry_ms = 1;
    reopen(site);
    struct digest other = upload(site, "aa02", logged(site, "build crash\nother"));
    struct build_row row = ingest_site_await(site, &other);
    assert_int_equal(count_logged(site, "build"), 2);
    await_wall_clock(row.expires_ms);
    assert_int_equal(build_queue_rebuild(site->queue, TENANT_DEFAULT, &other, &error), ERR_OK);
    assert_int_equal(ingest_site_await(site, &other).state, BUILD_KILLED);
    assert_int_equal(count_logged(site, "build"), 3);
}

static void our_own_trouble_is_tried_again_a_few_times(void **state) {
    struct ingest_site *site = *state;
    struct digest key = upload(site, ID, logged(site, "build failed\n"));
    struct build_row row = ingest_site_await(site, &key);
    assert_int_equal(row.state, BUILD_FAILED);
    assert_string_equal(row.reason, "the input says failed");
    assert_int_equal(count_logged(site, "build"), 5);
}

static void trouble_that_passes_leaves_no_trace(void **state) {
    struct ingest_site *site = *state;
    char flag[256];
    snprintf(flag, sizeof(flag), "build failed_until %s\n", scratch_path(&site->scratch, "flag"));
    struct digest key = upload(site, ID, logged(site, flag));
    struct build_row row = ingest_site_await(site, &key);
    assert_int_equal(row.state, BUILD_OK);
    assert_string_equal(row.reason, "");
    assert_int_equal(row.attempts, 0);
    assert_int_equal(count_logged(site, "build"), 2);
}

static void an_evicted_index_is_built_again_under_the_same_number(void **state) {
    struct ingest_site *site = *state;
    struct digest key = upload(site, ID, logged(site, "contents dwarf\n"));
    ingest_site_await(site, &key);
    ingest_site_empty_index(site);
    assert_has_index(site, &key, false);
    assert_int_equal(build_queue_rebuild(site->queue, TENANT_DEFAULT, &key, &error), ERR_OK);
    assert_int_equal(ingest_site_await(site, &key).state, BUILD_OK);
    assert_has_index(site, &key, true);
    assert_int_equal(count_logged(site, "build"), 2);
    struct generation_row generation = generation_of(site, ID);
    assert_int_equal(generation.number, 1);
    assert_true(generation.has_serving && !generation.has_pending);
}

static void a_build_that_the_end_of_the_server_cut_off_goes_on_at_the_next_start(void **state) {
    struct ingest_site *site = *state;
    make_gate(site);
    struct digest key = upload(site, ID, gated(site, "contents dwarf\n"));
    while (ingest_site_build(site, &key).state != BUILD_RUNNING) {
        const struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
    reopen(site);
    assert_int_equal(generation_of(site, ID).number, 0);
    open_gate(site);
    assert_int_equal(ingest_site_await(site, &key).state, BUILD_OK);
    assert_int_equal(generation_of(site, ID).number, 1);
}

static void more_builds_than_memory_holds_are_all_made(void **state) {
    struct ingest_site *site = *state;
    enum { COUNT = 150 };
    struct digest keys[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char id[16];
        snprintf(id, sizeof(id), "bb%04x", i);
        keys[i] = upload(site, id, "contents dwarf\n");
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(ingest_site_await(site, &keys[i]).state, BUILD_OK);
}

static void waiting_ends_at_its_deadline(void **state) {
    struct ingest_site *site = *state;
    make_gate(site);
    struct digest key = upload(site, ID, gated(site, "contents dwarf\n"));
    assert_false(build_queue_wait(site->queue, TENANT_DEFAULT, &key, clock_mono_ms() + 20));
    open_gate(site);
    assert_true(build_queue_wait(site->queue, TENANT_DEFAULT, &key, clock_mono_ms() + 60000));
}

static void what_was_never_queued_is_not_waited_for_nor_rebuilt(void **state) {
    struct ingest_site *site = *state;
    struct digest key = hash_sha256_of(span_cstr("nothing"));
    assert_true(build_queue_wait(site->queue, TENANT_DEFAULT, &key, INT64_MAX / 2));
    assert_int_equal(build_queue_rebuild(site->queue, TENANT_DEFAULT, &key, &error), ERR_NOT_FOUND);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argument_count, char **arguments) {
    fake_worker_main(argument_count, arguments);
    const struct CMUnitTest tests[] = {
        TEST(an_upload_brings_an_index_that_answers),
        TEST(the_same_file_is_built_once),
        TEST(two_tenants_with_the_same_file_share_the_index),
        TEST(what_answered_before_answers_until_the_better_one_is_built),
        TEST(a_poorer_file_changes_nothing),
        TEST(an_executable_and_its_debug_file_are_built_together),
        TEST(a_debug_file_answers_under_the_file_hash_of_its_executable),
        TEST(a_good_file_found_by_its_hash_is_not_mixed_with_others),
        TEST(a_failed_build_is_kept_with_its_reason_and_an_expiry),
        TEST(a_poorer_file_goes_on_to_answer_when_the_better_one_cannot_be_built),
        TEST(a_poorer_file_that_comes_later_answers_for_a_broken_one),
        TEST(of_a_pair_of_which_one_is_broken_the_other_answers),
        TEST(when_nothing_can_be_built_the_reason_is_that_of_the_best),
        TEST(a_relative_answers_for_a_good_file_that_is_broken),
        TEST(an_id_whose_file_is_lost_knows_nothing_until_it_comes_again),
        TEST(another_file_answers_for_one_that_is_lost),
        TEST(a_damaged_file_answers_no_more_until_it_comes_again),
        TEST(what_is_no_index_is_not_published),
        TEST(a_crash_does_not_stop_the_others),
        TEST(a_failure_is_tried_again_only_after_its_expiry),
        TEST(our_own_trouble_is_tried_again_a_few_times),
        TEST(trouble_that_passes_leaves_no_trace),
        TEST(an_evicted_index_is_built_again_under_the_same_number),
        TEST(a_build_that_the_end_of_the_server_cut_off_goes_on_at_the_next_start),
        TEST(more_builds_than_memory_holds_are_all_made),
        TEST(waiting_ends_at_its_deadline),
        TEST(what_was_never_queued_is_not_waited_for_nor_rebuilt),
    };
    return cmocka_run_group_tests_name("build_queue", tests, NULL, NULL);
}
