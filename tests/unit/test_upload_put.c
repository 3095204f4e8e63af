#include "ingest/upload_put.h"

#include <string.h>

#include "cache/catalog_list.h"
#include "ingest/purge.h"
#include "tests/support/fake_worker.h"
#include "tests/support/ingest_site.h"
#include "tests/support/test.h"

#define GNU_ID "abcdef0123456789"
#define GO_ID "some/go/id"
#define FILE_ID "00112233445566778899aabbccddeeff"
#define FILE_OF(words) words "id htlhash " FILE_ID "\ncontents dwarf,symtab\n"

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

static struct upload_claim claim_of(const char *gnu_id) {
    struct upload_claim claim = {.has_id = gnu_id != NULL, .type = ARTIFACT_DEBUGINFO};
    if (gnu_id)
        claim.id = ingest_site_query(BINARY_ID_GNU, gnu_id, ARTIFACT_DEBUGINFO, "").id;
    return claim;
}

static struct upload_put *open_put(struct ingest_site *site, const struct upload_claim *claim) {
    struct upload_put *put = NULL;
    if (upload_put_open(site->ingest, &site->context, claim, &put, &error) != ERR_OK)
        fail_msg("%s", error.text);
    return put;
}

static enum err put_text(struct ingest_site *site, const struct upload_claim *claim,
                         const char *text, struct upload_put_result *ret_result) {
    CLEANUP(cleanup_upload_put) struct upload_put *put = NULL;
    enum err err = upload_put_open(site->ingest, &site->context, claim, &put, &error);
    for (size_t i = 0; err == ERR_OK && i < strlen(text); i++)
        err = upload_put_append(put, text + i, 1, &error);
    return err == ERR_OK ? upload_put_finish(put, ret_result, &error) : err;
}

struct count {
    struct ingest_site *site;
    size_t objects;
};

static enum err count_objects(struct catalog_txn *txn, void *argument, struct error *why) {
    struct count *count = argument;
    struct list_entry entries[8];
    struct list_filter filter = {.prefix = "", .count_max = 8};
    return catalog_list(txn, count->site->context.tenant, &filter, entries, &count->objects, why);
}

static size_t object_count(struct ingest_site *site) {
    struct count count = {.site = site};
    assert_int_equal(catalog_read(site->catalog, count_objects, &count, &error), ERR_OK);
    return count.objects;
}

static struct ingest_stats stats_of(struct ingest_site *site) {
    struct ingest_stats stats;
    ingest_stats_read(site->ingest, &stats);
    return stats;
}

static enum upload_reason reason_of(struct ingest_site *site) {
    struct upload_query query = ingest_site_query(BINARY_ID_GNU, GNU_ID, ARTIFACT_DEBUGINFO, "h");
    bool should = false;
    enum upload_reason reason = 0;
    assert_int_equal(
        ingest_should_initiate(site->ingest, &site->context, &query, &should, &reason, &error),
        ERR_OK);
    return reason;
}

static void the_best_id_inside_names_a_file_without_a_claim(void **state) {
    struct ingest_site *site = *state;
    struct upload_claim claim = claim_of(NULL);
    struct upload_put_result result;
    static const struct {
        const char *text;
        enum binary_id_kind kind;
    } files[] = {
        {FILE_OF("id go " GO_ID "\nid gnu " GNU_ID "\n"), BINARY_ID_GNU},
        {FILE_OF("id go " GO_ID "\n"), BINARY_ID_GO},
        {FILE_OF(""), BINARY_ID_HTLHASH},
    };
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        claim.force = i > 0;
        assert_int_equal(put_text(site, &claim, files[i].text, &result), ERR_OK);
        assert_int_equal(result.id.kind, files[i].kind);
        assert_int_equal(result.size, strlen(files[i].text));
        assert_false(result.existed);
    }
    assert_int_equal(object_count(site), 3);
}

static void the_same_bytes_exist_and_others_need_force(void **state) {
    struct ingest_site *site = *state;
    struct upload_claim claim = claim_of(GNU_ID);
    struct upload_put_result result;
    const char *file = FILE_OF("id gnu " GNU_ID "\n");
    assert_int_equal(put_text(site, &claim, file, &result), ERR_OK);
    assert_int_equal(put_text(site, &claim, file, &result), ERR_OK);
    assert_true(result.existed);
    const char *other = FILE_OF("other\nid gnu " GNU_ID "\n");
    assert_int_equal(put_text(site, &claim, other, &result), ERR_EXISTS);
    assert_int_equal(object_count(site), 1);
    assert_int_equal(reason_of(site), UPLOAD_REASON_EXISTS);
    claim.force = true;
    assert_int_equal(put_text(site, &claim, other, &result), ERR_OK);
    assert_false(result.existed);
    assert_int_equal(object_count(site), 2);
}

static void a_put_in_progress_is_seen_and_leaves_nothing(void **state) {
    struct ingest_site *site = *state;
    struct upload_claim claim = claim_of(GNU_ID);
    struct upload_put *second = NULL;
    struct upload_put *put = open_put(site, &claim);
    assert_int_equal(upload_put_append(put, "some", 4, &error), ERR_OK);
    assert_int_equal(reason_of(site), UPLOAD_REASON_IN_PROGRESS);
    assert_int_equal(upload_put_open(site->ingest, &site->context, &claim, &second, &error),
                     ERR_STATE);
    upload_put_free(put);
    assert_int_equal(reason_of(site), UPLOAD_REASON_FIRST_TIME_SEEN);
    assert_int_equal(object_count(site), 0);
    assert_int_equal(stats_of(site).interrupted, 1);
}

static void a_forced_put_ends_the_one_in_progress(void **state) {
    struct ingest_site *site = *state;
    struct upload_claim claim = claim_of(GNU_ID);
    struct upload_put_result result;
    struct upload_put *put = open_put(site, &claim);
    claim.force = true;
    assert_int_equal(put_text(site, &claim, FILE_OF("id gnu " GNU_ID "\n"), &result), ERR_OK);
    assert_int_equal(upload_put_append(put, "x", 1, &error), ERR_STATE);
    assert_int_equal(object_count(site), 1);
    upload_put_free(put);
    struct ingest_stats stats = stats_of(site);
    assert_int_equal(stats.initiated, 2);
    assert_int_equal(stats.finished, 1);
    assert_int_equal(stats.replaced, 1);
    assert_int_equal(stats.interrupted, 0);
}

static void refused_bytes_leave_a_failed_upload(void **state) {
    struct ingest_site *site = *state;
    struct upload_claim claim = claim_of(GNU_ID);
    struct upload_put_result result;
    assert_int_equal(put_text(site, &claim, FILE_OF("id gnu 00ff\n"), &result), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "mismatch"));
    assert_int_equal(reason_of(site), UPLOAD_REASON_NOT_EQUAL);
    claim = claim_of(NULL);
    assert_int_equal(put_text(site, &claim, "identify malformed\n", &result), ERR_UNSUPPORTED);
    assert_int_equal(put_text(site, &claim, "identify crash\n", &result), ERR_UNSUPPORTED);
    assert_int_equal(put_text(site, &claim, "identify failed\n", &result), ERR_UNAVAILABLE);
    assert_int_equal(put_text(site, &claim, "contents symtab\n", &result), ERR_UNSUPPORTED);
    assert_int_equal(object_count(site), 0);
}

static void sizes_are_held_to(void **state) {
    struct ingest_site *site = *state;
    struct upload_claim claim = claim_of(GNU_ID);
    struct upload_put *put = NULL;
    struct upload_put_result result;
    claim.has_size = true;
    assert_int_equal(upload_put_open(site->ingest, &site->context, &claim, &put, &error),
                     ERR_INVALID);
    claim.size = UINT64_MAX;
    assert_int_equal(upload_put_open(site->ingest, &site->context, &claim, &put, &error),
                     ERR_LIMIT);
    claim.size = 3;
    assert_int_equal(put_text(site, &claim, "four", &result), ERR_LIMIT);
    assert_int_equal(put_text(site, &claim, "no", &result), ERR_INVALID);
    claim.has_size = false;
    assert_int_equal(put_text(site, &claim, "", &result), ERR_INVALID);
    assert_int_equal(reason_of(site), UPLOAD_REASON_FIRST_TIME_SEEN);
}

static void a_purge_ends_what_is_stored_and_what_is_coming(void **state) {
    struct ingest_site *site = *state;
    struct upload_claim claim = claim_of(GNU_ID);
    struct upload_put_result put_result;
    struct purge_result result;
    struct purge_request request = {.id = claim.id};
    assert_int_equal(put_text(site, &claim, FILE_OF("id gnu " GNU_ID "\n"), &put_result), ERR_OK);
    CLEANUP(cleanup_upload_put) struct upload_put *put = open_put(site, &claim);
    const char *other = FILE_OF("other\nid gnu " GNU_ID "\n");
    assert_int_equal(upload_put_append(put, other, strlen(other), &error), ERR_OK);
    assert_int_equal(
        ingest_purge(site->ingest, site->indexes, &site->context, &request, &result, &error),
        ERR_OK);
    assert_int_equal(result.objects, 1);
    assert_int_equal(upload_put_finish(put, &put_result, &error), ERR_STATE);
    assert_int_equal(object_count(site), 0);
    assert_int_equal(reason_of(site), UPLOAD_REASON_PURGED);
    struct generation_row generation = ingest_site_generation(site, &claim.id);
    assert_false(generation.has_serving || generation.has_pending);
    assert_int_equal(
        ingest_purge(site->ingest, site->indexes, &site->context, &request, &result, &error),
        ERR_NOT_FOUND);
}

int main(int argument_count, char **arguments) {
    fake_worker_main(argument_count, arguments);
#define PUT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PUT_TEST(the_best_id_inside_names_a_file_without_a_claim),
        PUT_TEST(the_same_bytes_exist_and_others_need_force),
        PUT_TEST(a_put_in_progress_is_seen_and_leaves_nothing),
        PUT_TEST(a_forced_put_ends_the_one_in_progress),
        PUT_TEST(refused_bytes_leave_a_failed_upload),
        PUT_TEST(sizes_are_held_to),
        PUT_TEST(a_purge_ends_what_is_stored_and_what_is_coming),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
