#include "symbolizer/index/index_dump.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/index_fixture.h"
#include "tests/support/test.h"

static char *dump_of(struct span bytes, bool intervals) {
    struct error error;
    char *text = NULL;
    size_t size = 0;
    CLEANUP(cleanup_index) struct index *index = NULL;
    assert_int_equal(index_open_memory(bytes, &index, &error), ERR_OK);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    index_dump(index, intervals, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_example_dumps_as_text(void **state) {
    (void)state;
    struct span bytes = index_fixture_example();
    char *text = dump_of(bytes, true);
    assert_string_equal(text,
                        "version 2\n"
                        "size 894\n"
                        "id gnu 0badc0de\n"
                        "machine 62\n"
                        "contents dwarf symtab\n"
                        "functions 2\n"
                        "inlined 1\n"
                        "line_rows 3\n"
                        "intervals 3\n"
                        "locations 3\n"
                        "damage 0\n"
                        "executable_bytes 36\n"
                        "covered_bytes 20\n"
                        "segment offset 0x0 address 0x400000 file_size 0x1000 memory_size 0x1000 "
                        "flags 0x5\n"
                        "section summary offset 544 size 72 count 1 checksum e1f175e9\n"
                        "section ids offset 616 size 10 count 1 checksum b0df249a\n"
                        "section segments offset 632 size 40 count 1 checksum fcdddc9f\n"
                        "section stretches offset 672 size 32 count 1 checksum df7bb42f\n"
                        "section interval_offsets offset 704 size 4 count 1 checksum 99f8b879\n"
                        "section intervals offset 712 size 28 count 4 checksum 110cf13e\n"
                        "section scope_offsets offset 744 size 4 count 1 checksum 99f8b879\n"
                        "section scopes offset 752 size 40 count 3 checksum e7a34837\n"
                        "section function_offsets offset 792 size 4 count 1 checksum 99f8b879\n"
                        "section functions offset 800 size 33 count 3 checksum 5ca89cd1\n"
                        "section file_offsets offset 840 size 4 count 1 checksum 99f8b879\n"
                        "section files offset 848 size 23 count 2 checksum fcfebe52\n"
                        "section directory_ends offset 872 size 0 count 0 checksum 00000000\n"
                        "section directory_bytes offset 872 size 0 count 0 checksum 00000000\n"
                        "section path_bytes offset 872 size 6 count 6 checksum 2473f585\n"
                        "section name_bytes offset 880 size 14 count 14 checksum e41b0989\n"
                        "0x401000-0x401008\n"
                        "  main at a.c:4:5 (dwarf, declared at a.c:3, entry 0x401000)\n"
                        "0x401008-0x401010\n"
                        "  twice at a.h:2:0 (dwarf, declared at a.h:1)\n"
                        "  main at a.c:5:9 (dwarf, declared at a.c:3, entry 0x401000)\n"
                        "0x401020-0x401024 no_line\n"
                        "  _fini at ?:0:0 (symtab, entry 0x401020)\n");
    free(text);
    text = dump_of(bytes, false);
    assert_null(strstr(text, "0x401000-"));
    free(text);
    free((void *)bytes.data);
}

static void control_bytes_do_not_reach_the_terminal(void **state) {
    (void)state;
    struct error error;
    struct index_writer *writer = NULL;
    assert_int_equal(index_writer_new(1 << 20, &writer, &error), ERR_OK);
    struct index_function function = {
        .name = span_cstr("a\x1b[2J\\\n\xc2\x9b\xff\xc3\xa4"),
        .flags = SYMBOL_DEMANGLES | SYMBOL_WRAPPER,
        .origin = SYMBOL_ORIGIN_DWARF,
    };
    struct index_location location = {.line = 1};
    uint32_t number = 0;
    assert_int_equal(index_writer_function(writer, &function, &location.function, &error), ERR_OK);
    assert_int_equal(index_writer_location(writer, &location, &number, &error), ERR_OK);
    struct pc_range range = {0x10, 0x20};
    assert_int_equal(index_writer_interval(writer, range, number, SYMBOL_MISS_NONE, &error),
                     ERR_OK);
    struct span bytes = index_fixture_finish(writer, &(struct index_summary){0});
    char *text = dump_of(bytes, true);
    assert_non_null(strstr(text, "  a\\x1b[2J\\x5c\\x0a\\xc2\\x9b\\xff\xc3\xa4 at ?:1:0 "
                                 "(dwarf, demangles, wrapper)\n"));
    assert_non_null(strstr(text, "executable_bytes 0 (inferred)\n"));
    free(text);
    free((void *)bytes.data);
    index_writer_free(writer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_dumps_as_text),
        cmocka_unit_test(control_bytes_do_not_reach_the_terminal),
    };
    return cmocka_run_group_tests_name("index_dump", tests, NULL, NULL);
}
