#include "api/symbolize_request.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "tests/support/test.h"

struct fixture {
    struct arena *arena;
    struct symbolize_request request;
    struct error error;
};

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->arena = arena_new((size_t)64 << 20);
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

static void accept(struct fixture *fixture, const char *body) {
    enum err err = symbolize_request_parse(span_cstr(body), fixture->arena, &fixture->request,
                                           &fixture->error);
    if (err != ERR_OK)
        fail_msg("refused: %s", fixture->error.text);
}

static void refuse(struct fixture *fixture, const char *body, enum err code, const char *text) {
    assert_int_equal(symbolize_request_parse(span_cstr(body), fixture->arena, &fixture->request,
                                             &fixture->error),
                     code);
    assert_string_equal(fixture->error.text, text);
}

/* A request with one module, whose members after the build ID are `rest`. */
static void refuse_module(struct fixture *fixture, const char *rest, const char *text) {
    char body[1024];
    snprintf(body, sizeof(body), "{\"modules\":[{\"build_id\":\"c0ffee\"%s}]}", rest);
    refuse(fixture, body, ERR_INVALID, text);
}

static void reads_every_member(void **state) {
    struct fixture *fixture = *state;
    accept(fixture, "{\"options\":{\"inlines\":false,\"demangle\":false,\"wait_ms\":60000},"
                    "\"modules\":[{\"build_id\":\"C0FFEE\",\"id_kind\":\"gnu\",\"name\":\"app\","
                    "\"address_kind\":\"runtime\","
                    "\"mapping\":{\"start\":\"0x1000\",\"limit\":\"0x3000\",\"offset\":\"0x0\"},"
                    "\"addresses\":[\"0x1a2b\",\"0XFFFFFFFFFFFFFFFF\"],\"ret\":[1]}]}");
    const struct symbolize_request *request = &fixture->request;
    assert_false(request->inlines);
    assert_false(request->demangle);
    assert_int_equal(request->wait_ms, 60000);
    assert_int_equal(request->module_count, 1);
    const struct symbolize_module *module = &request->modules[0];
    assert_string_equal(module->id.text, "c0ffee");
    assert_int_equal(module->id.kind, BINARY_ID_GNU);
    assert_true(span_equal_cstr(module->name, "app"));
    assert_int_equal(module->address_kind, ADDRESS_RUNTIME);
    assert_int_equal(module->mapping.start, 0x1000);
    assert_int_equal(module->mapping.limit, 0x3000);
    assert_int_equal(module->mapping.offset, 0);
    assert_int_equal(module->address_count, 2);
    assert_int_equal(module->addresses[0], 0x1a2b);
    assert_true(module->addresses[1] == UINT64_MAX);
    assert_false(module->is_return[0]);
    assert_true(module->is_return[1]);
}

static void what_is_left_out_has_a_default(void **state) {
    struct fixture *fixture = *state;
    accept(fixture, "{\"modules\":[{\"build_id\":\"c0ffee\",\"addresses\":[]}]}");
    assert_true(fixture->request.inlines);
    assert_true(fixture->request.demangle);
    assert_int_equal(fixture->request.wait_ms, 0);
    const struct symbolize_module *module = &fixture->request.modules[0];
    assert_int_equal(module->id.kind, BINARY_ID_GNU);
    assert_int_equal(module->address_kind, ADDRESS_ELF);
    assert_int_equal(module->name.size, 0);
    assert_null(module->is_return);
    accept(fixture, "{\"modules\":[]}");
    assert_int_equal(fixture->request.module_count, 0);
}

static void reads_ids_of_every_kind(void **state) {
    struct fixture *fixture = *state;
    accept(fixture, "{\"modules\":["
                    "{\"build_id\":\"a/b-c/d\",\"id_kind\":\"go\",\"addresses\":[]},"
                    "{\"build_id\":\"00112233445566778899aabbccddeeff\",\"id_kind\":\"htlhash\","
                    "\"addresses\":[]},"
                    "{\"build_id\":\"00112233-4455-6677-8899-aabbccddeeff\",\"id_kind\":\"uuid\","
                    "\"addresses\":[]}]}");
    assert_int_equal(fixture->request.modules[0].id.kind, BINARY_ID_GO);
    assert_string_equal(fixture->request.modules[0].id.text, "a/b-c/d");
    assert_int_equal(fixture->request.modules[1].id.kind, BINARY_ID_HTLHASH);
    assert_int_equal(fixture->request.modules[2].id.kind, BINARY_ID_UUID);
}

static void bad_json_is_told_with_line_and_column(void **state) {
    struct fixture *fixture = *state;
    refuse(fixture, "{\"modules\":[\n  nope]}", ERR_MALFORMED,
           "line 2 column 6: invalid token near 'nope'");
    refuse(fixture, "", ERR_MALFORMED, "line 1 column 0: '[' or '{' expected near end of file");
    refuse(fixture, "{\"modules\":[],\"modules\":[]}", ERR_MALFORMED,
           "line 1 column 23: duplicate object key near '\"modules\"'");
}

static void a_wrong_type_is_told_with_its_place(void **state) {
    struct fixture *fixture = *state;
    refuse(fixture, "[]", ERR_INVALID, "the request: want an object");
    refuse(fixture, "{}", ERR_INVALID, "modules: want a list of modules");
    refuse(fixture, "{\"modules\":{}}", ERR_INVALID, "modules: want a list of modules");
    refuse(fixture, "{\"modules\":[7]}", ERR_INVALID, "modules[0]: want an object");
    refuse(fixture, "{\"modules\":[{}]}", ERR_INVALID, "modules[0].build_id: missing");
    refuse(fixture, "{\"modules\":[{\"build_id\":7}]}", ERR_INVALID,
           "modules[0].build_id: want a string");
    refuse(fixture, "{\"modules\":[],\"options\":[]}", ERR_INVALID, "options: want an object");
    refuse(fixture, "{\"modules\":[],\"options\":{\"inlines\":1}}", ERR_INVALID,
           "options.inlines: want true or false");
    refuse_module(fixture, "", "modules[0].addresses: want a list of addresses");
    refuse_module(fixture, ",\"name\":null,\"addresses\":[]", "modules[0].name: want a string");
    refuse_module(fixture, ",\"addresses\":[\"0x1\",\"0x2\",\"0x3\",4]",
                  "modules[0].addresses[3]: want a string with 1 to 16 hex digits, such as "
                  "\"0x1a2b\"");
    refuse_module(fixture, ",\"addresses\":[\"0x1\"],\"ret\":[\"0\"]",
                  "modules[0].ret[0]: want a position in addresses, 0 to 0");
}

static void an_unknown_member_is_told_with_its_place(void **state) {
    struct fixture *fixture = *state;
    refuse(fixture, "{\"modules\":[],\"option\":{}}", ERR_INVALID,
           "the request: unknown member \"option\"");
    refuse_module(fixture, ",\"adress_kind\":\"elf\"",
                  "modules[0]: unknown member \"adress_kind\"");
}

static void an_address_is_hex_with_a_prefix(void **state) {
    struct fixture *fixture = *state;
    static const char *const bad[] = {"",     "0x",   "1a2b", "0x1g",
                                      "0x-1", " 0x1", "0x 1", "0x11112222333344445",
                                      "4096", "0x@",  "0x`",  "0xG"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char rest[128];
        snprintf(rest, sizeof(rest), ",\"addresses\":[\"%s\"]", bad[i]);
        refuse_module(fixture, rest,
                      "modules[0].addresses[0]: want a string with 1 to 16 hex digits, such as "
                      "\"0x1a2b\"");
    }
}

static void a_position_outside_the_addresses_is_refused(void **state) {
    struct fixture *fixture = *state;
    refuse_module(fixture, ",\"addresses\":[\"0x1\",\"0x2\"],\"ret\":[0,2]",
                  "modules[0].ret[1]: want a position in addresses, 0 to 1");
    refuse_module(fixture, ",\"addresses\":[\"0x1\"],\"ret\":[-1]",
                  "modules[0].ret[0]: want a position in addresses, 0 to 0");
    refuse_module(fixture, ",\"addresses\":[],\"ret\":[0]",
                  "modules[0].ret[0]: want a position in addresses, 0 to 0");
}

static void runtime_addresses_need_a_mapping_that_makes_sense(void **state) {
    struct fixture *fixture = *state;
    refuse_module(fixture, ",\"address_kind\":\"runtime\",\"addresses\":[]",
                  "modules[0].mapping: missing; runtime addresses need it");
    refuse_module(fixture, ",\"address_kind\":\"runtime\",\"mapping\":{\"start\":\"0x2\"}",
                  "modules[0].mapping.limit: want a string with 1 to 16 hex digits, such as "
                  "\"0x1a2b\"");
    refuse_module(fixture,
                  ",\"address_kind\":\"runtime\",\"mapping\":"
                  "{\"start\":\"0x2\",\"limit\":\"0x2\",\"offset\":\"0x0\"}",
                  "modules[0].mapping: want start below limit");
    refuse_module(fixture,
                  ",\"address_kind\":\"runtime\",\"mapping\":"
                  "{\"start\":\"0x0\",\"limit\":\"0x2\",\"offset\":\"0xfffffffffffffffe\"}",
                  "modules[0].mapping.offset: too large");
    refuse_module(fixture,
                  ",\"address_kind\":\"elf\",\"mapping\":{\"start\":\"0x0\"},\"addresses\":[]",
                  "modules[0].mapping: only for modules with address_kind runtime");
    refuse_module(fixture, ",\"address_kind\":\"rva\"",
                  "modules[0].address_kind: want elf, file_offset or runtime");
}

static void a_build_id_that_is_none_is_refused(void **state) {
    struct fixture *fixture = *state;
    refuse(fixture, "{\"modules\":[{\"build_id\":\"zz\"}]}", ERR_INVALID,
           "modules[0].build_id: not a build ID: want 2 to 64 bytes as an even number of hex "
           "digits");
    refuse(fixture, "{\"modules\":[{\"build_id\":\"00\\u0000\"}]}", ERR_MALFORMED,
           "line 1 column 34: \\u0000 is not allowed without JSON_ALLOW_NUL near "
           "'\"00\\u0000\"'");
    refuse_module(fixture, ",\"id_kind\":\"pdb\"",
                  "modules[0].id_kind: want gnu, go, htlhash or uuid");
}

static void waiting_is_bounded(void **state) {
    struct fixture *fixture = *state;
    const char *text = "options.wait_ms: want an integer from 0 to 60000";
    refuse(fixture, "{\"modules\":[],\"options\":{\"wait_ms\":60001}}", ERR_INVALID, text);
    refuse(fixture, "{\"modules\":[],\"options\":{\"wait_ms\":-1}}", ERR_INVALID, text);
    refuse(fixture, "{\"modules\":[],\"options\":{\"wait_ms\":1.5}}", ERR_INVALID, text);
}

/* `head`, `count` times `item` with commas between, `tail`. */
static void repeat(struct buffer *body, const char *head, const char *item, size_t count,
                   const char *tail) {
    buffer_append_cstr(body, head);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buffer_append_byte(body, ',');
        buffer_append_cstr(body, item);
    }
    buffer_append_cstr(body, tail);
}

static void limits_hold_to_the_last_one(void **state) {
    struct fixture *fixture = *state;
    static const char module[] = "{\"build_id\":\"c0ffee\",\"addresses\":[]}";
    struct buffer body = {0};
    repeat(&body, "{\"modules\":[", module, SYMBOLIZE_MODULE_COUNT_MAX, "]}");
    accept(fixture, buffer_cstr(&body));
    buffer_clear(&body);
    repeat(&body, "{\"modules\":[", module, SYMBOLIZE_MODULE_COUNT_MAX + 1, "]}");
    refuse(fixture, buffer_cstr(&body), ERR_LIMIT, "modules: 1001 of them; want at most 1000");
    buffer_clear(&body);
    static const char head[] = "{\"modules\":[{\"build_id\":\"c0ffee\",\"addresses\":[";
    repeat(&body, head, "\"0x1\"", SYMBOLIZE_ADDRESS_COUNT_MAX, "]}]}");
    accept(fixture, buffer_cstr(&body));
    buffer_clear(&body);
    repeat(&body, head, "\"0x1\"", SYMBOLIZE_ADDRESS_COUNT_MAX + 1, "]}]}");
    refuse(fixture, buffer_cstr(&body), ERR_LIMIT,
           "1000001 addresses in all modules; want at most 1000000");
    buffer_clear(&body);
}

static void a_body_of_too_many_values_is_refused_before_a_tree_is_made(void **state) {
    struct fixture *fixture = *state;
    const char *text = "the request has more values than 1000 modules and 1000000 addresses need";
    struct buffer body = {0};
    repeat(&body, "[", "1", 3000000, "]");
    refuse(fixture, buffer_cstr(&body), ERR_LIMIT, text);
    buffer_clear(&body);
    repeat(&body, "[", "{}", 20000, "]");
    refuse(fixture, buffer_cstr(&body), ERR_LIMIT, text);
    buffer_clear(&body);
}

static void an_arena_that_is_too_small_is_no_memory(void **state) {
    (void)state;
    CLEANUP(cleanup_arena) struct arena *arena = arena_new(1024);
    struct symbolize_request request;
    struct error error;
    struct buffer body = {0};
    repeat(&body, "{\"modules\":[{\"build_id\":\"c0ffee\",\"addresses\":[", "\"0x1\"", 1000,
           "]}]}");
    assert_int_equal(symbolize_request_parse(buffer_span(&body), arena, &request, &error),
                     ERR_NO_MEMORY);
    buffer_clear(&body);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(reads_every_member),
        TEST(what_is_left_out_has_a_default),
        TEST(reads_ids_of_every_kind),
        TEST(bad_json_is_told_with_line_and_column),
        TEST(a_wrong_type_is_told_with_its_place),
        TEST(an_unknown_member_is_told_with_its_place),
        TEST(an_address_is_hex_with_a_prefix),
        TEST(a_position_outside_the_addresses_is_refused),
        TEST(runtime_addresses_need_a_mapping_that_makes_sense),
        TEST(a_build_id_that_is_none_is_refused),
        TEST(waiting_is_bounded),
        TEST(limits_hold_to_the_last_one),
        TEST(a_body_of_too_many_values_is_refused_before_a_tree_is_made),
        TEST(an_arena_that_is_too_small_is_no_memory),
    };
    return cmocka_run_group_tests_name("symbolize_request", tests, NULL, NULL);
}
