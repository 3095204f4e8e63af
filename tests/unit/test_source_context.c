#include "cli/source_context.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

/* "" when there is nothing to show. */
static void check(const char *path, uint32_t line, unsigned count, const char *want) {
    CLEANUP(buffer_clear) struct buffer text = {0};
    bool shown = source_context_read(span_cstr(path), line, count, &text);
    assert_int_equal(shown, want[0] != '\0');
    assert_string_equal(buffer_cstr(&text), want);
}

static void lines_around_one_are_shown_as_llvm_symbolizer_does(void **state) {
    (void)state;
    struct scratch scratch;
    scratch_make(&scratch);
    const char *path = scratch_path(&scratch, "source");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 1; i < 12; i++)
        fprintf(file, "line %d%s\n", i, i == 4 ? "\r" : "");
    fputs("the end", file);
    assert_int_equal(fclose(file), 0);
    check(path, 3, 3, "2  : line 2\n3 >: line 3\n4  : line 4\n");
    check(path, 3, 4, "1  : line 1\n2  : line 2\n3 >: line 3\n4  : line 4\n");
    check(path, 1, 3, "1 >: line 1\n2  : line 2\n3  : line 3\n");
    check(path, 10, 3, " 9  : line 9\n10 >: line 10\n11  : line 11\n");
    check(path, 9, 3, "8  : line 8\n9 >: line 9\n10  : line 10\n");
    check(path, 12, 1, "12 >: the end\n");
    check(path, 12, 5, "10  : line 10\n11  : line 11\n12 >: the end\n");
    check(path, UINT32_MAX, 3, "");
    check(path, 3, 0, "");
    check(path, 0, 3, "");
    scratch_remove(&scratch);
}

static void what_is_no_regular_file_is_not_read(void **state) {
    (void)state;
    check("/dev/zero", 1, 1, "");
    check("/nonexistent", 1, 1, "");
    check("/", 1, 1, "");
    check("", 1, 1, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_around_one_are_shown_as_llvm_symbolizer_does),
        cmocka_unit_test(what_is_no_regular_file_is_not_read),
    };
    return cmocka_run_group_tests_name("source_context", tests, NULL, NULL);
}
