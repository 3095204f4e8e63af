#include "cli/output.h"

#include <stdlib.h>

#include "tests/support/test.h"

#define UNKNOWN_FRAME                                                                              \
    "{\"Column\":0,\"Discriminator\":0,\"FileName\":\"\",\"FunctionName\":\"\",\"Line\":0,"        \
    "\"StartAddress\":\"\",\"StartFileName\":\"\",\"StartLine\":0}"

/* The chain that the expected texts below were printed for by llvm-symbolizer 14. */
static struct symbol_frame frames[2];

static const struct options llvm_options = {
    .style = OUTPUT_LLVM,
    .functions = FUNCTION_NAMES_LINKAGE,
    .demangle = true,
    .inlines = true,
};

static struct options options_of(enum output_style style) {
    struct options options = llvm_options;
    options.style = style;
    options.questions = style == OUTPUT_GNU ? QUESTIONS_GNU : QUESTIONS_LLVM;
    return options;
}

static int fill_frames(void **state) {
    (void)state;
    frames[0] = (struct symbol_frame){
        .name = span_cstr("tw"),
        .file = span_cstr("/src/s.cc"),
        .start_file = span_cstr("/src/s.cc"),
        .line = 4,
        .column = 16,
        .start_line = 3,
        .discriminator = 2,
        .entry_pc = 0x1156,
        .has_entry_pc = true,
    };
    frames[1] = (struct symbol_frame){
        .name = span_cstr("_Z5outeri"),
        .short_name = span_cstr("outer"),
        .file = span_cstr("/src/s.cc"),
        .start_file = span_cstr("/src/s.cc"),
        .line = 11,
        .column = 13,
        .start_line = 9,
        .flags = SYMBOL_DEMANGLES,
        .entry_pc = 0x1139,
        .has_entry_pc = true,
    };
    return 0;
}

/* What one run prints that answers the frames `question_count` times. */
static void check(const struct options *options, size_t frame_count, size_t question_count,
                  bool is_list, const char *want) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    struct output output;
    struct error error;
    struct frame_list list = {.frames = frames, .count = frame_count};
    output_init(&output, options, is_list, stream);
    for (size_t i = 0; i < question_count; i++) {
        assert_int_equal(output_set_frames(&output, &list, &error), ERR_OK);
        output_answer(&output, "bin", 0x1156);
    }
    assert_int_equal(output_end(&output, &error), ERR_OK);
    fclose(stream);
    assert_string_equal(text, want);
    free(text);
}

static void llvm_shape(void **state) {
    (void)state;
    struct options options = llvm_options;
    check(&options, 2, 1, true, "tw\n/src/s.cc:4:16\nouter(int)\n/src/s.cc:11:13\n\n");
    options.addresses = options.pretty = options.basenames = true;
    check(&options, 2, 1, true,
          "0x1156: tw at s.cc:4:16\n (inlined by) outer(int) at s.cc:11:13\n\n");
    check(&options, 0, 1, true, "0x1156: ?? at ??:0:0\n\n");
}

static void llvm_shape_with_other_names(void **state) {
    (void)state;
    struct options options = llvm_options;
    options.demangle = false;
    check(&options, 2, 1, true, "tw\n/src/s.cc:4:16\n_Z5outeri\n/src/s.cc:11:13\n\n");
    options = llvm_options;
    options.functions = FUNCTION_NAMES_SHORT;
    check(&options, 2, 1, true, "tw\n/src/s.cc:4:16\nouter\n/src/s.cc:11:13\n\n");
    options.functions = FUNCTION_NAMES_NONE;
    check(&options, 2, 1, true, "/src/s.cc:4:16\n/src/s.cc:11:13\n\n");
    check(&options, 0, 2, true, "??:0:0\n\n??:0:0\n\n");
}

static void without_inlined_frames_the_function_is_the_outer_one(void **state) {
    (void)state;
    struct options options = llvm_options;
    options.inlines = false;
    check(&options, 2, 1, true, "outer(int)\n/src/s.cc:4:16\n\n");
    options.style = OUTPUT_JSON;
    check(&options, 2, 1, false,
          "{\"Address\":\"0x1156\",\"ModuleName\":\"bin\",\"Symbol\":[{\"Column\":16,"
          "\"Discriminator\":2,\"FileName\":\"/src/s.cc\",\"FunctionName\":\"outer(int)\","
          "\"Line\":4,\"StartAddress\":\"0x1139\",\"StartFileName\":\"/src/s.cc\","
          "\"StartLine\":3}]}\n");
}

static void llvm_shape_in_many_words(void **state) {
    (void)state;
    struct options options = llvm_options;
    options.verbose = true;
    check(&options, 2, 1, true,
          "tw\n  Filename: /src/s.cc\n  Function start filename: /src/s.cc\n"
          "  Function start line: 3\n  Function start address: 0x1156\n  Line: 4\n  Column: 16\n  "
          "Discriminator: 2\n"
          "outer(int)\n  Filename: /src/s.cc\n  Function start filename: /src/s.cc\n"
          "  Function start line: 9\n  Function start address: 0x1139\n  Line: 11\n"
          "  Column: 13\n\n");
}

static void gnu_shape(void **state) {
    (void)state;
    struct options options = {.style = OUTPUT_GNU, .questions = QUESTIONS_GNU};
    check(&options, 2, 1, true, "/src/s.cc:4 (discriminator 2)\n");
    check(&options, 0, 1, true, "??:0\n");
    options = options_of(OUTPUT_GNU);
    options.addresses = true;
    check(&options, 2, 1, true,
          "0x0000000000001156\ntw\n/src/s.cc:4 (discriminator 2)\nouter(int)\n/src/s.cc:11\n");
    options.pretty = true;
    check(&options, 2, 1, true,
          "0x0000000000001156: tw at /src/s.cc:4 (discriminator 2)\n"
          " (inlined by) outer(int) at /src/s.cc:11\n");
    check(&options, 0, 1, true, "0x0000000000001156: ?? ??:0\n");
    options = options_of(OUTPUT_GNU);
    options.inlines = false;
    check(&options, 2, 1, true, "tw\n/src/s.cc:4 (discriminator 2)\n");
    frames[0].file = (struct span){NULL, 0};
    frames[0].line = 0;
    options = options_of(OUTPUT_GNU);
    check(&options, 1, 1, true, "tw\n??:?\n");
}

static void gnu_shape_of_llvm(void **state) {
    (void)state;
    struct options options = options_of(OUTPUT_GNU);
    options.questions = QUESTIONS_LLVM;
    options.addresses = options.pretty = true;
    check(&options, 2, 1, true,
          "0x1156: tw at /src/s.cc:4 (discriminator 2)\n"
          " (inlined by) outer(int) at /src/s.cc:11\n");
    check(&options, 0, 1, true, "0x1156: ?? at ??:0\n");
    frames[0].file = (struct span){NULL, 0};
    frames[0].line = 0;
    options.addresses = false;
    check(&options, 1, 1, true, "tw at ??:0 (discriminator 2)\n");
}

/* One run, whose answers `ask` asks for. */
static void check_run(const struct options *options, void (*ask)(struct output *output),
                      const char *want) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    struct output output;
    struct error error;
    output_init(&output, options, false, stream);
    ask(&output);
    assert_int_equal(output_end(&output, &error), ERR_OK);
    fclose(stream);
    assert_string_equal(text, want);
    free(text);
}

static void ask_places(struct output *output, size_t count) {
    struct error error;
    const struct frame_list list = {.frames = frames, .count = 2};
    const struct shown_question question = {.module = "bin", .symbol = span_cstr("outer")};
    output_places_begin(output);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(output_set_frames(output, &list, &error), ERR_OK);
        output_place(output);
    }
    output_places_end(output, &question);
}

static void ask_two_places(struct output *output) {
    ask_places(output, 2);
}

static void ask_no_place(struct output *output) {
    ask_places(output, 0);
}

static void places_of_a_symbol_are_shown_without_inlined_frames(void **state) {
    (void)state;
    static const char place[] =
        "{\"Column\":16,\"Discriminator\":2,\"FileName\":\"/src/s.cc\","
        "\"FunctionName\":\"outer(int)\",\"Line\":4,\"StartAddress\":\"0x1139\","
        "\"StartFileName\":\"/src/s.cc\",\"StartLine\":3}";
    char want[1024];
    struct options options = options_of(OUTPUT_LLVM);
    options.addresses = true;
    check_run(&options, ask_two_places,
              "outer(int)\n/src/s.cc:4:16\n\nouter(int)\n/src/s.cc:4:16\n\n");
    check_run(&options, ask_no_place, "??\n??:0:0\n\n");
    options = options_of(OUTPUT_JSON);
    snprintf(want, sizeof(want), "{\"Loc\":[%s,%s],\"ModuleName\":\"bin\",\"SymName\":\"outer\"}\n",
             place, place);
    check_run(&options, ask_two_places, want);
    check_run(&options, ask_no_place,
              "{\"Loc\":[],\"ModuleName\":\"bin\",\"SymName\":\"outer\"}\n");
}

static void ask_data(struct output *output) {
    const struct shown_question question = {.module = "bin", .address = 0x4021};
    const struct shown_question symbol = {.module = "bin", .symbol = span_cstr("table")};
    output_data(output, &question, &(struct shown_data){span_cstr("table"), 0x4020, 16});
    output_data(output, &symbol, &(struct shown_data){0});
    output_no_frame(output, &question);
}

static void data_and_frames_have_a_shape(void **state) {
    (void)state;
    struct options options = options_of(OUTPUT_LLVM);
    options.addresses = true;
    check_run(&options, ask_data,
              "0x4021\ntable\n16416 16\n??:?\n\n??\n0 0\n??:?\n\n0x4021\n??\n\n");
    options = options_of(OUTPUT_JSON);
    check_run(&options, ask_data,
              "{\"Address\":\"0x4021\",\"Data\":{\"Name\":\"table\",\"Size\":\"0x10\","
              "\"Start\":\"0x4020\"},\"ModuleName\":\"bin\"}\n"
              "{\"Data\":{\"Name\":\"\",\"Size\":\"0x0\",\"Start\":\"0x0\"},"
              "\"ModuleName\":\"bin\",\"SymName\":\"table\"}\n"
              "{\"Address\":\"0x4021\",\"Frame\":[],\"ModuleName\":\"bin\"}\n");
}

static void json_shape_of_a_list_and_of_lines(void **state) {
    (void)state;
    struct options options = options_of(OUTPUT_JSON);
    static const char unknown[] =
        "{\"Address\":\"0x1156\",\"ModuleName\":\"bin\",\"Symbol\":[{\"Column\":0,"
        "\"Discriminator\":0,\"FileName\":\"\",\"FunctionName\":\"\",\"Line\":0,"
        "\"StartAddress\":\"\",\"StartFileName\":\"\",\"StartLine\":0}]}";
    char want[1024];
    snprintf(want, sizeof(want), "[%s,%s]\n", unknown, unknown);
    check(&options, 0, 2, true, want);
    snprintf(want, sizeof(want), "%s\n%s\n", unknown, unknown);
    check(&options, 0, 2, false, want);
    check(&options, 0, 0, true, "[]\n");
}

static void json_shape_indented(void **state) {
    (void)state;
    struct options options = options_of(OUTPUT_JSON);
    options.pretty = true;
    check(&options, 0, 1, true,
          "[\n  {\n    \"Address\": \"0x1156\",\n    \"ModuleName\": \"bin\",\n    \"Symbol\": [\n"
          "      {\n        \"Column\": 0,\n        \"Discriminator\": 0,\n"
          "        \"FileName\": \"\",\n        \"FunctionName\": \"\",\n        \"Line\": 0,\n"
          "        \"StartAddress\": \"\",\n        \"StartFileName\": \"\",\n"
          "        \"StartLine\": 0\n      }\n    ]\n  }\n]\n");
}

static void json_strings_are_valid_whatever_the_bytes(void **state) {
    (void)state;
    struct options options = options_of(OUTPUT_JSON);
    options.functions = FUNCTION_NAMES_LINKAGE;
    frames[0] = (struct symbol_frame){
        .name = span_of("q\"b\\t\tn\nr\r\x01\x7f\0z\xff\xc3\xa9\xc3", 18),
    };
    check(&options, 1, 1, false,
          "{\"Address\":\"0x1156\",\"ModuleName\":\"bin\",\"Symbol\":[{\"Column\":0,"
          "\"Discriminator\":0,\"FileName\":\"\",\"FunctionName\":\"q\\\"b\\\\t\\tn\\nr\\r\\u0001"
          "\x7f\\u0000z\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\",\"Line\":0,\"StartAddress\":\"\","
          "\"StartFileName\":\"\",\"StartLine\":0}]}\n");
}

static void check_trouble(const struct options *options, const char *want) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    struct output output;
    struct error error;
    struct error reason = {.code = ERR_IO, .text = "No such file or directory"};
    output_init(&output, options, true, stream);
    const struct shown_question question = {.module = "missing", .address = 16};
    output_unreadable(&output, span_cstr("bin"));
    output_failure(&output, &question, &reason);
    assert_int_equal(output_end(&output, &error), ERR_OK);
    fclose(stream);
    assert_string_equal(text, want);
    free(text);
}

static void trouble_has_a_shape_too(void **state) {
    (void)state;
    struct options options = options_of(OUTPUT_JSON);
    check_trouble(&options, "[{\"ModuleName\":\"bin\",\"Symbol\":[" UNKNOWN_FRAME
                            "]},{\"Address\":\"0x10\",\"Error\":{\"Message\":"
                            "\"No such file or directory\"},\"ModuleName\":\"missing\"}]\n");
    options = options_of(OUTPUT_LLVM);
    check_trouble(&options, "??\n??:0:0\n\n??\n??:0:0\n\n");
    options.addresses = true;
    check_trouble(&options, "??\n??:0:0\n\n0x10\n??\n??:0:0\n\n");
}

static void a_full_disk_is_an_error(void **state) {
    (void)state;
    FILE *stream = fopen("/dev/full", "w");
    assert_non_null(stream);
    struct output output;
    struct error error;
    output_init(&output, &llvm_options, true, stream);
    output_answer(&output, "bin", 1);
    assert_int_equal(output_end(&output, &error), ERR_IO);
    fclose(stream);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(llvm_shape, fill_frames),
        cmocka_unit_test_setup(llvm_shape_with_other_names, fill_frames),
        cmocka_unit_test_setup(without_inlined_frames_the_function_is_the_outer_one, fill_frames),
        cmocka_unit_test_setup(llvm_shape_in_many_words, fill_frames),
        cmocka_unit_test_setup(gnu_shape, fill_frames),
        cmocka_unit_test_setup(gnu_shape_of_llvm, fill_frames),
        cmocka_unit_test_setup(places_of_a_symbol_are_shown_without_inlined_frames, fill_frames),
        cmocka_unit_test_setup(data_and_frames_have_a_shape, fill_frames),
        cmocka_unit_test_setup(json_shape_of_a_list_and_of_lines, fill_frames),
        cmocka_unit_test_setup(json_shape_indented, fill_frames),
        cmocka_unit_test_setup(json_strings_are_valid_whatever_the_bytes, fill_frames),
        cmocka_unit_test_setup(trouble_has_a_shape_too, fill_frames),
        cmocka_unit_test_setup(a_full_disk_is_an_error, fill_frames),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
