#include "cli/options.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/test.h"

/* Parses words that a shell would split at spaces. */
struct command_line {
    char text[512];
    char *arguments[32];
    int count;
};

static void split(struct command_line *line, const char *text) {
    size_t size = strlen(text) + 1;
    assert_true(size <= sizeof(line->text));
    memcpy(line->text, text, size);
    line->count = 0;
    for (char *word = strtok(line->text, " "); word; word = strtok(NULL, " "))
        line->arguments[line->count++] = word;
    line->arguments[line->count] = NULL;
}

static struct options parsed(struct command_line *line, const char *text) {
    split(line, text);
    struct options options;
    struct error error;
    if (options_parse(line->count, line->arguments, &options, &error))
        fail_msg("%s: %s", text, error.text);
    return options;
}

static void defaults_follow_the_style(void **state) {
    (void)state;
    struct command_line line;
    struct options options = parsed(&line, "symbolize -e f");
    assert_int_equal(options.style, OUTPUT_LLVM);
    assert_int_equal(options.functions, FUNCTION_NAMES_LINKAGE);
    assert_true(options.demangle && options.inlines);
    options = parsed(&line, "symbolize --output-style=JSON -e f");
    assert_int_equal(options.style, OUTPUT_JSON);
    assert_true(options.demangle && options.inlines);
    options = parsed(&line, "symbolize --output-style=GNU -e f");
    assert_int_equal(options.functions, FUNCTION_NAMES_NONE);
    assert_false(options.demangle || options.inlines || options.addresses || options.pretty ||
                 options.basenames);
}

static void letters_can_be_clustered_as_for_addr2line(void **state) {
    (void)state;
    struct command_line line;
    struct options options = parsed(&line, "symbolize -fiCaps --output-style GNU -e file 10 20");
    assert_int_equal(options.functions, FUNCTION_NAMES_LINKAGE);
    assert_true(options.demangle && options.inlines && options.addresses && options.pretty &&
                options.basenames);
    assert_string_equal(options.object, "file");
    assert_int_equal(options.input_count, 2);
    assert_string_equal(options.inputs[0], "10");
    assert_string_equal(options.inputs[1], "20");
}

static void long_switches_turn_defaults_off(void **state) {
    (void)state;
    struct command_line line;
    struct options options =
        parsed(&line, "symbolize 0x1 --no-inlines --no-demangle --functions=none --obj=f 0x2");
    assert_false(options.demangle || options.inlines);
    assert_int_equal(options.functions, FUNCTION_NAMES_NONE);
    assert_string_equal(options.object, "f");
    assert_int_equal(options.input_count, 2);
    options = parsed(&line, "symbolize --inlining=false --demangle=false --exe=g");
    assert_false(options.demangle || options.inlines);
    assert_string_equal(options.object, "g");
}

static void llvms_own_spellings_work(void **state) {
    (void)state;
    struct command_line line;
    struct options options = parsed(&line, "symbolize -f=short -e=f --print-address");
    assert_int_equal(options.functions, FUNCTION_NAMES_SHORT);
    assert_string_equal(options.object, "f");
    assert_true(options.addresses);
    options = parsed(&line, "symbolize -f=none --adjust-vma=0x1000 --verbose");
    assert_int_equal(options.functions, FUNCTION_NAMES_NONE);
    assert_int_equal(options.adjust_vma, 0x1000);
    assert_true(options.verbose);
    options = parsed(&line, "symbolize --demangle=gnu-v3 -r -R -b elf64-x86-64");
    assert_true(options.demangle);
}

static void the_name_of_the_program_says_whose_place_it_takes(void **state) {
    (void)state;
    struct command_line line;
    struct options options = parsed(&line, "/usr/bin/addr2line -f 10");
    assert_int_equal(options.style, OUTPUT_GNU);
    assert_int_equal(options.questions, QUESTIONS_GNU);
    assert_false(options.demangle || options.inlines);
    options = parsed(&line, "llvm-addr2line-19 10");
    assert_int_equal(options.style, OUTPUT_GNU);
    assert_int_equal(options.questions, QUESTIONS_LLVM_HEX);
    assert_false(options.demangle || options.inlines);
    assert_int_equal(options.functions, FUNCTION_NAMES_NONE);
    options = parsed(&line, "bin/llvm-symbolizer --output-style=GNU 10");
    assert_int_equal(options.style, OUTPUT_GNU);
    assert_int_equal(options.questions, QUESTIONS_LLVM);
    assert_true(options.demangle && options.inlines);
    options = parsed(&line, "addr2line/symbolize --output-style=GNU 10");
    assert_int_equal(options.questions, QUESTIONS_GNU);
    assert_false(options.inlines);
}

static void places_of_files_are_taken(void **state) {
    (void)state;
    struct command_line line;
    struct options options =
        parsed(&line, "symbolize --debug-file-directory=a --debug-dir b --fallback-debug-path=c "
                      "--build-id=abcd -j .text --relativenames --print-source-context-lines=5");
    assert_int_equal(options.folder_count, 3);
    assert_string_equal(options.folders[2], "c");
    assert_string_equal(options.build_id, "abcd");
    assert_string_equal(options.section, ".text");
    assert_true(options.relative_names);
    assert_int_equal(options.source_lines, 5);
    options = parsed(&line, "symbolize --relative-address --no-untag-addresses --color=never "
                            "--default-arch=x86_64 --dsym-hint=d --cache-size=1 --dia "
                            "--no-debuginfod -demangle=false 1");
    assert_false(options.demangle);
    assert_int_equal(options.input_count, 1);
}

static void help_and_version_are_asked_for(void **state) {
    (void)state;
    struct command_line line;
    assert_int_equal(parsed(&line, "symbolize --help").action, OPTIONS_HELP);
    assert_int_equal(parsed(&line, "symbolize -H").action, OPTIONS_HELP);
    assert_int_equal(parsed(&line, "symbolize -v").action, OPTIONS_VERSION);
}

static void a_wrong_argument_is_named(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *names;
    } cases[] = {
        {"symbolize -q", "-q"},
        {"symbolize --nonsense", "--nonsense"},
        {"symbolize -e", "-e"},
        {"symbolize --output-style=XML", "XML"},
        {"symbolize --functions=all", "all"},
        {"symbolize --filter-markup", "--filter-markup"},
        {"symbolize --debuginfod", "--debuginfod"},
        {"symbolize --build-id=xyz", "hex"},
        {"symbolize --build-id=abcd -e f", "--build-id"},
        {"symbolize --print-source-context-lines=x", "--print-source-context-lines"},
        {"symbolize --print-source-context-lines=1001", "1000"},
        {"symbolize --adjust-vma=-1", "--adjust-vma"},
        {"symbolize --adjust-vma=99999999999999999999", "--adjust-vma"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct command_line line;
        struct options options;
        struct error error;
        split(&line, cases[i].text);
        assert_int_equal(options_parse(line.count, line.arguments, &options, &error), ERR_INVALID);
        if (!strstr(error.text, cases[i].names))
            fail_msg("\"%s\" does not name %s", error.text, cases[i].names);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_follow_the_style),
        cmocka_unit_test(letters_can_be_clustered_as_for_addr2line),
        cmocka_unit_test(long_switches_turn_defaults_off),
        cmocka_unit_test(llvms_own_spellings_work),
        cmocka_unit_test(the_name_of_the_program_says_whose_place_it_takes),
        cmocka_unit_test(places_of_files_are_taken),
        cmocka_unit_test(help_and_version_are_asked_for),
        cmocka_unit_test(a_wrong_argument_is_named),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
