#include "api/settings.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/support/test.h"

#define ARGUMENT_COUNT_MAX 16

struct outcome {
    enum err err;
    struct server_options options;
    struct settings settings;
    enum settings_action action;
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
    outcome.err = settings_load(count, list, &outcome.settings, &outcome.action, &outcome.error);
    outcome.options = outcome.settings.options;
    return outcome;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void every_flag_has_a_default(void **state) {
    (void)state;
    setenv("XDG_STATE_HOME", "/state", 1);
    struct outcome outcome = parse((const char *const[]){NULL});
    assert_int_equal(outcome.err, ERR_OK);
    assert_int_equal(outcome.action, SETTINGS_RUN);
    assert_string_equal(outcome.options.data_directory,
                        geteuid() == 0 ? "/var/lib/symbolizer" : "/state/symbolizer");
    assert_string_equal(outcome.options.http.address, "127.0.0.1");
    assert_int_equal(outcome.options.http.port, 7080);
    assert_string_equal(outcome.options.grpc.address, "127.0.0.1");
    assert_int_equal(outcome.options.grpc.port, 7070);
    assert_non_null(strstr(outcome.options.worker, "/symbolizer-worker"));
    assert_true(outcome.options.upload_size_max == (uint64_t)4 << 30);
    assert_true(outcome.options.index_disk_size_max == (uint64_t)20 << 30);
    assert_in_range(outcome.options.worker_count, 1, 4);
    assert_int_equal(outcome.options.worker_deadline_ms, 600000);
    assert_true(outcome.options.worker_memory_max == (uint64_t)4 << 30);
    assert_int_equal(outcome.options.worker_thread_count, 2);
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
    assert_int_equal(PARSE("--help").action, SETTINGS_SHOW_HELP);
    assert_int_equal(PARSE("--version").action, SETTINGS_SHOW_VERSION);
}

static void help_names_every_flag_with_its_key_and_default(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    settings_help(out);
    fclose(out);
    for (size_t i = 0; i < settings_count(); i++) {
        char flag[80];
        snprintf(flag, sizeof(flag), "\n  --%s", settings_at(i)->flag);
        const char *found = strstr(text, flag);
        assert_non_null(found);
        const char *key = strstr(found, settings_at(i)->key);
        const char *fallback = strstr(found, "default:");
        const char *next = strstr(found + 2, "\n  --");
        assert_true(key && (!next || key < next));
        assert_true(fallback && (!next || fallback < next));
    }
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= 100);
    free(text);
}

static void no_two_settings_share_a_name_or_a_place(void **state) {
    (void)state;
    for (size_t i = 0; i < settings_count(); i++) {
        const struct setting *a = settings_at(i);
        assert_true(a->fallback || a->fallback_words);
        for (size_t j = 0; j < i; j++) {
            const struct setting *b = settings_at(j);
            assert_string_not_equal(a->key, b->key);
            assert_string_not_equal(a->flag, b->flag);
            assert_int_not_equal(a->offset, b->offset);
        }
    }
}

/* Reads the text over the defaults. */
static struct outcome read_file(const char *text) {
    struct outcome outcome = PARSE(NULL);
    assert_int_equal(outcome.err, ERR_OK);
    outcome.err = settings_yaml_read("f.yaml", span_cstr(text), &outcome.settings, &outcome.error);
    outcome.options = outcome.settings.options;
    return outcome;
}

static void a_file_sets_what_it_names(void **state) {
    (void)state;
    struct outcome outcome = read_file("# a comment\n"
                                       "data_dir: '/srv/it''s'\n"
                                       "allow_remote: true\n"
                                       "listen: {http: \"[::1]:80\", grpc: 127.0.0.2:81}\n"
                                       "uploads:\n"
                                       "  max_size: 3MiB\n"
                                       "  stale_after: 2h\n"
                                       "workers:\n"
                                       "  # count: 3\n"
                                       "log:\n"
                                       "  level: warn\n");
    assert_int_equal(outcome.err, ERR_OK);
    assert_string_equal(outcome.options.data_directory, "/srv/it's");
    assert_true(outcome.options.allow_remote);
    assert_string_equal(outcome.options.http.address, "::1");
    assert_int_equal(outcome.options.grpc.port, 81);
    assert_true(outcome.options.upload_size_max == 3 << 20);
    assert_true(outcome.options.upload_stale_ms == 7200000);
    assert_int_equal(outcome.options.log_level, LOG_LEVEL_WARN);
}

static void an_empty_file_sets_nothing(void **state) {
    (void)state;
    static const char *const empty[] = {"", "\n", "# only a comment\n", "---\n", "{}", "~\n"};
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
        assert_int_equal(read_file(empty[i]).err, ERR_OK);
}

static void what_is_wrong_in_a_file_is_told_with_its_place(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"log:\n  levle: info\n", "f.yaml:2:3: unknown key \"log.levle\"; is log.level meant?"},
        {"max_size: 1\n", "f.yaml:1:1: unknown key \"max_size\"; is uploads.max_size meant?"},
        {"upload: {}\n", "f.yaml:1:1: unknown key \"upload\"; is uploads meant?"},
        {"zzzzzzzzzzzzzzzz: 1\n", "f.yaml:1:1: unknown key \"zzzzzzzzzzzzzzzz\""},
        {"uploads.max_size: 1\n", "f.yaml:1:1: unknown key \"uploads.max_size\""},
        {"log: {level: info, level: warn}\n", "f.yaml:1:20: log.level is given twice"},
        {"log: {}\nlog: {level: warn}\n", "f.yaml:2:1: log is given twice"},
        {"log: &l {level: warn}\n", "f.yaml:1:6: anchors are not read here"},
        {"log: *l\n", "f.yaml:1:6: aliases are not read here"},
        {"log: !!map {level: warn}\n", "f.yaml:1:6: tags are not read here"},
        {"data_dir: !x /d\n", "f.yaml:1:11: tags are not read here"},
        {"<<: {}\n", "f.yaml:1:1: unknown key \"<<\""},
        {"log: {}\n---\nlog: {}\n", "f.yaml:2:1: a second document"},
        {"log: {level: [[[[[[\n", "f.yaml:1:14: log.level has a list: want one of its words"},
        {"log: {level: {a: b}}\n", "f.yaml:1:14: log.level has a mapping"},
        {"log: info\n", "f.yaml:1:6: log has one value: want a mapping of its settings"},
        {"- log\n", "f.yaml:1:1: the file has a list: want a mapping"},
        {"[a]: b\n", "f.yaml:1:1: want the name of a setting here"},
        {"log:\n  level: loud\n",
         "f.yaml:2:10: log.level: \"loud\": want debug, info, warn or error"},
        {"workers: {count: \"4\"}\n", "f.yaml:1:18: workers.count: a text in quotes: want a whole "
                                      "number without quotes"},
        {"workers: {count: 257}\n",
         "f.yaml:1:18: workers.count: \"257\": want a whole number, from "
         "1 to 256"},
        {"allow_remote: yes\n", "f.yaml:1:15: allow_remote: \"yes\": want true or false"},
        {"data_dir:\n", "f.yaml:1:10: data_dir has no value: want a path"},
        {"data_dir: null\n", "f.yaml:1:11: data_dir has no value: want a path"},
        {"data_dir: \"a\\0b\"\n", "f.yaml:1:11: data_dir has one value: want a path"},
        {"data_dir: \"a\\nb\"\n", "f.yaml:1:11: data_dir: has a byte that is no printable UTF-8"},
        {"listen: {http: localhost:1}\n", "f.yaml:1:16: listen.http: \"localhost:1\" is no listen "
                                          "address"},
        {"log: {level: info\n", "f.yaml:2:1: no YAML: "},
        {"\x01", "f.yaml: no YAML text at byte "},
        {"log: \xff\n", "f.yaml: no YAML text at byte 5: "},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct outcome outcome = read_file(bad[i][0]);
        if (outcome.err != ERR_INVALID || !strstr(outcome.error.text, bad[i][1]))
            fail_msg("%s\nsays \"%s\" (%d), not \"%s\"", bad[i][0], outcome.error.text,
                     (int)outcome.err, bad[i][1]);
    }
}

static void a_file_over_the_limit_is_refused(void **state) {
    (void)state;
    struct outcome outcome = PARSE(NULL);
    char *text = malloc(SETTINGS_FILE_SIZE_MAX + 1);
    memset(text, '#', SETTINGS_FILE_SIZE_MAX + 1);
    assert_int_equal(settings_yaml_read("f", span_of(text, SETTINGS_FILE_SIZE_MAX + 1),
                                        &outcome.settings, &outcome.error),
                     ERR_INVALID);
    assert_string_equal(outcome.error.text, "f: larger than 64 KiB");
    assert_int_equal(settings_yaml_read("f", span_of(text, SETTINGS_FILE_SIZE_MAX),
                                        &outcome.settings, &outcome.error),
                     ERR_OK);
    free(text);
}

static void a_refused_file_changes_nothing(void **state) {
    (void)state;
    struct outcome outcome = read_file("log: {level: debug}\nbad: 1\n");
    assert_int_equal(outcome.err, ERR_INVALID);
    assert_int_equal(outcome.options.log_level, LOG_LEVEL_INFO);
}

static void what_is_printed_reads_back_as_the_same(void **state) {
    (void)state;
    struct outcome outcome = PARSE("--data-dir", "/d \"q\" \\ # : é", "--http-listen=[::1]:0",
                                   "--max-upload-size=1537", "--worker-deadline=90", "--workers=7",
                                   "--log-level=error", "--allow-remote");
    assert_int_equal(outcome.err, ERR_OK);
    struct buffer text = {0};
    settings_print(&outcome.settings, &text);
    struct outcome again = read_file(buffer_cstr(&text));
    if (again.err != ERR_OK)
        fail_msg("%s\n%s", again.error.text, buffer_cstr(&text));
    for (size_t i = 0; i < settings_count(); i++) {
        if (!setting_equal(settings_at(i), &outcome.options, &again.options))
            fail_msg("%s differs:\n%s", settings_at(i)->key, buffer_cstr(&text));
    }
    assert_non_null(strstr(buffer_cstr(&text), "  level: error "));
    assert_non_null(strstr(buffer_cstr(&text), "# flag --log-level"));
    buffer_clear(&text);
}

static void an_unknown_flag_is_told_with_the_nearest(void **state) {
    (void)state;
    assert_string_equal(PARSE("--log-levle=info").error.text,
                        "unknown flag \"--log-levle=info\"; is --log-level meant?");
    assert_string_equal(PARSE("--log-level").error.text, "--log-level: want a value");
    assert_string_equal(PARSE("--workers=0").error.text,
                        "--workers: \"0\": want a whole number, from 1 to 256");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flag_has_a_default),
        cmocka_unit_test(every_flag_is_read),
        cmocka_unit_test(what_others_can_reach_has_to_be_said_twice),
        cmocka_unit_test(a_bad_value_is_told_with_its_flag),
        cmocka_unit_test(help_and_version_ask_for_nothing_else),
        cmocka_unit_test(help_names_every_flag_with_its_key_and_default),
        cmocka_unit_test(no_two_settings_share_a_name_or_a_place),
        cmocka_unit_test(a_file_sets_what_it_names),
        cmocka_unit_test(an_empty_file_sets_nothing),
        cmocka_unit_test(what_is_wrong_in_a_file_is_told_with_its_place),
        cmocka_unit_test(a_file_over_the_limit_is_refused),
        cmocka_unit_test(a_refused_file_changes_nothing),
        cmocka_unit_test(what_is_printed_reads_back_as_the_same),
        cmocka_unit_test(an_unknown_flag_is_told_with_the_nearest),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
