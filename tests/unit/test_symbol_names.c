#include "debuginfo/symbol_names.h"

#include "tests/support/elf_image.h"
#include "tests/support/test.h"

struct fixture {
    struct elf_image *image;
    struct elf_file *file;
};

enum { TEXT = 1, DATA = 2 };

static const struct elf_image_symbol table[] = {
    {"run", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, TEXT},
    {"part", 0x1004, 4, STB_LOCAL, STT_NOTYPE, TEXT},
    {"data", 0x3000, 0x20, STB_GLOBAL, STT_OBJECT, DATA},
    {"field", 0x3008, 8, STB_GLOBAL, STT_OBJECT, DATA},
    {"field_alias", 0x3008, 4, STB_GLOBAL, STT_OBJECT, DATA},
    {"mark", 0x3040, 0, STB_GLOBAL, STT_NOTYPE, DATA},
    {"run", 0x1010, 8, STB_LOCAL, STT_FUNC, TEXT},
    {"outside", 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
    {"number", 0x3000, 64, STB_GLOBAL, STT_OBJECT, SHN_ABS},
    {"thread", 0x3000, 64, STB_GLOBAL, STT_TLS, DATA},
    {"old@VERS_1", 0x1020, 4, STB_GLOBAL, STT_FUNC, TEXT},
    {"", 0x3050, 4, STB_GLOBAL, STT_OBJECT, DATA},
};

static void open_fixture(struct fixture *fixture, const char *table_name) {
    struct error error = {0};
    fixture->image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add(fixture->image, &(struct elf_image_section){.name = ".text",
                                                              .type = SHT_NOBITS,
                                                              .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                              .address = 0x1000,
                                                              .claimed_size = 0x1000});
    elf_image_add(fixture->image, &(struct elf_image_section){.name = ".data",
                                                              .type = SHT_NOBITS,
                                                              .flags = SHF_ALLOC | SHF_WRITE,
                                                              .address = 0x3000,
                                                              .claimed_size = 0x1000});
    elf_image_add_symbols(fixture->image, table_name, table, ARRAY_SIZE(table));
    if (elf_file_open_memory(elf_image_finish(fixture->image, ELF_IMAGE_PLAIN), NULL,
                             &fixture->file, &error))
        fail_msg("%s", error.text);
}

static void close_fixture(struct fixture *fixture) {
    elf_file_free(fixture->file);
    elf_image_free(fixture->image);
}

static size_t count_of(struct fixture *fixture, const char *name, struct named_symbol *symbols,
                       size_t count_max) {
    return symbol_names_find(fixture->file, span_cstr(name), symbols, count_max);
}

static void symbols_are_found_by_their_very_name(void **state) {
    (void)state;
    static const char *const tables[] = {".symtab", ".dynsym"};
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        struct fixture fixture;
        struct named_symbol symbols[4];
        open_fixture(&fixture, tables[i]);
        assert_int_equal(count_of(&fixture, "run", symbols, 4), 2);
        assert_true(symbols[0].value == 0x1000 && symbols[0].size == 0x10);
        assert_true(symbols[1].value == 0x1010 && symbols[1].size == 8);
        assert_int_equal(count_of(&fixture, "run", symbols, 1), 1);
        assert_int_equal(count_of(&fixture, "data", symbols, 4), 1);
        assert_int_equal(count_of(&fixture, "old", symbols, 4), 1);
        assert_int_equal(count_of(&fixture, "ru", symbols, 4), 0);
        assert_int_equal(count_of(&fixture, "outside", symbols, 4), 0);
        assert_int_equal(count_of(&fixture, "number", symbols, 4), 0);
        assert_int_equal(count_of(&fixture, "thread", symbols, 4), 0);
        close_fixture(&fixture);
    }
}

static void expect_at(struct fixture *fixture, uint64_t address, const char *name) {
    struct named_symbol symbol = {0};
    bool found = symbol_names_at(fixture->file, address, &symbol);
    assert_int_equal(found, name[0] != '\0');
    assert_true(span_equal_cstr(symbol.name, name));
}

static void an_address_has_the_symbol_that_covers_it_and_begins_last(void **state) {
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, ".symtab");
    expect_at(&fixture, 0x1000, "run");
    expect_at(&fixture, 0x1005, "part");
    expect_at(&fixture, 0x1008, "run");
    expect_at(&fixture, 0x3000, "data");
    expect_at(&fixture, 0x3008, "field");
    expect_at(&fixture, 0x3010, "data");
    expect_at(&fixture, 0x3020, "");
    expect_at(&fixture, 0x3040, "mark");
    expect_at(&fixture, 0x3041, "");
    expect_at(&fixture, 0x3050, "");
    expect_at(&fixture, UINT64_MAX, "");
    close_fixture(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_are_found_by_their_very_name),
        cmocka_unit_test(an_address_has_the_symbol_that_covers_it_and_begins_last),
    };
    return cmocka_run_group_tests_name("symbol_names", tests, NULL, NULL);
}
