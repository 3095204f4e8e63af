#include "cli/command_line.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

/* The arguments behind the first, each in brackets. */
static void check(const char *environment, char *argument, const char *want) {
    char program[] = "program";
    char *arguments[] = {program, argument, NULL};
    struct command_line line;
    struct error error;
    char got[512] = "";
    if (command_line_expand(argument ? 2 : 1, arguments, environment, &line, &error))
        fail_msg("%s", error.text);
    assert_string_equal(line.arguments[0], "program");
    for (int i = 1; i < line.count; i++) {
        size_t size = strlen(got);
        snprintf(got + size, sizeof(got) - size, "[%s]", line.arguments[i]);
    }
    assert_null(line.arguments[line.count]);
    command_line_clear(&line);
    assert_string_equal(got, want);
}

static void write_text(const struct scratch *scratch, const char *name, const char *text) {
    FILE *file = fopen(scratch_path(scratch, name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void options_of_the_environment_come_first(void **state) {
    (void)state;
    char argument[] = "last";
    check("-a  'b c'\t\"d\\\"e\" f\\ g \"\"", argument, "[-a][b c][d\"e][f g][][last]");
    check(NULL, argument, "[last]");
    check(" ", NULL, "");
}

static void a_response_file_stands_for_its_words(void **state) {
    (void)state;
    struct scratch scratch;
    char argument[512];
    char text[1024];
    scratch_make(&scratch);
    snprintf(argument, sizeof(argument), "@%s", scratch_path(&scratch, "outer"));
    snprintf(text, sizeof(text), "1 @%s 4\n@nothing", scratch_path(&scratch, "inner"));
    write_text(&scratch, "outer", text);
    write_text(&scratch, "inner", "2\r\n'3 '");
    check(NULL, argument, "[1][2][3 ][4][@nothing]");
    scratch_remove(&scratch);
}

static void a_response_file_of_itself_is_refused(void **state) {
    (void)state;
    struct scratch scratch;
    char argument[512];
    scratch_make(&scratch);
    snprintf(argument, sizeof(argument), "@%s", scratch_path(&scratch, "loop"));
    write_text(&scratch, "loop", argument);
    char program[] = "program";
    char *arguments[] = {program, argument, NULL};
    struct command_line line;
    struct error error;
    assert_int_equal(command_line_expand(2, arguments, NULL, &line, &error), ERR_LIMIT);
    command_line_clear(&line);
    scratch_remove(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_the_environment_come_first),
        cmocka_unit_test(a_response_file_stands_for_its_words),
        cmocka_unit_test(a_response_file_of_itself_is_refused),
    };
    return cmocka_run_group_tests_name("command_line", tests, NULL, NULL);
}
