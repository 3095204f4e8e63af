#include "policy/policy.h"

#include "tests/support/test.h"

static enum exposure decide(unsigned roles, const struct symbol_frame *frame) {
    struct request_context context = request_context_default("test");
    context.roles = roles;
    struct binary_id id = {.kind = BINARY_ID_GNU, .text = "0123456789abcdef"};
    struct policy_request request = {.context = &context, .id = &id, .frame = frame};
    return policy_decide(&request);
}

static void who_may_resolve_sees_everything(void **state) {
    (void)state;
    struct symbol_frame frame = {.name = span_cstr("main")};
    assert_int_equal(decide(ROLE_RESOLVE, &frame), EXPOSURE_FULL);
    assert_int_equal(decide(ROLE_RESOLVE | ROLE_UPLOAD, NULL), EXPOSURE_FULL);
}

static void who_may_not_resolve_sees_nothing(void **state) {
    (void)state;
    struct symbol_frame frame = {.name = span_cstr("main")};
    assert_int_equal(decide(0, &frame), EXPOSURE_DENY);
    assert_int_equal(decide(ROLE_UPLOAD | ROLE_DOWNLOAD | ROLE_ADMIN | ROLE_AUDIT, &frame),
                     EXPOSURE_DENY);
    assert_int_equal(decide(ROLE_ADMIN, NULL), EXPOSURE_DENY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_resolve_sees_everything),
        cmocka_unit_test(who_may_not_resolve_sees_nothing),
    };
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
