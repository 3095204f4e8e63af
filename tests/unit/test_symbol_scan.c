#include "debuginfo/symbol_scan.h"

#include <stdio.h>

#include "debuginfo/symtab_source.h"
#include "tests/support/elf_image.h"
#include "tests/support/test.h"

enum { SYMBOL_COUNT = 24, ROUND_COUNT = 300, NAME_SIZE = 16 };

static const unsigned char bindings[] = {STB_GLOBAL, STB_LOCAL, STB_WEAK};
static const unsigned char types[] = {STT_FUNC, STT_FUNC, STT_FUNC, STT_NOTYPE, STT_OBJECT};

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Symbols of every kind over few addresses, so that they overlap in every way. */
static void make_symbols(uint32_t *seed, struct elf_image_symbol *symbols,
                         char (*names)[NAME_SIZE]) {
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        uint32_t number = next_random(seed);
        snprintf(names[i], NAME_SIZE, "%sf%u", number & 1 ? "_" : "", number >> 4 & 7);
        symbols[i] = (struct elf_image_symbol){
            .name = names[i],
            .value = 0x1000 + next_random(seed) % 96,
            .size = next_random(seed) % 3 ? next_random(seed) % 32 : 0,
            .binding = bindings[next_random(seed) % ARRAY_SIZE(bindings)],
            .type = types[next_random(seed) % ARRAY_SIZE(types)],
            .section = next_random(seed) % 8 ? 1 : SHN_UNDEF,
        };
    }
}

static enum err take_symbol(struct symbol_sink *sink, const struct sink_symbol *symbol,
                            struct error *error) {
    (void)sink;
    (void)symbol;
    (void)error;
    return ERR_OK;
}

static void take_damage(struct symbol_sink *sink, const char *what) {
    (void)sink;
    fail_msg("%s", what);
}

/* A source that answers by the sorted table. */
static struct symbol_source *collected_source(struct elf_file *file) {
    static const struct symbol_sink_ops ops = {.symbol = take_symbol, .damage = take_damage};
    struct symbol_sink sink = {&ops};
    struct symbol_source *source = NULL;
    struct error error;
    assert_int_equal(symtab_source_new(file, &source, &error), ERR_OK);
    assert_int_equal(source->ops->push(source, &sink, &error), ERR_OK);
    return source;
}

static void check_address(struct elf_file *file, struct symbol_source *collected, uint64_t pc,
                          unsigned counts[3]) {
    struct frame_list want = {0};
    struct error error;
    struct symbol_candidate candidate = {0};
    enum symbol_scan result;
    assert_int_equal(collected->ops->resolve(collected, pc, &want, &error), ERR_OK);
    assert_int_equal(symbol_scan(file, pc, &result, &candidate, &error), ERR_OK);
    counts[result]++;
    if (result == SYMBOL_SCAN_FOUND) {
        assert_int_equal(want.count, 1);
        assert_true(span_equal(want.frames[0].name, candidate.name));
        assert_int_equal(want.frames[0].entry_pc, candidate.begin);
        assert_int_equal(want.frames[0].origin, candidate.origin);
    }
    if (result == SYMBOL_SCAN_NOTHING)
        assert_int_equal(want.count, 0);
    frame_list_clear(&want);
}

/* The same names in the same order, whether the tables are gone over or were sorted before. */
static void check_names(struct elf_file *file, struct symbol_source *collected, uint64_t pc) {
    struct span want[SYMTAB_NAMES_MAX];
    struct span got[SYMTAB_NAMES_MAX];
    size_t want_count = 0;
    size_t got_count = 0;
    CLEANUP(cleanup_symbol_source) struct symbol_source *fresh = NULL;
    struct error error;
    assert_int_equal(symtab_source_new(file, &fresh, &error), ERR_OK);
    assert_int_equal(symtab_source_names(fresh, pc, got, &got_count, &error), ERR_OK);
    assert_int_equal(symtab_source_names(collected, pc, want, &want_count, &error), ERR_OK);
    assert_int_equal(got_count, want_count);
    for (size_t i = 0; i < want_count; i++)
        assert_true(span_equal(got[i], want[i]));
}

static void answers_as_the_sorted_table_or_not_at_all(void **state) {
    (void)state;
    uint32_t seed = 4711;
    unsigned counts[3] = {0};
    for (int round = 0; round < ROUND_COUNT; round++) {
        struct elf_image_symbol symbols[SYMBOL_COUNT];
        char names[SYMBOL_COUNT][NAME_SIZE];
        CLEANUP(cleanup_elf_image)
        struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
        CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
        struct error error;
        make_symbols(&seed, symbols, names);
        elf_image_add(image, &(struct elf_image_section){.name = ".text",
                                                         .type = SHT_NOBITS,
                                                         .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                         .address = 0x1000,
                                                         .claimed_size = 64});
        elf_image_add_symbols(image, ".symtab", symbols, 16);
        elf_image_add_symbols(image, ".dynsym", symbols + 16, SYMBOL_COUNT - 16);
        assert_int_equal(
            elf_file_open_memory(elf_image_finish(image, ELF_IMAGE_PLAIN), NULL, &file, &error),
            ERR_OK);
        CLEANUP(cleanup_symbol_source) struct symbol_source *collected = collected_source(file);
        for (uint64_t pc = 0xfff; pc < 0x1070; pc++) {
            check_address(file, collected, pc, counts);
            check_names(file, collected, pc);
        }
    }
    /* All three happened, and mostly there was an answer. */
    assert_true(counts[SYMBOL_SCAN_FOUND] > 10000);
    assert_true(counts[SYMBOL_SCAN_NOTHING] > 1000);
    assert_true(counts[SYMBOL_SCAN_UNDECIDED] > 1000);
}

static void a_source_asked_often_goes_on_answering_the_same(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"first", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"second", 0x1010, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    struct error error;
    elf_image_add_symbols(image, ".symtab", symbols, ARRAY_SIZE(symbols));
    assert_int_equal(
        elf_file_open_memory(elf_image_finish(image, ELF_IMAGE_PLAIN), NULL, &file, &error),
        ERR_OK);
    assert_int_equal(symtab_source_new(file, &source, &error), ERR_OK);
    struct frame_list frames = {0};
    for (int i = 0; i < 40; i++) {
        uint64_t pc = 0x1000 + (uint64_t)i % 0x28;
        assert_int_equal(source->ops->resolve(source, pc, &frames, &error), ERR_OK);
        assert_int_equal(frames.count, pc < 0x1020);
        if (frames.count)
            assert_true(span_equal_cstr(frames.frames[0].name, pc < 0x1010 ? "first" : "second"));
    }
    frame_list_clear(&frames);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_as_the_sorted_table_or_not_at_all),
        cmocka_unit_test(a_source_asked_often_goes_on_answering_the_same),
    };
    return cmocka_run_group_tests_name("symbol_scan", tests, NULL, NULL);
}
