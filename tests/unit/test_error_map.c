#include "api/error_map.h"

#include <string.h>

#include "tests/support/test.h"

static void every_failure_has_a_grpc_and_an_http_code(void **state) {
    (void)state;
    for (int code = ERR_OK + 1; code < ERR_COUNT; code++) {
        assert_int_not_equal(error_map_grpc((enum err)code), GRPC_OK);
        assert_in_range(error_map_http((enum err)code), 400, 599);
    }
    assert_int_equal(error_map_grpc(ERR_OK), GRPC_OK);
    assert_int_equal(error_map_http(ERR_OK), 200);
}

static void our_own_trouble_is_retried_by_agents(void **state) {
    (void)state;
    assert_int_equal(error_map_grpc(ERR_IO), GRPC_UNAVAILABLE);
    assert_int_equal(error_map_grpc(ERR_UNAVAILABLE), GRPC_UNAVAILABLE);
    assert_int_equal(error_map_grpc(ERR_EXHAUSTED), GRPC_RESOURCE_EXHAUSTED);
    assert_int_equal(error_map_grpc(ERR_NO_SPACE), GRPC_RESOURCE_EXHAUSTED);
    assert_int_equal(error_map_grpc(ERR_NO_MEMORY), GRPC_RESOURCE_EXHAUSTED);
}

static void a_number_that_is_no_error_counts_as_internal(void **state) {
    (void)state;
    assert_int_equal(error_map_grpc((enum err)ERR_COUNT), GRPC_INTERNAL);
    assert_int_equal(error_map_http((enum err)ERR_COUNT), 500);
}

static void texts_about_our_system_stay_inside(void **state) {
    (void)state;
    struct error error;
    error_set_errno(&error, ERR_UNAVAILABLE, 28, "cannot write /var/lib/secret");
    assert_null(strstr(error_map_public_text(&error), "secret"));
    error_set(&error, ERR_INTERNAL, "secret");
    assert_null(strstr(error_map_public_text(&error), "secret"));
    error_set(&error, ERR_INVALID, "size must be set");
    assert_string_equal(error_map_public_text(&error), "size must be set");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_has_a_grpc_and_an_http_code),
        cmocka_unit_test(our_own_trouble_is_retried_by_agents),
        cmocka_unit_test(a_number_that_is_no_error_counts_as_internal),
        cmocka_unit_test(texts_about_our_system_stay_inside),
    };
    return cmocka_run_group_tests_name("error_map", tests, NULL, NULL);
}
