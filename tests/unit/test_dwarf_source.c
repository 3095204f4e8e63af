/* How our own DWARF reader cuts a file into shards, and what it tells of damage. What it reads is
 * tested in test_dwarf_sources.c and tests/dwarf. */
#include "debuginfo/dwarf_source.h"

#include <dwarf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/dwarf_site.h"
#include "tests/support/elf_image.h"
#include "tests/support/push_model.h"
#include "tests/support/test.h"

enum { UNIT = 1, FUNCTION, COPY, NAMESPACE, FILLER, LINED_UNIT, DECLARED };

#define TEXT_ADDRESS 0x10000
#define UNIT_CODE_SIZE 0x100

static void declare_all(struct dwarf_site *site) {
    declare(site, UNIT, DW_TAG_compile_unit, true, DW_AT_language, DW_FORM_data1, 0);
    declare(site, FUNCTION, DW_TAG_subprogram, true, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
            DW_FORM_addr, DW_AT_high_pc, DW_FORM_data2, 0);
    declare(site, COPY, DW_TAG_inlined_subroutine, false, DW_AT_abstract_origin, DW_FORM_ref_addr,
            DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data2, 0);
    declare(site, NAMESPACE, DW_TAG_namespace, true, DW_AT_name, DW_FORM_string, 0);
    declare(site, FILLER, DW_TAG_variable, false, DW_AT_location, DW_FORM_block4, 0);
    declare(site, LINED_UNIT, DW_TAG_compile_unit, true, DW_AT_stmt_list, DW_FORM_sec_offset, 0);
    declare(site, DECLARED, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
            DW_FORM_addr, DW_AT_high_pc, DW_FORM_data2, DW_AT_decl_file, DW_FORM_data1,
            DW_AT_decl_line, DW_FORM_data1, 0);
    end_declarations(site);
}

/* A function with a copy of `origin` in it, or of itself if that is 0. Returns its offset. */
static size_t put_unit(struct dwarf_site *site, unsigned number, size_t origin, size_t filler) {
    uint64_t address = TEXT_ADDRESS + (uint64_t)number * UNIT_CODE_SIZE;
    char name[32];
    snprintf(name, sizeof(name), "function%u", number);
    size_t begin = begin_plain_unit(site);
    put_u8(&site->info, UNIT);
    put_u8(&site->info, DW_LANG_C_plus_plus);
    put_u8(&site->info, FILLER);
    put_number(&site->info, 4, filler);
    for (size_t i = 0; i < filler / 64; i++)
        put_bytes(&site->info, span_of((const char[64]){0}, 64));
    put_u8(&site->info, NAMESPACE);
    put_text(&site->info, "scope");
    size_t function = site->info.buffer.size;
    put_u8(&site->info, FUNCTION);
    put_text(&site->info, name);
    put_number(&site->info, 8, address);
    put_number(&site->info, 2, UNIT_CODE_SIZE);
    put_u8(&site->info, COPY);
    put_number(&site->info, 4, origin ? origin : function);
    put_number(&site->info, 8, address + 16);
    put_number(&site->info, 2, 16);
    for (int i = 0; i < 3; i++)
        put_u8(&site->info, 0);
    end_plain_unit(site, begin);
    return function;
}

struct opened {
    struct elf_image *image;
    struct elf_file *file;
    struct symbol_source *source;
};

static void cleanup_opened(struct opened *opened) {
    cleanup_symbol_source(&opened->source);
    cleanup_elf_file(&opened->file);
    cleanup_elf_image(&opened->image);
}

static void open_site_with_lines(struct opened *opened, const struct dwarf_site *site,
                                 struct span lines) {
    opened->image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add(opened->image, &(struct elf_image_section){.name = ".text",
                                                             .type = SHT_NOBITS,
                                                             .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                             .address = TEXT_ADDRESS,
                                                             .claimed_size = 1 << 20});
    struct dwarf_sections sections = dwarf_site_sections(site);
    elf_image_add_bytes(opened->image, ".debug_info", sections.info);
    elf_image_add_bytes(opened->image, ".debug_abbrev", sections.abbrev);
    if (lines.size > 0)
        elf_image_add_bytes(opened->image, ".debug_line", lines);
    struct error error;
    assert_int_equal(elf_file_open_memory(elf_image_finish(opened->image, ELF_IMAGE_PLAIN),
                                          &(struct elf_limits){0}, &opened->file, &error),
                     ERR_OK);
    assert_int_equal(dwarf_source_new(opened->file, &opened->source, &error), ERR_OK);
}

static void open_site(struct opened *opened, const struct dwarf_site *site) {
    open_site_with_lines(opened, site, (struct span){NULL, 0});
}

#define UNIT_COUNT 48

/* Units of a quarter of a megabyte each; all of them name the last one's function. */
static void put_large_site(struct dwarf_site *site) {
    declare_all(site);
    size_t size = 0;
    size_t function = 0;
    /* The place of the last function is that of the first, moved by the size of what is between. */
    for (unsigned i = 0; i < 2; i++) {
        dwarf_bytes_clear(&site->info);
        size_t last = function ? function + (UNIT_COUNT - 1) * size : 1;
        function = put_unit(site, 10, last, 1 << 18);
        size = site->info.buffer.size;
        for (unsigned j = 1; i == 1 && j < UNIT_COUNT; j++)
            put_unit(site, 10 + j, last, 1 << 18);
    }
}

static void print_model(struct push_model *model, struct buffer *text) {
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    push_model_print(model, out);
    fclose(out);
    buffer_append(text, printed, size);
    free(printed);
}

/* Takes shards until there are none. */
struct pusher {
    struct symbol_source *source;
    size_t shard_count;
    _Atomic size_t *next;
    struct buffer *texts; /* by shard */
};

static void *push_shards(void *argument) {
    struct pusher *pusher = argument;
    for (;;) {
        size_t shard = (*pusher->next)++;
        if (shard >= pusher->shard_count)
            return NULL;
        CLEANUP(cleanup_push_model) struct push_model *model = push_model_new();
        struct error error;
        if (pusher->source->ops->push_shard(pusher->source, shard, push_model_sink(model), &error))
            return "a shard could not be pushed";
        print_model(model, &pusher->texts[shard]);
    }
}

#define THREAD_COUNT 4
#define SHARD_MAX 32

static void shards_pushed_at_once_are_what_a_push_gives(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(cleanup_opened) struct opened opened = {0};
    put_large_site(&site);
    open_site(&opened, &site);
    struct symbol_source *source = opened.source;
    size_t shard_count = source->ops->shard_count(source);
    assert_true(shard_count > 3 && shard_count < SHARD_MAX);

    struct buffer texts[SHARD_MAX] = {0};
    _Atomic size_t next = 0;
    struct pusher pusher = {source, shard_count, &next, texts};
    pthread_t threads[THREAD_COUNT];
    for (int i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push_shards, &pusher), 0);
    for (int i = 0; i < THREAD_COUNT; i++) {
        void *problem;
        assert_int_equal(pthread_join(threads[i], &problem), 0);
        assert_null(problem);
    }
    CLEANUP(buffer_clear) struct buffer joined = {0};
    for (size_t i = 0; i < shard_count; i++) {
        buffer_append(&joined, texts[i].data, texts[i].size);
        buffer_clear(&texts[i]);
    }

    CLEANUP(cleanup_push_model) struct push_model *model = push_model_new();
    CLEANUP(buffer_clear) struct buffer whole = {0};
    struct error error;
    assert_int_equal(source->ops->push(source, push_model_sink(model), &error), ERR_OK);
    print_model(model, &whole);
    assert_string_equal(buffer_cstr(&joined), buffer_cstr(&whole));
    assert_non_null(strstr(buffer_cstr(&whole), "function scope::function10 "));
    assert_non_null(strstr(buffer_cstr(&whole), "inlined scope::function57 "));
}

static void every_broken_unit_is_told_and_costs_itself(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(cleanup_opened) struct opened opened = {0};
    declare_all(&site);
    const struct dwarf_site_unit unknown = {
        .version = 9, .type = DW_UT_compile, .address_size = 8, .offset_size = 4};
    end_unit(&site, &unknown, begin_unit(&site, &unknown));
    put_unit(&site, 1, 0, 64);
    end_plain_unit(&site, begin_plain_unit(&site));
    put_number(&site.info, 4, 0x7fffffff);
    open_site(&opened, &site);
    CLEANUP(cleanup_push_model) struct push_model *model = push_model_new();
    CLEANUP(buffer_clear) struct buffer text = {0};
    struct error error;
    struct symbol_source *source = opened.source;
    assert_int_equal(source->ops->push(source, push_model_sink(model), &error), ERR_OK);
    print_model(model, &text);
    assert_int_equal(push_model_damage_count(model), 3);
    const char *printed = buffer_cstr(&text);
    assert_non_null(strstr(printed, "damage DWARF unit at 0x0: its version is unknown\n"));
    assert_non_null(strstr(printed, "function scope::function1 "));
    assert_non_null(strstr(printed, ": it has no unit DIE\n"));
    assert_non_null(strstr(printed, "damage DWARF: the list of units ends early\n"));
}

/* One row at TEXT_ADDRESS, of 16 bytes, as a sequence of its own. */
static void put_sequence(struct dwarf_bytes *lines, int64_t line) {
    put_u8(lines, 0);
    put_uleb(lines, 9);
    put_u8(lines, DW_LNE_set_address);
    put_number(lines, 8, TEXT_ADDRESS);
    put_u8(lines, DW_LNS_advance_line);
    put_sleb(lines, line - 1);
    put_u8(lines, DW_LNS_copy);
    put_u8(lines, DW_LNS_advance_pc);
    put_uleb(lines, 16);
    put_u8(lines, 0);
    put_uleb(lines, 1);
    put_u8(lines, DW_LNE_end_sequence);
}

/* A line table of version 4 with the file a.c. */
static void put_lines(struct dwarf_bytes *lines, int64_t first, int64_t second) {
    static const uint8_t parameters[] = {1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    size_t begin = begin_length(lines, 4);
    put_number(lines, 2, 4);
    size_t header = begin_length(lines, 4);
    put_bytes(lines, span_of(parameters, sizeof(parameters)));
    put_u8(lines, 0); /* no directories */
    put_text(lines, "a.c");
    put_number(lines, 3, 0);
    put_u8(lines, 0);
    end_length(lines, header, 4);
    put_sequence(lines, first);
    put_sequence(lines, second);
    end_length(lines, begin, 4);
}

static void put_declared(struct dwarf_site *site, const char *name, uint16_t size, uint8_t line) {
    put_u8(&site->info, DECLARED);
    put_text(&site->info, name);
    put_number(&site->info, 8, TEXT_ADDRESS);
    put_number(&site->info, 2, size);
    put_u8(&site->info, 1);
    put_u8(&site->info, line);
}

/* The linker made one function of two: their ranges and sequences are the same. */
static void a_folded_function_has_the_line_that_fits_its_name(void **state) {
    (void)state;
    for (int is_lower = 0; is_lower < 2; is_lower++) {
        CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
        CLEANUP(dwarf_bytes_clear) struct dwarf_bytes lines = {0};
        CLEANUP(cleanup_opened) struct opened opened = {0};
        CLEANUP(frame_list_clear) struct frame_list frames = {0};
        declare_all(&site);
        size_t begin = begin_plain_unit(&site);
        put_u8(&site.info, LINED_UNIT);
        put_number(&site.info, 4, 0);
        put_declared(&site, "upper", is_lower ? 17 : 16, 20);
        put_declared(&site, "lower", is_lower ? 16 : 17, 40);
        put_u8(&site.info, 0);
        end_plain_unit(&site, begin);
        put_lines(&lines, 21, 41);
        open_site_with_lines(&opened, &site, dwarf_bytes_span(&lines));
        struct error error;
        assert_int_equal(opened.source->ops->resolve(opened.source, TEXT_ADDRESS, &frames, &error),
                         ERR_OK);
        assert_int_equal(frames.count, 1);
        assert_true(span_equal_cstr(frames.frames[0].name, is_lower ? "lower" : "upper"));
        assert_int_equal(frames.frames[0].line, is_lower ? 41 : 21);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_pushed_at_once_are_what_a_push_gives),
        cmocka_unit_test(every_broken_unit_is_told_and_costs_itself),
        cmocka_unit_test(a_folded_function_has_the_line_that_fits_its_name),
    };
    return cmocka_run_group_tests_name("dwarf_source", tests, NULL, NULL);
}
