#include "api/server_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/test.h"

#define ARGUMENT_COUNT_MAX 16

struct outcome {
    enum err err;
    struct server_options options;
    enum server_action action;
    struct error error;
};

/* Parses "symbolizerd" and the arguments up to NULL. */
static struct outcome parse(const char *const *arguments) {
    static char copies[ARGUMENT_COUNT_MAX][256];
    char *list[ARGUMENT_COUNT_MAX + 1] = {(char *)"symbolizerd"};
    int count = 1;
    for (; arguments[count - 1]; count++) {
        snprintf(copies[count], sizeof(copies[count]), "%s", arguments[count - 1]);
        list[count] = copies[count];
    }
    struct outcome outcome = {.err = ERR_OK};
    opterr = 0;
    outcome.err =
        server_options_parse(count, list, &outcome.options, &outcome.action, &outcome.error);
    return outcome;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void every_flag_has_a_default(void **state) {
    (void)state;
    setenv("XDG_STATE_HOME", "/state", 1);
    struct outcome outcome = parse((const char *const[]){NULL});
    assert_int_equal(outcome.err, ERR_OK);
    assert_int_equal(outcome.action, SERVER_RUN);
    assert_string_equal(outcome.options.data_directory,
                        geteuid() == 0 ? "/var/lib/symbolizer" : "/state/symbolizer");
    assert_string_equal(outcome.options.http.address, "127.0.0.1");
    assert_int_equal(outcome.options.http.port, 7080);
    assert_string_equal(outcome.options.grpc.address, "127.0.0.1");
    assert_int_equal(outcome.options.grpc.port, 7070);
    assert_non_null(strstr(outcome.options.worker, "/symbolizer-worker"));
    assert_true(outcome.options.upload_size_max == (uint64_t)4 << 30);
    assert_true(outcome.options.index_disk_size_max == (uint64_t)20 << 30);
    assert_int_equal(outcome.options.worker_count, 0);
    assert_int_equal(outcome.options.worker_deadline_ms, 600000);
    assert_true(outcome.options.worker_memory_max == (uint64_t)4 << 30);
    assert_int_equal(outcome.options.log_level, LOG_LEVEL_INFO);
}

static void every_flag_is_read(void **state) {
    (void)state;
    struct outcome outcome = PARSE("--data-dir", "/d", "--http-listen=[::1]:0", "--grpc-listen",
                                   "127.0.0.9:65535", "--worker=/w", "--max-upload-size=7",
                                   "--index-cache-size=3MiB", "--workers=256", "--log-level=debug",
                                   "--worker-deadline=2", "--worker-memory=1GiB");
    assert_int_equal(outcome.err, ERR_OK);
    assert_string_equal(outcome.options.data_directory, "/d");
    assert_string_equal(outcome.options.http.address, "::1");
    assert_int_equal(outcome.options.http.port, 0);
    assert_string_equal(outcome.options.grpc.address, "127.0.0.9");
    assert_int_equal(outcome.options.grpc.port, 65535);
    assert_string_equal(outcome.options.worker, "/w");
    assert_int_equal(outcome.options.upload_size_max, 7);
    assert_int_equal(outcome.options.index_disk_size_max, 3 << 20);
    assert_int_equal(outcome.options.worker_count, 256);
    assert_int_equal(outcome.options.worker_deadline_ms, 2000);
    assert_int_equal(outcome.options.worker_memory_max, 1 << 30);
    assert_int_equal(outcome.options.log_level, LOG_LEVEL_DEBUG);
}

static void what_others_can_reach_has_to_be_said_twice(void **state) {
    (void)state;
    static const char *const remote[] = {"0.0.0.0:1",       "192.168.1.1:1",        "[::]:1",
                                         "[2001:db8::1]:1", "[::ffff:127.0.0.1]:1", "128.0.0.1:1"};
    for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++) {
        assert_int_equal(PARSE("--http-listen", remote[i]).err, ERR_INVALID);
        assert_int_equal(PARSE("--grpc-listen", remote[i]).err, ERR_INVALID);
        assert_int_equal(PARSE("--http-listen", remote[i], "--allow-remote").err, ERR_OK);
    }
    struct outcome outcome = PARSE("--http-listen", "0.0.0.0:1");
    assert_non_null(strstr(outcome.error.text, "--allow-remote"));
}

static void a_bad_value_is_told_with_its_flag(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"--http-listen", "localhost:1"},
        {"--http-listen", "127.0.0.1"},
        {"--http-listen", "127.0.0.1:65536"},
        {"--http-listen", "127.0.0.1:"},
        {"--http-listen", "::1:80"},
        {"--http-listen", "[127.0.0.1]:80"},
        {"--http-listen", "127.0.0.1:-1"},
        {"--max-upload-size", "0"},
        {"--max-upload-size", "4GB"},
        {"--max-upload-size", "-4"},
        {"--max-upload-size", "99999999999GiB"},
        {"--index-cache-size", ""},
        {"--workers", "0"},
        {"--worker-deadline", "0"},
        {"--worker-deadline", "86401"},
        {"--worker-memory", "1TB"},
        {"--workers", "257"},
        {"--workers", "two"},
        {"--log-level", "loud"},
        {"--data-dir", ""},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct outcome outcome = PARSE(bad[i][0], bad[i][1]);
        if (outcome.err != ERR_INVALID)
            fail_msg("%s \"%s\" was accepted", bad[i][0], bad[i][1]);
        assert_true(outcome.error.text[0] != '\0');
    }
    assert_int_equal(PARSE("--no-such-flag").err, ERR_INVALID);
    assert_string_equal(PARSE("stray").error.text, "unexpected argument \"stray\"");
}

static void help_and_version_ask_for_nothing_else(void **state) {
    (void)state;
    assert_int_equal(PARSE("--help").action, SERVER_SHOW_HELP);
    assert_int_equal(PARSE("--version").action, SERVER_SHOW_VERSION);
}

static void help_names_every_flag_with_its_default(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    server_options_help(out);
    fclose(out);
    static const char *const flags[] = {"--data-dir",         "--http-listen", "--grpc-listen",
                                        "--worker ",          "--workers",     "--worker-deadline",
                                        "--worker-memory",    "--log-level",   "--max-upload-size",
                                        "--index-cache-size", "--allow-remote"};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        const char *flag = strstr(text, flags[i]);
        assert_non_null(flag);
        const char *fallback = strstr(flag, "(default: ");
        const char *next = strstr(flag + 2, "\n  --");
        assert_true(fallback && (!next || fallback < next));
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flag_has_a_default),
        cmocka_unit_test(every_flag_is_read),
        cmocka_unit_test(what_others_can_reach_has_to_be_said_twice),
        cmocka_unit_test(a_bad_value_is_told_with_its_flag),
        cmocka_unit_test(help_and_version_ask_for_nothing_else),
        cmocka_unit_test(help_names_every_flag_with_its_default),
    };
    return cmocka_run_group_tests_name("server_options", tests, NULL, NULL);
}
