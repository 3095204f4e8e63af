#include "debuginfo/symtab_source.h"

#include <stdio.h>

#include "base/buffer.h"
#include "tests/support/elf_image.h"
#include "tests/support/test.h"

/* A file with code at [0x1000, 0x2000) and [0x3000, 0x4000), and its source. */
struct fixture {
    struct elf_image *image;
    struct elf_file *file;
    struct symbol_source *source;
};

static void fixture_clear(struct fixture *fixture) {
    symbol_source_free(fixture->source);
    elf_file_free(fixture->file);
    if (fixture->image)
        elf_image_free(fixture->image);
}

static void add_code(struct elf_image *image, const char *name, uint64_t address, uint64_t size) {
    elf_image_add(image, &(struct elf_image_section){.name = name,
                                                     .type = SHT_NOBITS,
                                                     .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                     .address = address,
                                                     .claimed_size = size});
}

static struct elf_image *image_of(bool is_64, bool big_endian, uint16_t machine) {
    struct elf_image *image = elf_image_new(is_64, big_endian, ET_DYN, machine);
    add_code(image, ".text", 0x1000, 0x1000);
    add_code(image, ".text.more", 0x3000, 0x1000);
    return image;
}

static void open_source(struct fixture *fixture) {
    struct error error = {0};
    if (elf_file_open_memory(elf_image_finish(fixture->image, ELF_IMAGE_UNALIGNED), NULL,
                             &fixture->file, &error) ||
        symtab_source_new(fixture->file, &fixture->source, &error))
        fail_msg("%s", error.text);
}

static struct fixture symtab_of(const struct elf_image_symbol *symbols, size_t count) {
    struct fixture fixture = {.image = image_of(true, false, EM_X86_64)};
    elf_image_add_symbols(fixture.image, ".symtab", symbols, count);
    open_source(&fixture);
    return fixture;
}

/* The name at pc; "" where nothing is known. */
static const char *name_at(struct fixture *fixture, uint64_t pc) {
    static char name[256];
    struct frame_list frames = {0};
    struct error error;
    assert_int_equal(fixture->source->ops->resolve(fixture->source, pc, &frames, &error), ERR_OK);
    assert_true(frames.count <= 1);
    name[0] = '\0';
    if (frames.count == 1)
        snprintf(name, sizeof(name), "%.*s", (int)frames.frames[0].name.size,
                 frames.frames[0].name.data);
    frame_list_clear(&frames);
    return name;
}

/* --- a sink that writes down what it is given ---------------------------------------------------
 */

struct text_sink {
    struct symbol_sink base;
    struct buffer text;
    uint64_t last_end;
    size_t damage_count;
};

static enum err take_symbol(struct symbol_sink *base, const struct sink_symbol *symbol,
                            struct error *error) {
    (void)error;
    struct text_sink *sink = (struct text_sink *)base;
    assert_true(symbol->begin < symbol->end);
    assert_true(symbol->begin >= sink->last_end);
    sink->last_end = symbol->end;
    buffer_printf(&sink->text, "%llx-%llx %.*s @%llx %s\n", (unsigned long long)symbol->begin,
                  (unsigned long long)symbol->end, (int)symbol->name.size, symbol->name.data,
                  (unsigned long long)symbol->entry_pc, symbol_origin_name(symbol->origin));
    return ERR_OK;
}

static void take_damage(struct symbol_sink *base, const char *what) {
    struct text_sink *sink = (struct text_sink *)base;
    assert_true(what[0] != '\0');
    sink->damage_count++;
}

static const struct symbol_sink_ops text_sink_ops = {.symbol = take_symbol, .damage = take_damage};

static void check_push(struct fixture *fixture, const char *want) {
    struct text_sink sink = {.base.ops = &text_sink_ops};
    struct error error;
    assert_int_equal(fixture->source->ops->push(fixture->source, &sink.base, &error), ERR_OK);
    assert_int_equal(sink.damage_count, 0);
    assert_string_equal(buffer_cstr(&sink.text), want);
    buffer_clear(&sink.text);
}

static size_t damage_count_of(struct fixture *fixture) {
    struct text_sink sink = {.base.ops = &text_sink_ops};
    struct error error;
    assert_int_equal(fixture->source->ops->push(fixture->source, &sink.base, &error), ERR_OK);
    buffer_clear(&sink.text);
    return sink.damage_count;
}

/* --- sized symbols ------------------------------------------------------------------------------
 */

static void nothing_answers_beyond_its_size(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"first", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"second", 0x1020, 0x10, STB_LOCAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    assert_string_equal(name_at(&fixture, 0xfff), "");
    assert_string_equal(name_at(&fixture, 0x1000), "first");
    assert_string_equal(name_at(&fixture, 0x100f), "first");
    assert_string_equal(name_at(&fixture, 0x1010), "");
    assert_string_equal(name_at(&fixture, 0x101f), "");
    assert_string_equal(name_at(&fixture, 0x102f), "second");
    assert_string_equal(name_at(&fixture, 0x1030), "");
    check_push(&fixture, "1000-1010 first @1000 symtab\n1020-1030 second @1020 symtab\n");
}

static void an_inner_function_interrupts_the_outer_one(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"outer", 0x1000, 0x100, STB_GLOBAL, STT_FUNC, 1},
        {"inner", 0x1040, 0x10, STB_LOCAL, STT_FUNC, 1},
        {"crossing", 0x10f0, 0x40, STB_LOCAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    check_push(&fixture, "1000-1040 outer @1000 symtab\n"
                         "1040-1050 inner @1040 symtab\n"
                         "1050-10f0 outer @1000 symtab\n"
                         "10f0-1130 crossing @10f0 symtab\n");
}

static void among_aliases_global_wins_over_local_and_weak(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"weak", 0x1000, 0x10, STB_WEAK, STT_FUNC, 1},
        {"global", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"local", 0x1000, 0x10, STB_LOCAL, STT_FUNC, 1},
        {"weak2", 0x1100, 0x10, STB_WEAK, STT_FUNC, 1},
        {"local2", 0x1100, 0x10, STB_LOCAL, STT_FUNC, 1},
        {"__libc_malloc", 0x1200, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"malloc", 0x1200, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"zzz", 0x1300, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"aaa", 0x1300, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    check_push(&fixture, "1000-1010 global @1000 symtab\n"
                         "1100-1110 local2 @1100 symtab\n"
                         "1200-1210 malloc @1200 symtab\n"
                         "1300-1310 aaa @1300 symtab\n");
}

static void a_longer_alias_answers_where_the_better_one_ends(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"better", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"longer", 0x1000, 0x30, STB_WEAK, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    check_push(&fixture, "1000-1010 better @1000 symtab\n1010-1030 longer @1000 symtab\n");
}

static void a_size_past_the_end_of_the_section_is_cut_there(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"huge", 0x1ff0, UINT64_MAX - 5, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    check_push(&fixture, "1ff0-2000 huge @1ff0 symtab\n");
}

/* --- what is no function ------------------------------------------------------------------------
 */

static void only_code_symbols_answer(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"undefined", 0x1000, 4, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
        {"absolute", 0x1010, 4, STB_GLOBAL, STT_NOTYPE, SHN_ABS},
        {"common", 0x1020, 4, STB_GLOBAL, STT_NOTYPE, SHN_COMMON},
        {"object", 0x1030, 4, STB_GLOBAL, STT_OBJECT, 1},
        {"section", 0x1040, 4, STB_LOCAL, STT_SECTION, 1},
        {"file.c", 0x1050, 4, STB_LOCAL, STT_FILE, 1},
        {"tls", 0x1060, 4, STB_GLOBAL, STT_TLS, 1},
        {"$x", 0x1070, 4, STB_LOCAL, STT_NOTYPE, 1},
        {"$d.17", 0x1080, 4, STB_LOCAL, STT_NOTYPE, 1},
        {"$xrv64gc", 0x1090, 4, STB_LOCAL, STT_NOTYPE, 1},
        {".Ltmp5", 0x10a0, 4, STB_LOCAL, STT_NOTYPE, 1},
        {"..@7.loop", 0x10a4, 4, STB_LOCAL, STT_NOTYPE, 1},
        {"", 0x10b0, 4, STB_GLOBAL, STT_FUNC, 1},
        {"data_address", 0x2800, 4, STB_GLOBAL, STT_FUNC, 1},
        {"ifunc", 0x1100, 4, STB_GLOBAL, STT_GNU_IFUNC, 1},
        {"stale_index", 0x1110, 4, STB_GLOBAL, STT_FUNC, 999},
        {"xindex", 0x1120, 4, STB_GLOBAL, STT_FUNC, SHN_XINDEX},
        {"$dollar", 0x1130, 4, STB_GLOBAL, STT_FUNC, 1},
        {"$d", 0x1134, 4, STB_GLOBAL, STT_FUNC, 1},
        {"unique", 0x1140, 4, STB_GNU_UNIQUE, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    check_push(&fixture, "1100-1104 ifunc @1100 symtab\n"
                         "1110-1114 stale_index @1110 symtab\n"
                         "1120-1124 xindex @1120 symtab\n"
                         "1130-1134 $dollar @1130 symtab\n"
                         "1134-1138 $d @1134 symtab\n"
                         "1140-1144 unique @1140 symtab\n");
}

static void versions_are_no_part_of_the_name(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"memcpy@@GLIBC_2.14", 0x1000, 4, STB_GLOBAL, STT_FUNC, 1},
        {"read@GLIBC_2.2.5", 0x1010, 4, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    check_push(&fixture, "1000-1004 memcpy @1000 symtab\n1010-1014 read @1010 symtab\n");
}

static void versions_are_no_part_of_a_dynamic_name_either(void **state) {
    (void)state;
    static const struct elf_image_symbol dynamic[] = {
        {"memcpy@@GLIBC_2.14", 0x1000, 4, STB_GLOBAL, STT_FUNC, 1},
        {"read@GLIBC_2.2.5", 0x1010, 4, STB_WEAK, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = image_of(true, false, EM_X86_64)};
    elf_image_add_symbols(fixture.image, ".dynsym", dynamic, ARRAY_SIZE(dynamic));
    open_source(&fixture);
    check_push(&fixture, "1000-1004 memcpy @1000 dynsym\n1010-1014 read @1010 dynsym\n");
}

static void thumb_functions_lose_their_lowest_bit(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"thumb", 0x1001, 4, STB_GLOBAL, STT_FUNC, 1},
        {"$t", 0x1000, 0, STB_LOCAL, STT_NOTYPE, 1},
        {"arm", 0x1008, 4, STB_GLOBAL, STT_FUNC, 1},
        {"$a.1", 0x1008, 0, STB_LOCAL, STT_NOTYPE, 1},
        {"chosen", 0x1011, 4, STB_GLOBAL, STT_GNU_IFUNC, 1},
    };
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = image_of(false, false, EM_ARM)};
    elf_image_add_symbols(fixture.image, ".symtab", symbols, ARRAY_SIZE(symbols));
    open_source(&fixture);
    check_push(&fixture, "1000-1004 thumb @1000 symtab\n"
                         "1008-100c arm @1008 symtab\n"
                         "1010-1014 chosen @1010 symtab\n");
}

static void powerpc_descriptors_are_followed(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"described", 0x5008, 4, STB_GLOBAL, STT_FUNC, 3},
        {"past_the_end", 0x500c, 4, STB_GLOBAL, STT_FUNC, 3},
        {".described", 0x1040, 4, STB_GLOBAL, STT_FUNC, 1},
        {".only_code", 0x1060, 4, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = image_of(true, true, EM_PPC64)};
    elf_image_add(fixture.image, &(struct elf_image_section){
                                     .name = ".opd",
                                     .type = SHT_PROGBITS,
                                     .flags = SHF_ALLOC | SHF_WRITE,
                                     .address = 0x5000,
                                     .bytes = {"\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x10\x40", 16}});
    elf_image_add_symbols(fixture.image, ".symtab", symbols, ARRAY_SIZE(symbols));
    open_source(&fixture);
    check_push(&fixture, "1040-1044 described @1040 symtab\n1060-1064 .only_code @1060 symtab\n");
}

/* --- sizeless and untyped symbols ---------------------------------------------------------------
 */

static void a_sizeless_symbol_reaches_to_the_next_or_to_the_end_of_its_section(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"assembly", 0x1000, 0, STB_GLOBAL, STT_FUNC, 1},
        {"sized", 0x1040, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"last", 0x1f00, 0, STB_LOCAL, STT_NOTYPE, 1},
        {"other_section", 0x3000, 0, STB_LOCAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    check_push(&fixture, "1000-1040 assembly @1000 symtab\n"
                         "1040-1050 sized @1040 symtab\n"
                         "1f00-2000 last @1f00 symtab\n"
                         "3000-4000 other_section @3000 symtab\n");
}

static void a_label_inside_a_function_is_no_function(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"function", 0x1000, 0x100, STB_LOCAL, STT_FUNC, 1},
        {"label", 0x1040, 0, STB_GLOBAL, STT_NOTYPE, 1},
        {"sized_label", 0x1050, 0x10, STB_GLOBAL, STT_NOTYPE, 1},
        {"same_start", 0x1000, 0, STB_GLOBAL, STT_FUNC, 1},
        {"next", 0x1200, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    check_push(&fixture, "1000-1100 function @1000 symtab\n1200-1210 next @1200 symtab\n");
}

static void an_untyped_symbol_fills_what_functions_leave(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"untyped", 0x1000, 0x100, STB_GLOBAL, STT_NOTYPE, 1},
        {"typed", 0x1040, 0x10, STB_LOCAL, STT_FUNC, 1},
        {"sizeless_untyped", 0x1200, 0, STB_GLOBAL, STT_NOTYPE, 1},
        {"sizeless_typed", 0x1200, 0, STB_LOCAL, STT_FUNC, 1},
        {"stop", 0x1300, 1, STB_LOCAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    check_push(&fixture, "1000-1040 untyped @1000 symtab\n"
                         "1040-1050 typed @1040 symtab\n"
                         "1050-1100 untyped @1000 symtab\n"
                         "1200-1300 sizeless_typed @1200 symtab\n"
                         "1300-1301 stop @1300 symtab\n");
}

static void a_sizeless_dynamic_symbol_without_fde_answers_its_first_byte_only(void **state) {
    (void)state;
    static const struct elf_image_symbol dynamic[] = {
        {"OPENSSL_sparse", 0x1000, 0, STB_GLOBAL, STT_FUNC, 1},
        {"exported", 0x1100, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = image_of(true, false, EM_X86_64)};
    elf_image_add_symbols(fixture.image, ".dynsym", dynamic, ARRAY_SIZE(dynamic));
    open_source(&fixture);
    check_push(&fixture, "1000-1001 OPENSSL_sparse @1000 dynsym\n"
                         "1100-1110 exported @1100 dynsym\n");
}

static void both_tables_are_one_source_and_symtab_is_preferred(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"shared", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    static const struct elf_image_symbol dynamic[] = {
        {"shared", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"only_dynamic", 0x1020, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = image_of(false, true, EM_MIPS)};
    elf_image_add_symbols(fixture.image, ".dynsym", dynamic, ARRAY_SIZE(dynamic));
    elf_image_add_symbols(fixture.image, ".symtab", symbols, ARRAY_SIZE(symbols));
    open_source(&fixture);
    check_push(&fixture, "1000-1010 shared @1000 symtab\n1020-1030 only_dynamic @1020 dynsym\n");
}

/* --- files that lost something, and damage -----------------------------------------------------
 */

static void symbols_of_a_file_as_agents_leave_it_answer(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"f", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, 12},
        {"asm", 0x1800, 0, STB_GLOBAL, STT_FUNC, 12},
        {"data", 0x9000, 0x10, STB_GLOBAL, STT_NOTYPE, 25},
    };
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = elf_image_new(true, false, ET_DYN, EM_X86_64)};
    add_code(fixture.image, ".text", 0x1000, 0);
    elf_image_add(fixture.image, &(struct elf_image_section){.name = ".rodata",
                                                             .type = SHT_NOBITS,
                                                             .flags = SHF_ALLOC,
                                                             .address = 0x2000});
    elf_image_add_symbols(fixture.image, ".symtab", symbols, ARRAY_SIZE(symbols));
    open_source(&fixture);
    check_push(&fixture, "1000-1010 f @1000 symtab\n1800-2000 asm @1800 symtab\n");
}

static void without_known_extents_a_last_sizeless_symbol_answers_one_byte(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"a", 0x1000, 0, STB_GLOBAL, STT_FUNC, 1},
        {"b", 0x1800, 0, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = elf_image_new(true, false, ET_DYN, EM_X86_64)};
    elf_image_add_symbols(fixture.image, ".symtab", symbols, ARRAY_SIZE(symbols));
    open_source(&fixture);
    check_push(&fixture, "1000-1800 a @1000 symtab\n1800-1801 b @1800 symtab\n");
}

static void a_file_without_symbols_is_an_empty_source(void **state) {
    (void)state;
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = image_of(true, false, EM_X86_64)};
    open_source(&fixture);
    check_push(&fixture, "");
    assert_string_equal(name_at(&fixture, 0x1000), "");
}

static void a_damaged_table_is_reported_and_the_other_one_read(void **state) {
    (void)state;
    static const struct elf_image_symbol dynamic[] = {
        {"exported", 0x1100, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = image_of(true, false, EM_X86_64)};
    elf_image_add(fixture.image, &(struct elf_image_section){.name = ".symtab",
                                                             .type = SHT_SYMTAB,
                                                             .bytes = {"xxxx", 4},
                                                             .claimed_size = 1 << 20});
    elf_image_add_symbols(fixture.image, ".dynsym", dynamic, ARRAY_SIZE(dynamic));
    open_source(&fixture);
    assert_int_equal(damage_count_of(&fixture), 1);
    assert_string_equal(name_at(&fixture, 0x1100), "exported");
}

/* A small string table whose one long name is used by every symbol would otherwise take its size
 * times the number of symbols. */
static void names_that_overlap_without_end_are_cut_off(void **state) {
    (void)state;
    enum { NAME_SIZE = 60000, SYMBOL_COUNT = 1000 };
    CLEANUP(cleanup_free) char *strings = calloc(1, NAME_SIZE + 2);
    CLEANUP(cleanup_free) Elf64_Sym *symbols = calloc(SYMBOL_COUNT, sizeof(*symbols));
    assert_non_null(strings);
    assert_non_null(symbols);
    memset(strings + 1, 'n', NAME_SIZE);
    for (size_t i = 1; i < SYMBOL_COUNT; i++)
        symbols[i] = (Elf64_Sym){.st_name = 1,
                                 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                 .st_shndx = 1,
                                 .st_value = 0x1000 + i,
                                 .st_size = 1};
    CLEANUP(fixture_clear)
    struct fixture fixture = {.image = image_of(true, false, EM_X86_64)};
    uint32_t link = elf_image_add(fixture.image,
                                  &(struct elf_image_section){.name = ".strtab",
                                                              .type = SHT_STRTAB,
                                                              .bytes = {strings, NAME_SIZE + 2}});
    elf_image_add(fixture.image, &(struct elf_image_section){
                                     .name = ".symtab",
                                     .type = SHT_SYMTAB,
                                     .bytes = span_of(symbols, SYMBOL_COUNT * sizeof(*symbols)),
                                     .link = link});
    open_source(&fixture);
    assert_int_equal(damage_count_of(&fixture), 1);
    assert_true(strlen(name_at(&fixture, 0x1001)) > 0);
    assert_string_equal(name_at(&fixture, 0x1000 + SYMBOL_COUNT - 1), "");
}

static size_t count_names(struct fixture *fixture, uint64_t pc,
                          struct span names[static SYMTAB_NAMES_MAX]) {
    size_t count = 0;
    struct error error;
    assert_int_equal(symtab_source_names(fixture->source, pc, names, &count, &error), ERR_OK);
    return count;
}

static void all_names_at_an_address_are_told_the_best_first(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"inside", 0x1008, 0, STB_GLOBAL, STT_FUNC, 1},
        {"__GI_read", 0x1000, 0x10, STB_LOCAL, STT_FUNC, 1},
        {"__read", 0x1000, 0x10, STB_WEAK, STT_FUNC, 1},
        {"read@@GLIBC_2.2.5", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, 1},
        {"label", 0x1000, 0, STB_GLOBAL, STT_NOTYPE, 1},
        {"next", 0x1010, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    static const char *const want[] = {"read", "__GI_read", "__read", "label"};
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    struct span names[SYMTAB_NAMES_MAX];
    assert_int_equal(count_names(&fixture, 0x1000, names), ARRAY_SIZE(want));
    for (size_t i = 0; i < ARRAY_SIZE(want); i++)
        assert_true(span_equal_cstr(names[i], want[i]));
    assert_int_equal(count_names(&fixture, 0x1008, names), 1);
    assert_int_equal(count_names(&fixture, 0x1001, names), 0);
    assert_int_equal(count_names(&fixture, 0, names), 0);
    assert_int_equal(count_names(&fixture, UINT64_MAX, names), 0);
}

static void no_more_names_are_told_than_there_is_room_for(void **state) {
    (void)state;
    struct elf_image_symbol symbols[3 * SYMTAB_NAMES_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
        symbols[i] = (struct elf_image_symbol){"same", 0x1000, 1, STB_GLOBAL, STT_FUNC, 1};
    CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, ARRAY_SIZE(symbols));
    struct span names[SYMTAB_NAMES_MAX];
    assert_int_equal(count_names(&fixture, 0x1000, names), SYMTAB_NAMES_MAX);
}

/* The slow and obvious answer: of all symbols that cover pc the one that begins last. */
static const struct elf_image_symbol *covering(const struct elf_image_symbol *symbols, size_t count,
                                               uint64_t pc) {
    const struct elf_image_symbol *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct elf_image_symbol *symbol = &symbols[i];
        if (pc < symbol->value || pc - symbol->value >= symbol->size)
            continue;
        if (!best || symbol->value > best->value ||
            (symbol->value == best->value && strcmp(symbol->name, best->name) < 0))
            best = symbol;
    }
    return best;
}

static void agrees_with_a_plain_search_over_random_overlaps(void **state) {
    (void)state;
    enum { SYMBOL_COUNT = 60 };
    uint32_t seed = 12345;
    for (int round = 0; round < 200; round++) {
        struct elf_image_symbol symbols[SYMBOL_COUNT];
        char names[SYMBOL_COUNT][8];
        for (size_t i = 0; i < SYMBOL_COUNT; i++) {
            seed = seed * 1664525 + 1013904223;
            snprintf(names[i], sizeof(names[i]), "f%zu", i);
            symbols[i] = (struct elf_image_symbol){
                names[i], 0x1000 + (seed >> 8) % 256, 1 + (seed >> 20) % 64, STB_GLOBAL, STT_FUNC,
                1};
        }
        CLEANUP(fixture_clear) struct fixture fixture = symtab_of(symbols, SYMBOL_COUNT);
        for (uint64_t pc = 0x1000; pc < 0x1180; pc++) {
            const struct elf_image_symbol *want = covering(symbols, SYMBOL_COUNT, pc);
            assert_string_equal(name_at(&fixture, pc), want ? want->name : "");
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_answers_beyond_its_size),
        cmocka_unit_test(an_inner_function_interrupts_the_outer_one),
        cmocka_unit_test(among_aliases_global_wins_over_local_and_weak),
        cmocka_unit_test(a_longer_alias_answers_where_the_better_one_ends),
        cmocka_unit_test(a_size_past_the_end_of_the_section_is_cut_there),
        cmocka_unit_test(only_code_symbols_answer),
        cmocka_unit_test(versions_are_no_part_of_the_name),
        cmocka_unit_test(versions_are_no_part_of_a_dynamic_name_either),
        cmocka_unit_test(thumb_functions_lose_their_lowest_bit),
        cmocka_unit_test(powerpc_descriptors_are_followed),
        cmocka_unit_test(a_sizeless_symbol_reaches_to_the_next_or_to_the_end_of_its_section),
        cmocka_unit_test(a_label_inside_a_function_is_no_function),
        cmocka_unit_test(an_untyped_symbol_fills_what_functions_leave),
        cmocka_unit_test(a_sizeless_dynamic_symbol_without_fde_answers_its_first_byte_only),
        cmocka_unit_test(both_tables_are_one_source_and_symtab_is_preferred),
        cmocka_unit_test(symbols_of_a_file_as_agents_leave_it_answer),
        cmocka_unit_test(without_known_extents_a_last_sizeless_symbol_answers_one_byte),
        cmocka_unit_test(a_file_without_symbols_is_an_empty_source),
        cmocka_unit_test(a_damaged_table_is_reported_and_the_other_one_read),
        cmocka_unit_test(names_that_overlap_without_end_are_cut_off),
        cmocka_unit_test(all_names_at_an_address_are_told_the_best_first),
        cmocka_unit_test(no_more_names_are_told_than_there_is_room_for),
        cmocka_unit_test(agrees_with_a_plain_search_over_random_overlaps),
    };
    return cmocka_run_group_tests_name("symtab_source", tests, NULL, NULL);
}
