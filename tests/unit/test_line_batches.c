#include "cli/line_batches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/test.h"

struct ends {
    int fds[2];
    struct line_batches batches;
};

static int set_up(void **state) {
    struct ends *ends = calloc(1, sizeof(*ends));
    assert_non_null(ends);
    assert_int_equal(pipe(ends->fds), 0);
    ends->batches.fd = ends->fds[0];
    *state = ends;
    return 0;
}

static int tear_down(void **state) {
    struct ends *ends = *state;
    line_batches_clear(&ends->batches);
    fd_close(ends->fds[0]);
    fd_close(ends->fds[1]);
    free(ends);
    return 0;
}

static void say(struct ends *ends, const char *text) {
    assert_int_equal(write(ends->fds[1], text, strlen(text)), strlen(text));
}

static void expect(struct ends *ends, const char *want) {
    struct span lines;
    struct error error;
    assert_int_equal(line_batches_next(&ends->batches, &lines, &error), ERR_OK);
    assert_int_equal(lines.size, strlen(want));
    assert_memory_equal(lines.data ? lines.data : "", want, lines.size);
}

static void what_is_there_comes_at_once(void **state) {
    struct ends *ends = *state;
    say(ends, "one\n");
    expect(ends, "one\n");
    say(ends, "two\nthree\n");
    expect(ends, "two\nthree\n");
}

static void a_line_is_not_cut_where_a_write_ended(void **state) {
    struct ends *ends = *state;
    say(ends, "one\ntw");
    expect(ends, "one\n");
    say(ends, "o\n");
    expect(ends, "two\n");
}

static void the_last_line_may_lack_its_end(void **state) {
    struct ends *ends = *state;
    say(ends, "one\ntwo");
    expect(ends, "one\n");
    ends->fds[1] = fd_close(ends->fds[1]);
    expect(ends, "two");
    expect(ends, "");
    expect(ends, "");
}

static void a_line_without_end_is_refused_in_time(void **state) {
    (void)state;
    CLEANUP(cleanup_fd) int fd = -1;
    FILE *file = tmpfile();
    assert_non_null(file);
    fd = dup(fileno(file));
    assert_int_equal(ftruncate(fd, (off_t)4 * LINE_SIZE_MAX), 0);
    struct line_batches batches = {.fd = fd};
    struct span lines;
    struct error error;
    assert_int_equal(line_batches_next(&batches, &lines, &error), ERR_LIMIT);
    assert_true(batches.bytes.size < 2 * LINE_SIZE_MAX);
    line_batches_clear(&batches);
    fclose(file);
}

static void what_cannot_be_read_is_an_error(void **state) {
    (void)state;
    struct line_batches batches = {.fd = -1};
    struct span lines;
    struct error error;
    assert_int_equal(line_batches_next(&batches, &lines, &error), ERR_IO);
    line_batches_clear(&batches);
}

#define ON_PIPE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_PIPE(what_is_there_comes_at_once),
        ON_PIPE(a_line_is_not_cut_where_a_write_ended),
        ON_PIPE(the_last_line_may_lack_its_end),
        cmocka_unit_test(a_line_without_end_is_refused_in_time),
        cmocka_unit_test(what_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests_name("line_batches", tests, NULL, NULL);
}
