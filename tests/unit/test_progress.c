#include "cli/progress.h"

#include <string.h>

#include "tests/support/test.h"

#define MIB ((uint64_t)1 << 20)

static void expect(struct progress_state state, size_t width, const char *line) {
    char text[256];
    progress_format(&state, width, text);
    assert_string_equal(text, line);
}

static void the_line_shows_share_rate_and_time_left(void **state) {
    (void)state;
    expect((struct progress_state){.bytes = 3 * MIB,
                                   .bytes_total = 4 * MIB,
                                   .files = 1,
                                   .files_total = 2,
                                   .rate = 1 << 19},
           79, "[==================>     ]  75% 3.0 MiB/4.0 MiB 512.0 KiB/s ETA 0:02 file 1/2");
}

static void what_is_not_known_yet_is_not_made_up(void **state) {
    (void)state;
    expect((struct progress_state){.bytes_total = 100, .files_total = 1}, 79,
           "[>                       ]   0% 0 B/100 B -/s ETA -:-- file 0/1");
}

static void long_waits_are_shown_in_hours(void **state) {
    (void)state;
    expect((struct progress_state){.bytes_total = 7384, .rate = 1}, 44,
           "  0% 0 B/7.2 KiB 1 B/s ETA 2:03:04 file 0/0");
}

static void the_end_fills_the_bar(void **state) {
    (void)state;
    expect((struct progress_state){.bytes = 5, .bytes_total = 5, .files = 1, .files_total = 1}, 79,
           "[========================] 100% 5 B/5 B -/s ETA 0:00 file 1/1");
    expect((struct progress_state){0}, 79,
           "[========================] 100% 0 B/0 B -/s ETA 0:00 file 0/0");
}

static void a_line_never_is_wider_than_its_terminal(void **state) {
    (void)state;
    const struct progress_state full = {
        .bytes = UINT64_MAX, .bytes_total = 1, .files_total = UINT64_MAX, .rate = 1e30};
    for (size_t width = 0; width < 200; width++) {
        char text[256];
        progress_format(&full, width, text);
        assert_true(strlen(text) <= width);
    }
}

static void nobody_watches_what_is_no_terminal(void **state) {
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_null(progress_new(file, 1, 1));
    progress_move(NULL, 1);
    progress_pause(NULL);
    progress_resume(NULL);
    progress_end_file(NULL, 1);
    assert_int_equal(ftell(file), 0);
    fclose(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_shows_share_rate_and_time_left),
        cmocka_unit_test(what_is_not_known_yet_is_not_made_up),
        cmocka_unit_test(long_waits_are_shown_in_hours),
        cmocka_unit_test(the_end_fills_the_bar),
        cmocka_unit_test(a_line_never_is_wider_than_its_terminal),
        cmocka_unit_test(nobody_watches_what_is_no_terminal),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
