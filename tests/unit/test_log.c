#include "base/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"

static char line[16384];

static const char *read_line(int pipe_end) {
    ssize_t size = read(pipe_end, line, sizeof(line) - 1);
    line[size > 0 ? size : 0] = '\0';
    const char *level = strstr(line, "level=");
    return level ? level : line;
}

static void values_are_quoted_when_they_must_be(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct log log = {.fd = ends[1], .level_min = LOG_LEVEL_INFO};
    log_event(&log, LOG_LEVEL_INFO, "event_name", log_str("plain", "a/b"),
              log_str("quoted", "a \"b\"\n="), log_i64("number", -5), log_str("empty", NULL));
    assert_string_equal(read_line(ends[0]), "level=info event=event_name plain=a/b "
                                            "quoted=\"a \\\"b\\\"\\x0a=\" number=-5 empty=\"\"\n");
    close(ends[0]);
    close(ends[1]);
}

static void levels_below_the_least_are_dropped(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct log log = {.fd = ends[1], .level_min = LOG_LEVEL_WARN};
    log_event(&log, LOG_LEVEL_INFO, "not_shown", log_i64("n", 1));
    log_event(&log, LOG_LEVEL_ERROR, "shown", log_i64("n", 2));
    assert_string_equal(read_line(ends[0]), "level=error event=shown n=2\n");
    close(ends[0]);
    close(ends[1]);
}

static void a_long_line_is_cut_at_a_field(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct log log = {.fd = ends[1], .level_min = LOG_LEVEL_DEBUG};
    char *text = malloc(50000);
    memset(text, 'x', 49999);
    text[49999] = '\0';
    log_event(&log, LOG_LEVEL_DEBUG, "long", log_i64("kept", 1), log_str("cut", text),
              log_i64("lost", 2));
    assert_string_equal(read_line(ends[0]), "level=debug event=long kept=1 truncated=true\n");
    free(text);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_quoted_when_they_must_be),
        cmocka_unit_test(levels_below_the_least_are_dropped),
        cmocka_unit_test(a_long_line_is_cut_at_a_field),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
