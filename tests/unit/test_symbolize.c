#include "api/symbolize.h"

#include <jansson.h>
#include <stdlib.h>

#include "api/symbolize_json.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

/* A catalog without anything in it: what is answered before there is an index. */
struct fixture {
    struct scratch scratch;
    struct catalog *catalog;
    struct metrics *metrics;
    struct module_resolver resolver;
    struct request_context context;
    struct buffer text;
    unsigned piece_count;
};

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct error error;
    scratch_make(&fixture->scratch);
    assert_int_equal(
        catalog_open(scratch_path(&fixture->scratch, "c.db"), &fixture->catalog, &error), ERR_OK);
    fixture->metrics = metrics_new();
    fixture->resolver.catalog = fixture->catalog;
    fixture->context = request_context_default("test");
    memcpy(fixture->context.request_id, "id", 3);
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    buffer_clear(&fixture->text);
    metrics_free(fixture->metrics);
    catalog_free(fixture->catalog);
    scratch_remove(&fixture->scratch);
    free(fixture);
    return 0;
}

/* The whole answer to a request, as the pieces of the stream make it. */
static const char *answer(struct fixture *fixture, const char *request) {
    struct error error;
    struct http_stream *stream = NULL;
    struct symbolize_batch *batch = symbolize_batch_new(&fixture->resolver, &fixture->context);
    assert_int_equal(symbolize_batch_parse(batch, span_cstr(request), &error), ERR_OK);
    assert_int_equal(symbolize_batch_resolve(batch, &error), ERR_OK);
    assert_int_equal(symbolize_json_new(batch, fixture->metrics, &stream, &error), ERR_OK);
    buffer_clear(&fixture->text);
    fixture->piece_count = 0;
    for (bool end = false; !end; fixture->piece_count++) {
        struct buffer piece = {0};
        assert_int_equal(stream->ops->render(stream, &piece, &end, &error), ERR_OK);
        assert_true(end || piece.size > 0);
        buffer_append(&fixture->text, piece.data, piece.size);
        buffer_clear(&piece);
    }
    stream->ops->free(stream);
    return buffer_cstr(&fixture->text);
}

static void nothing_asked_is_nothing_answered(void **state) {
    assert_string_equal(answer(*state, "{\"modules\":[]}"),
                        "{\"modules\":[],\"request_id\":\"id\"}\n");
}

static void an_unknown_module_has_empty_answers(void **state) {
    assert_string_equal(
        answer(*state, "{\"modules\":[{\"build_id\":\"C0FFEE\",\"addresses\":[\"0x1\",\"0x2\"]},"
                       "{\"build_id\":\"a/b\",\"id_kind\":\"go\",\"addresses\":[]}]}"),
        "{\"modules\":[{\"build_id\":\"c0ffee\",\"status\":\"no_debuginfo\",\"detail\":null,"
        "\"generation\":null,\"frames\":[[],[]],\"reasons\":[null,null]},"
        "{\"build_id\":\"a/b\",\"status\":\"no_debuginfo\",\"detail\":null,\"generation\":null,"
        "\"frames\":[],\"reasons\":[]}],\"request_id\":\"id\"}\n");
}

static void a_module_that_is_hidden_tells_nothing_of_what_exists(void **state) {
    struct fixture *fixture = *state;
    fixture->context.roles = ROLE_UPLOAD;
    assert_string_equal(
        answer(fixture, "{\"modules\":[{\"build_id\":\"c0ffee\",\"addresses\":[\"0x1\"]}]}"),
        "{\"modules\":[{\"build_id\":\"c0ffee\",\"status\":\"denied\","
        "\"detail\":\"the policy hides this module\",\"generation\":null,\"frames\":[[]],"
        "\"reasons\":[null]}],\"request_id\":\"id\"}\n");
}

static void a_large_answer_comes_in_pieces(void **state) {
    struct fixture *fixture = *state;
    struct buffer request = {0};
    buffer_append_cstr(&request, "{\"modules\":[{\"build_id\":\"c0ffee\",\"addresses\":[\"0x1\"");
    for (int i = 1; i < 20000; i++)
        buffer_append_cstr(&request, ",\"0x2\"");
    buffer_append_cstr(&request, "]}]}");
    const char *text = answer(fixture, buffer_cstr(&request));
    buffer_clear(&request);
    assert_true(fixture->piece_count > 5);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    const json_t *module = json_array_get(json_object_get(root, "modules"), 0);
    assert_int_equal(json_array_size(json_object_get(module, "frames")), 20000);
    assert_int_equal(json_array_size(json_object_get(module, "reasons")), 20000);
    json_decref(root);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nothing_asked_is_nothing_answered),
        TEST(an_unknown_module_has_empty_answers),
        TEST(a_module_that_is_hidden_tells_nothing_of_what_exists),
        TEST(a_large_answer_comes_in_pieces),
    };
    return cmocka_run_group_tests_name("symbolize", tests, NULL, NULL);
}
