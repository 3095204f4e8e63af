#include "symbolizer/protocol/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static int count_of(const char *const *arguments) {
    int count = 0;
    while (arguments[count])
        count++;
    return count;
}

static void a_job_survives_the_command_line(void **state) {
    (void)state;
    struct job job = {.operation = JOB_SECTION,
                      .inputs = {{JOB_ROLE_MAIN, 4}, {JOB_ROLE_DEBUG, 5}, {JOB_ROLE_DWO, 6}},
                      .input_count = 3,
                      .out_fd = 7,
                      .report_fd = 3,
                      .section = ".debug_info",
                      .memory_max = UINT64_MAX,
                      .size_max = 1};
    char storage[JOB_STORAGE_SIZE];
    const char *arguments[JOB_ARGUMENT_MAX];
    struct error error;
    assert_int_equal(job_to_arguments(&job, "worker", storage, arguments, &error), ERR_OK);
    assert_string_equal(arguments[0], "worker");
    assert_string_equal(arguments[1], "section");
    struct job again;
    assert_int_equal(
        job_from_arguments(count_of(arguments), (char *const *)arguments, &again, &error), ERR_OK);
    assert_int_equal(again.operation, JOB_SECTION);
    assert_int_equal(again.input_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(again.inputs[i].role, job.inputs[i].role);
        assert_int_equal(again.inputs[i].fd, job.inputs[i].fd);
    }
    assert_int_equal(again.out_fd, 7);
    assert_int_equal(again.report_fd, 3);
    assert_string_equal(again.section, ".debug_info");
    assert_true(again.memory_max == UINT64_MAX);
    assert_true(again.size_max == 1);
}

static void a_second_opinion_is_asked_for_by_name(void **state) {
    (void)state;
    const struct job job = {.operation = JOB_BUILD,
                            .inputs = {{JOB_ROLE_MAIN, 4}},
                            .input_count = 1,
                            .out_fd = 7,
                            .report_fd = 3,
                            .dwarf_backend = DWARF_BACKEND_LIBDW};
    char storage[JOB_STORAGE_SIZE];
    const char *arguments[JOB_ARGUMENT_MAX];
    struct error error;
    struct job again;
    assert_int_equal(job_to_arguments(&job, "worker", storage, arguments, &error), ERR_OK);
    assert_string_equal(arguments[4], "--dwarf-backend=libdw");
    assert_int_equal(
        job_from_arguments(count_of(arguments), (char *const *)arguments, &again, &error), ERR_OK);
    assert_int_equal(again.dwarf_backend, DWARF_BACKEND_LIBDW);
}

static void threads_are_passed_on(void **state) {
    (void)state;
    struct job job = {.operation = JOB_BUILD,
                      .inputs = {{JOB_ROLE_MAIN, 4}},
                      .input_count = 1,
                      .out_fd = 7,
                      .report_fd = 3,
                      .thread_count = 8};
    char storage[JOB_STORAGE_SIZE];
    const char *arguments[JOB_ARGUMENT_MAX];
    struct error error;
    struct job again;
    assert_int_equal(job_to_arguments(&job, "worker", storage, arguments, &error), ERR_OK);
    assert_string_equal(arguments[4], "--threads=8");
    assert_int_equal(
        job_from_arguments(count_of(arguments), (char *const *)arguments, &again, &error), ERR_OK);
    assert_int_equal(again.thread_count, 8);
    job.thread_count = JOB_THREAD_MAX + 1;
    assert_int_equal(job_to_arguments(&job, "worker", storage, arguments, &error), ERR_INVALID);
}

static void columns_are_left_out_when_told(void **state) {
    (void)state;
    struct job job = {.operation = JOB_BUILD,
                      .inputs = {{JOB_ROLE_MAIN, 4}},
                      .input_count = 1,
                      .out_fd = 7,
                      .report_fd = 3,
                      .without_columns = true};
    char storage[JOB_STORAGE_SIZE];
    const char *arguments[JOB_ARGUMENT_MAX];
    struct error error;
    struct job again;
    assert_int_equal(job_to_arguments(&job, "worker", storage, arguments, &error), ERR_OK);
    assert_string_equal(arguments[4], "--columns=no");
    assert_int_equal(
        job_from_arguments(count_of(arguments), (char *const *)arguments, &again, &error), ERR_OK);
    assert_true(again.without_columns);
    job.operation = JOB_IDENTIFY;
    job.out_fd = -1;
    assert_int_equal(job_to_arguments(&job, "worker", storage, arguments, &error), ERR_INVALID);
}

static void the_largest_job_fits_its_storage(void **state) {
    (void)state;
    char section[256];
    memset(section, 's', 255);
    section[255] = '\0';
    struct job job = {.operation = JOB_SECTION,
                      .input_count = JOB_INPUT_MAX,
                      .out_fd = INT32_MAX,
                      .report_fd = INT32_MAX,
                      .section = section,
                      .memory_max = UINT64_MAX,
                      .size_max = UINT64_MAX};
    for (size_t i = 0; i < JOB_INPUT_MAX; i++)
        job.inputs[i] = (struct job_input){JOB_ROLE_SUPPLEMENTARY, INT32_MAX};
    char storage[JOB_STORAGE_SIZE];
    const char *arguments[JOB_ARGUMENT_MAX];
    struct error error;
    assert_int_equal(job_to_arguments(&job, "worker", storage, arguments, &error), ERR_OK);
    assert_int_equal(count_of(arguments), JOB_ARGUMENT_MAX - 3);
    struct job again;
    assert_int_equal(
        job_from_arguments(count_of(arguments), (char *const *)arguments, &again, &error), ERR_OK);
    assert_int_equal(again.input_count, JOB_INPUT_MAX);
}

static void a_program_path_over_the_storage_is_refused(void **state) {
    (void)state;
    static char program[JOB_STORAGE_SIZE + 1];
    memset(program, 'p', JOB_STORAGE_SIZE);
    struct job job = {.operation = JOB_IDENTIFY,
                      .inputs = {{JOB_ROLE_MAIN, 4}},
                      .input_count = 1,
                      .out_fd = -1,
                      .report_fd = 3};
    char storage[JOB_STORAGE_SIZE];
    const char *arguments[JOB_ARGUMENT_MAX];
    struct error error;
    assert_int_equal(job_to_arguments(&job, program, storage, arguments, &error), ERR_INVALID);
}

#define WORDS_MAX 8

static void wrong_command_lines_are_refused(void **state) {
    (void)state;
    static const char *const lines[][WORDS_MAX] = {
        {"w"},
        {"w", "explode", "--report=3", "main=4"},
        {"w", "identify", "main=4"},
        {"w", "identify", "--report=3"},
        {"w", "identify", "--report=3", "main"},
        {"w", "identify", "--report=3", "main="},
        {"w", "identify", "--report=3", "main=-1"},
        {"w", "identify", "--report=3", "main=+1"},
        {"w", "identify", "--report=3", "main= 1"},
        {"w", "identify", "--report=3", "main=4x"},
        {"w", "identify", "--report=3", "main=2147483648"},
        {"w", "identify", "--report=3", "main=99999999999999999999"},
        {"w", "identify", "--report=3", "other=4"},
        {"w", "identify", "--report=3", "--report=3", "main=4"},
        {"w", "identify", "--report=3", "--out=5", "main=4"},
        {"w", "identify", "--report=3", "--section=.text", "main=4"},
        {"w", "identify", "--report=3", "--memory-max=0", "main=4"},
        {"w", "identify", "--report=3", "--memory-max=18446744073709551616", "main=4"},
        {"w", "identify", "--report=3", "--size-max=1", "--size-max=1", "main=4"},
        {"w", "build", "--report=3", "main=4"},
        {"w", "build", "--report=3", "--out=5", "--columns=yes", "main=4"},
        {"w", "build", "--report=3", "--out=5", "--threads=0", "main=4"},
        {"w", "build", "--report=3", "--out=5", "--threads=257", "main=4"},
        {"w", "build", "--report=3", "--out=5", "--threads=2", "--threads=2", "main=4"},
        {"w", "build", "--report=3", "--out=5", "--columns=no", "--columns=no", "main=4"},
        {"w", "build", "--report=3", "--out=5", "--dwarf-backend=native", "main=4"},
        {"w", "build", "--report=3", "--out=5", "--dwarf-backend=", "main=4"},
        {"w", "identify", "--report=3", "--dwarf-backend=libdw", "main=4"},
        {"w", "section", "--report=3", "--out=5", "main=4"},
        {"w", "section", "--report=3", "--out=5", "--section=", "main=4"},
        {"w", "section", "--report=3", "--out=5", "--section=a", "--section=b", "main=4"},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        int count = 0;
        while (count < WORDS_MAX && lines[i][count])
            count++;
        struct job job = {.report_fd = 77};
        struct error error = {0};
        enum err err = job_from_arguments(count, (char *const *)lines[i], &job, &error);
        if (err != ERR_INVALID)
            fail_msg("line %zu was accepted", i);
        assert_int_equal(job.report_fd, 77);
        assert_true(error.text[0] != '\0');
    }
}

static void the_refusal_names_the_argument(void **state) {
    (void)state;
    const char *const words[] = {"w", "identify", "--report=3", "dwp=x"};
    struct job job;
    struct error error;
    assert_int_equal(job_from_arguments(4, (char *const *)words, &job, &error), ERR_INVALID);
    assert_non_null(strstr(error.text, "dwp=x"));
}

static void more_inputs_than_the_maximum_are_refused(void **state) {
    (void)state;
    const char *words[JOB_INPUT_MAX + 4] = {"w", "identify", "--report=3"};
    for (size_t i = 0; i <= JOB_INPUT_MAX; i++)
        words[3 + i] = "dwo=4";
    struct job job;
    struct error error;
    assert_int_equal(job_from_arguments(JOB_INPUT_MAX + 3, (char *const *)words, &job, &error),
                     ERR_OK);
    assert_int_equal(job_from_arguments(JOB_INPUT_MAX + 4, (char *const *)words, &job, &error),
                     ERR_INVALID);
}

static void every_role_and_operation_has_a_name(void **state) {
    (void)state;
    for (int role = JOB_ROLE_MAIN; role <= JOB_ROLE_DWO; role++) {
        enum job_role again;
        assert_true(job_role_from_name(span_cstr(job_role_name((enum job_role)role)), &again));
        assert_int_equal(again, role);
    }
    assert_null(job_role_name((enum job_role)0));
    assert_null(job_role_name((enum job_role)(JOB_ROLE_DWO + 1)));
    assert_string_equal(job_operation_name(JOB_BUILD), "build");
    assert_null(job_operation_name((enum job_operation)0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_survives_the_command_line),
        cmocka_unit_test(a_second_opinion_is_asked_for_by_name),
        cmocka_unit_test(threads_are_passed_on),
        cmocka_unit_test(columns_are_left_out_when_told),
        cmocka_unit_test(the_largest_job_fits_its_storage),
        cmocka_unit_test(a_program_path_over_the_storage_is_refused),
        cmocka_unit_test(wrong_command_lines_are_refused),
        cmocka_unit_test(the_refusal_names_the_argument),
        cmocka_unit_test(more_inputs_than_the_maximum_are_refused),
        cmocka_unit_test(every_role_and_operation_has_a_name),
    };
    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
