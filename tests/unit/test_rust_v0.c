#include "symbolizer/index/rust_v0.h"

#include "base/cleanup.h"
#include "tests/support/test.h"

static void every_production_of_the_grammar_is_walked(void **state) {
    (void)state;
    static const char *const names[] = {
        "C1a",
        "Cs1_1a",
        "NvC1a1b",
        "NCNvC1a1b0",
        "NCNvC1a1bs_0",
        "NvMC1ah1b",
        "NvMs_C1aTE1b",
        "NvXC1ahNtB2_1c1b",
        "NvYhNtC1a1c1b",
        "INvC1a1bhE",
        "INvC1a1bKj7b_KpKb1_Kxnff_Kan80_E",
        "INvC1a1bL_L0_RL0_hQhPhOhE",
        "INvC1a1bSaAsj2_TmnoEzuE",
        "INvC1a1bFUKCijEyE",
        "INvC1a1bFK3abchEvE",
        "INvC1a1bFG0_hEuE",
        "INvC1a1bDNtC1c1dp3OutbEL_E",
        "INvC1a1bDG_INtC1c1dhEp3OutbEL0_E",
        "INvC1a1bDEL_E",
        "NvC1au3_foo",
        "NvC1a1bC1c",
        "NvC1a4__abc",
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!rust_v0_is_affordable(span_cstr(names[i])))
            fail_msg("%s", names[i]);
    }
}

static void what_breaks_the_grammar_is_refused(void **state) {
    (void)state;
    static const char *const names[] = {
        "",
        "c",
        "Z",
        "C",
        "Ca",
        "C2a",
        "C1ab",
        "NC1a1b",
        "N1C1a1b",
        "NvC1a",
        "INvC1a1b",
        "INvC1a1bh",
        "INvC1a1bKE",
        "B_",
        "NvB_1a",
        "NvB2_1a",
        "INvC1aE",
        "C99999999999999999999a",
        "Cs1",
        "CsZZZZZZZZZZZZ_1a",
        "YhB_",
        "INvC1a1bDhEL_E",
        "INvC1a1bDE_E",
        "INvC1a1bFG",
        "INvC1a1bFG_G0_EuE",
        "INvC1a1bKhpE",
        "C1a ",
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (rust_v0_is_affordable(span_cstr(names[i])))
            fail_msg("%s", names[i]);
    }
    assert_false(rust_v0_is_affordable(span_of("C1a\0", 4)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_production_of_the_grammar_is_walked),
        cmocka_unit_test(what_breaks_the_grammar_is_refused),
    };
    return cmocka_run_group_tests_name("rust_v0", tests, NULL, NULL);
}
