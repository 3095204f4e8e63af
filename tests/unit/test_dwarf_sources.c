/*
 * Both DWARF sources, our own reader and the walk over libdw, on hand-made .debug_info that no
 * compiler would write. What compilers write is tested in tests/dwarf.
 */
#include "debuginfo/dwarf_source.h"

#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "debuginfo/libdw_source.h"
#include "tests/support/elf_image.h"
#include "tests/support/push_model.h"
#include "tests/support/test.h"

/* Every test is run with each of them as its state. */
struct backend {
    const char *unit; /* how it names the first unit */
    enum err (*new_source)(struct elf_file *file, struct symbol_source **ret_source,
                           struct error *error);
};

static struct backend native = {"0x0", dwarf_source_new};
static struct backend libdw = {"0xc", libdw_source_new};

#define TEXT_ADDRESS 0x1000
#define TEXT_SIZE 0x1000

/* One abbreviation for each kind of DIE that the tests need; `abbrevs` lists their attributes. */
enum die_kind {
    UNIT = 1,    /* children; name, comp_dir, language, low_pc, high_pc */
    FUNCTION,    /* children; name, low_pc, high_pc, decl_line */
    INLINED,     /* children; abstract_origin, low_pc, high_pc, call_file, call_line */
    ABSTRACT,    /* name, inline */
    BLOCK,       /* children */
    TRY,         /* children */
    NAMESPACE,   /* children; name */
    CLASS,       /* children; name */
    DECLARED,    /* name, declaration */
    DEFINITION,  /* specification, low_pc, high_pc */
    ONLY_ORIGIN, /* abstract_origin */
    SIBLING,     /* children; sibling */
    ELSEWHERE,   /* abstract_origin in the supplementary file, low_pc, high_pc */
    BORROWED,    /* name in the supplementary file, low_pc, high_pc */
    LINED,       /* children; low_pc, high_pc, stmt_list 0 */
};

/* clang-format off */
static const uint8_t abbrevs[] = {
    UNIT, DW_TAG_compile_unit, 1,
        DW_AT_name, DW_FORM_string, DW_AT_comp_dir, DW_FORM_string, DW_AT_language, DW_FORM_data1,
        DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0, 0,
    FUNCTION, DW_TAG_subprogram, 1,
        DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4,
        DW_AT_decl_line, DW_FORM_data1, 0, 0,
    INLINED, DW_TAG_inlined_subroutine, 1,
        DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr,
        DW_AT_high_pc, DW_FORM_data4, DW_AT_call_file, DW_FORM_data1,
        DW_AT_call_line, DW_FORM_data1, 0, 0,
    ABSTRACT, DW_TAG_subprogram, 0,
        DW_AT_name, DW_FORM_string, DW_AT_inline, DW_FORM_data1, 0, 0,
    BLOCK, DW_TAG_lexical_block, 1, 0, 0,
    TRY, DW_TAG_try_block, 1, 0, 0,
    NAMESPACE, DW_TAG_namespace, 1, DW_AT_name, DW_FORM_string, 0, 0,
    CLASS, DW_TAG_class_type, 1, DW_AT_name, DW_FORM_string, 0, 0,
    DECLARED, DW_TAG_subprogram, 0,
        DW_AT_name, DW_FORM_string, DW_AT_declaration, DW_FORM_flag_present, 0, 0,
    DEFINITION, DW_TAG_subprogram, 0,
        DW_AT_specification, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr,
        DW_AT_high_pc, DW_FORM_data4, 0, 0,
    ONLY_ORIGIN, DW_TAG_subprogram, 0, DW_AT_abstract_origin, DW_FORM_ref4, 0, 0,
    SIBLING, DW_TAG_lexical_block, 1, DW_AT_sibling, DW_FORM_ref4, 0, 0,
    ELSEWHERE, DW_TAG_subprogram, 0,
        DW_AT_abstract_origin, 0xa0, 0x3e /* DW_FORM_GNU_ref_alt */, DW_AT_low_pc, DW_FORM_addr,
        DW_AT_high_pc, DW_FORM_data4, 0, 0,
    BORROWED, DW_TAG_subprogram, 0,
        DW_AT_name, 0xa1, 0x3e /* DW_FORM_GNU_strp_alt */, DW_AT_low_pc, DW_FORM_addr,
        DW_AT_high_pc, DW_FORM_data4, 0, 0,
    LINED, DW_TAG_compile_unit, 1,
        DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4,
        DW_AT_stmt_list, DW_FORM_sec_offset, 0, 0,
    0,
};

/* A line table of version 4: a row for line 5 at 0x1800, and its end at 0x1810. */
static const uint8_t lines[] = {
    52, 0, 0, 0, 4, 0, 27, 0, 0, 0, 1, 1, 1, 0xfb, 14, 13,
    0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1,           /* lengths of the standard opcodes */
    0, 'a', '.', 'c', 0, 0, 0, 0, 0,             /* no directories; one file */
    0, 9, DW_LNE_set_address, 0, 0x18, 0, 0, 0, 0, 0, 0,
    DW_LNS_advance_line, 4, DW_LNS_copy,
    DW_LNS_advance_pc, 0x10,
    0, 1, DW_LNE_end_sequence,
};
/* clang-format on */

/* A .debug_info of DWARF 5 units, on its way. */
struct info {
    struct buffer bytes;
    size_t unit;         /* where the last unit begins */
    struct span altlink; /* of the file it goes into */
};

static void put(struct info *info, uint64_t number, size_t size) {
    for (size_t i = 0; i < size; i++)
        buffer_append_byte(&info->bytes, (char)(number >> (8 * i)));
}

static void put_string(struct info *info, const char *text) {
    buffer_append(&info->bytes, text, strlen(text) + 1);
}

static void end_children(struct info *info) {
    put(info, 0, 1);
}

/* Where the next DIE will be, counted from the unit's header, as references count. */
static uint32_t here(const struct info *info) {
    return (uint32_t)info->bytes.size;
}

static void put_header(struct info *info) {
    info->unit = info->bytes.size;
    put(info, 0, 4); /* the length; see end_unit */
    put(info, 5, 2);
    put(info, DW_UT_compile, 1);
    put(info, 8, 1);
    put(info, 0, 4);
}

static void put_unit(struct info *info, uint8_t language) {
    put_header(info);
    put(info, UNIT, 1);
    put_string(info, "unit.c");
    put_string(info, "/src");
    put(info, language, 1);
    put(info, TEXT_ADDRESS, 8);
    put(info, TEXT_SIZE, 4);
}

static void end_unit(struct info *info) {
    end_children(info);
    uint32_t length = (uint32_t)(info->bytes.size - info->unit) - 4;
    memcpy(info->bytes.data + info->unit, &length, sizeof(length));
}

static uint32_t put_named(struct info *info, enum die_kind kind, const char *name) {
    uint32_t offset = here(info);
    put(info, kind, 1);
    put_string(info, name);
    if (kind == ABSTRACT)
        put(info, DW_INL_inlined, 1);
    return offset;
}

static void put_function(struct info *info, const char *name, uint64_t low, uint32_t size) {
    put_named(info, FUNCTION, name);
    put(info, low, 8);
    put(info, size, 4);
    put(info, 7, 1);
}

static void put_inlined(struct info *info, uint32_t origin, uint64_t low, uint32_t size) {
    put(info, INLINED, 1);
    put(info, origin, 4);
    put(info, low, 8);
    put(info, size, 4);
    put(info, 9, 1);
    put(info, 21, 1);
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

static void make_image(struct opened *opened, struct info *info) {
    end_unit(info);
    opened->image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    static const char code[TEXT_SIZE];
    elf_image_add(opened->image, &(struct elf_image_section){.name = ".text",
                                                             .type = SHT_PROGBITS,
                                                             .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                             .address = TEXT_ADDRESS,
                                                             .bytes = span_of(code, sizeof(code))});
    elf_image_add_bytes(opened->image, ".debug_info", buffer_span(&info->bytes));
    elf_image_add_bytes(opened->image, ".debug_abbrev", span_of(abbrevs, sizeof(abbrevs)));
    elf_image_add_bytes(opened->image, ".debug_line", span_of(lines, sizeof(lines)));
    if (info->altlink.size > 0)
        elf_image_add_bytes(opened->image, ".gnu_debugaltlink", info->altlink);
}

static void open_units(const struct backend *backend, struct opened *opened, struct info *info) {
    struct error error = {0};
    make_image(opened, info);
    assert_int_equal(elf_file_open_memory(elf_image_finish(opened->image, ELF_IMAGE_PLAIN),
                                          &(struct elf_limits){0}, &opened->file, &error),
                     ERR_OK);
    assert_int_equal(backend->new_source(opened->file, &opened->source, &error), ERR_OK);
    buffer_clear(&info->bytes);
}

/* Pushes the units and gives the model's text. */
static char *push_text(const struct backend *backend, struct info *info) {
    CLEANUP(cleanup_opened) struct opened opened = {0};
    open_units(backend, &opened, info);
    struct symbol_source *source = opened.source;
    CLEANUP(cleanup_push_model) struct push_model *model = push_model_new();
    struct error error = {0};
    assert_int_equal(source->ops->push(source, push_model_sink(model), &error), ERR_OK);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    push_model_print(model, out);
    fclose(out);
    return text;
}

static void assert_pushes(const struct backend *backend, struct info *info, const char *expected) {
    CLEANUP(cleanup_free) char *text = push_text(backend, info);
    /* The first line is the unit's own. */
    const char *rest = strchr(text, '\n');
    assert_non_null(rest);
    assert_string_equal(rest + 1, expected);
}

/* The same where the first unit has one damage, told last. */
static void assert_pushes_damaged(const struct backend *backend, struct info *info,
                                  const char *expected) {
    CLEANUP(buffer_clear) struct buffer text = {0};
    buffer_printf(&text, "%sdamage DWARF unit at %s: some functions or ranges cannot be read\n",
                  expected, backend->unit);
    assert_pushes(backend, info, buffer_cstr(&text));
}

static void copies_are_found_through_blocks_of_every_kind(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C11);
    uint32_t origin = put_named(&info, ABSTRACT, "inner");
    put_function(&info, "outer", 0x1000, 0x100);
    put(&info, BLOCK, 1);
    put(&info, TRY, 1);
    put_inlined(&info, origin, 0x1010, 0x20);
    put(&info, BLOCK, 1);
    put_inlined(&info, origin, 0x1018, 0x8);
    for (int i = 0; i < 6; i++)
        end_children(&info);
    assert_pushes(*state, &info,
                  " function outer decl :7 [0x1000,0x1100)\n"
                  "  inlined inner decl :0 call /src/unit.c:21:0 [0x1010,0x1030)\n"
                  "   inlined inner decl :0 call /src/unit.c:21:0 [0x1018,0x1020)\n");
}

static void a_function_nested_in_another_is_a_function(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C11);
    uint32_t origin = put_named(&info, ABSTRACT, "inlined");
    put_function(&info, "outer", 0x1000, 0x100);
    put(&info, BLOCK, 1);
    put_function(&info, "nested", 0x1200, 0x100);
    put_inlined(&info, origin, 0x1210, 0x10);
    for (int i = 0; i < 4; i++)
        end_children(&info);
    assert_pushes(*state, &info,
                  " function outer decl :7 [0x1000,0x1100)\n"
                  " function nested decl :7 [0x1200,0x1300)\n"
                  "  inlined inlined decl :0 call /src/unit.c:21:0 [0x1210,0x1220)\n");
}

static void what_the_linker_dropped_is_left_out_with_its_copies(void **state) {
    static const uint64_t tombstones[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 0x900, 0x2000};
    struct info info = {0};
    put_unit(&info, DW_LANG_C11);
    uint32_t origin = put_named(&info, ABSTRACT, "inlined");
    for (size_t i = 0; i < ARRAY_SIZE(tombstones); i++) {
        put_function(&info, "dead", tombstones[i], 0x1800);
        put_inlined(&info, origin, 0x1010, 0x10);
        end_children(&info);
        end_children(&info);
    }
    put_function(&info, "empty", 0x1000, 0);
    end_children(&info);
    put_function(&info, "live", 0x1400, 0x10);
    end_children(&info);
    assert_pushes(*state, &info, " function live decl :7 [0x1400,0x1410)\n");
}

static void a_broken_origin_loses_one_name_and_no_frame(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C11);
    uint32_t origin = put_named(&info, ABSTRACT, "inner");
    put_function(&info, "outer", 0x1000, 0x100);
    put_inlined(&info, 0x7fffffff, 0x1010, 0x20);
    put_inlined(&info, origin, 0x1018, 0x8);
    for (int i = 0; i < 3; i++)
        end_children(&info);
    assert_pushes(*state, &info,
                  " function outer decl :7 [0x1000,0x1100)\n"
                  "  inlined  decl :0 call /src/unit.c:21:0 [0x1010,0x1030)\n"
                  "   inlined inner decl :0 call /src/unit.c:21:0 [0x1018,0x1020)\n");
}

static void origins_that_go_in_a_circle_end(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C11);
    uint32_t first = here(&info);
    put(&info, ONLY_ORIGIN, 1);
    put(&info, first + 5, 4);
    put(&info, ONLY_ORIGIN, 1);
    put(&info, first, 4);
    put_function(&info, "outer", 0x1000, 0x100);
    put_inlined(&info, first, 0x1010, 0x20);
    end_children(&info);
    end_children(&info);
    assert_pushes(*state, &info,
                  " function outer decl :7 [0x1000,0x1100)\n"
                  "  inlined  decl :0 call /src/unit.c:21:0 [0x1010,0x1030)\n");
}

static void a_name_without_linkage_name_gets_its_scopes(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C_plus_plus_14);
    put_named(&info, NAMESPACE, "outer");
    put_named(&info, NAMESPACE, "");
    put_named(&info, CLASS, "Class");
    uint32_t declaration = put_named(&info, DECLARED, "method");
    for (int i = 0; i < 3; i++)
        end_children(&info);
    put(&info, DEFINITION, 1);
    put(&info, declaration, 4);
    put(&info, 0x1000, 8);
    put(&info, 0x10, 4);
    put_function(&info, "main", 0x1100, 0x10);
    end_children(&info);
    assert_pushes(*state, &info,
                  " function outer::(anonymous namespace)::Class::method decl :0 [0x1000,0x1010)\n"
                  " function main decl :7 [0x1100,0x1110)\n");
}

/* Our own reader does not need the sibling; libdw does. */
static void a_sibling_that_leads_back_is_damage_at_most(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C11);
    put_function(&info, "first", 0x1000, 0x100);
    end_children(&info);
    uint32_t block = here(&info);
    put(&info, SIBLING, 1);
    put(&info, block, 4);
    end_children(&info);
    put_function(&info, "second", 0x1100, 0x100);
    end_children(&info);
    if (*state == &libdw)
        assert_pushes_damaged(*state, &info, " function first decl :7 [0x1000,0x1100)\n");
    else
        assert_pushes(*state, &info,
                      " function first decl :7 [0x1000,0x1100)\n"
                      " function second decl :7 [0x1100,0x1200)\n");
}

/* Siblings that lead into the children of the DIE before double the work with each level. */
static void siblings_that_lead_into_children_cost_no_extra_time(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C11);
    for (int i = 0; i < 64; i++) {
        put(&info, SIBLING, 1);
        put(&info, here(&info) + 4, 4); /* its first child */
    }
    put_function(&info, "inside", 0x1000, 0x100);
    for (int i = 0; i < 65; i++)
        end_children(&info);
    put_function(&info, "after", 0x1100, 0x100);
    end_children(&info);
    assert_pushes(*state, &info,
                  " function inside decl :7 [0x1000,0x1100)\n"
                  " function after decl :7 [0x1100,0x1200)\n");
}

static void what_is_nested_too_deeply_is_left_out_and_told(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C11);
    for (int i = 0; i < 20000; i++)
        put(&info, BLOCK, 1);
    put_function(&info, "deep", 0x1000, 0x100);
    for (int i = 0; i < 20001; i++)
        end_children(&info);
    put_function(&info, "after", 0x1100, 0x100);
    end_children(&info);
    assert_pushes_damaged(*state, &info, " function after decl :7 [0x1100,0x1200)\n");
}

static void hundreds_of_copies_in_each_other_are_all_kept(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C11);
    uint32_t origin = put_named(&info, ABSTRACT, "inner");
    put_function(&info, "outer", 0x1000, 0x1000);
    for (uint32_t i = 0; i < 500; i++)
        put_inlined(&info, origin, 0x1000 + i, 0x1000 - i);
    for (int i = 0; i < 501; i++)
        end_children(&info);
    CLEANUP(cleanup_free) char *text = push_text(*state, &info);
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, "inlined inner")); at++)
        count++;
    assert_int_equal(count, 500);
    assert_null(strstr(text, "damage"));
}

/* A reference of this form goes into the supplementary file, at whatever offset. */
static void references_into_an_absent_supplement_cost_a_name(void **state) {
    static const uint32_t offsets[] = {0, 1, 7, 8, 0xffffffff};
    for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
        struct info info = {0};
        put_unit(&info, DW_LANG_C_plus_plus_14);
        put(&info, BORROWED, 1);
        put(&info, offsets[i], 4);
        put(&info, 0x1000, 8);
        put(&info, 0x10, 4);
        put(&info, ELSEWHERE, 1);
        put(&info, offsets[i], 4);
        put(&info, 0x1010, 8);
        put(&info, 0x10, 4);
        assert_pushes(*state, &info,
                      " function  decl :0 [0x1000,0x1010)\n"
                      " function  decl :0 [0x1010,0x1020)\n");
    }
}

/* The last null entry of the unit is missing, so nothing stands behind the children's. */
static void a_unit_may_end_without_its_null_entries(void **state) {
    struct info info = {0};
    put_unit(&info, DW_LANG_C_plus_plus_14);
    put_named(&info, NAMESPACE, "open");
    put_function(&info, "last", 0x1000, 0x10);
    assert_pushes(*state, &info, " function open::last decl :7 [0x1000,0x1010)\n");
}

static void the_file_that_an_altlink_names_is_not_opened(void **state) {
    char link[] = "/tmp/dwarf-altlink-XXXXXX\0a build id of 20 byt";
    CLEANUP(cleanup_fd) int fd = mkstemp(link);
    CLEANUP(cleanup_fd) int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(fd >= 0 && watch >= 0 && inotify_add_watch(watch, link, IN_OPEN) >= 0);
    struct info info = {.altlink = span_of(link, sizeof(link))};
    put_unit(&info, DW_LANG_C11);
    put(&info, BORROWED, 1);
    put(&info, 0, 4);
    put(&info, 0x1000, 8);
    put(&info, 0x10, 4);
    end_children(&info);
    CLEANUP(cleanup_free) char *text = push_text(*state, &info);
    assert_non_null(strstr(text, "\n function  decl :0 [0x1000,0x1010)\n"));
    char event[sizeof(struct inotify_event) + NAME_MAX + 1];
    assert_true(read(watch, event, sizeof(event)) < 0 && errno == EAGAIN);
    unlink(link);
}

static void assert_frame(struct symbol_source *source, uint64_t pc, const char *name,
                         uint32_t line) {
    CLEANUP(frame_list_clear) struct frame_list frames = {0};
    struct error error = {0};
    assert_int_equal(source->ops->resolve(source, pc, &frames, &error), ERR_OK);
    assert_int_equal(frames.count, name ? 1 : 0);
    if (!name)
        return;
    assert_int_equal(frames.frames[0].name.size, strlen(name));
    assert_memory_equal(frames.frames[0].name.data, name, strlen(name));
    assert_int_equal(frames.frames[0].line, line);
}

static void put_lined_unit(struct info *info, uint32_t size) {
    put_header(info);
    put(info, LINED, 1);
    put(info, TEXT_ADDRESS, 8);
    put(info, size, 4);
    put(info, 0, 4);
}

static void code_outside_of_what_its_unit_states_is_found_last(void **state) {
    struct info info = {0};
    put_lined_unit(&info, 0x100);
    put_function(&info, "inside", 0x1000, 0x100);
    end_children(&info);
    put_function(&info, "outside", 0x1900, 0x100);
    end_children(&info);
    end_unit(&info);
    put_unit(&info, DW_LANG_C11);
    put_function(&info, "other", 0x1200, 0x100);
    end_children(&info);
    CLEANUP(cleanup_opened) struct opened opened = {0};
    open_units(*state, &opened, &info);
    struct symbol_source *source = opened.source;
    assert_frame(source, 0x1000, "inside", 0);
    assert_frame(source, 0x1908, "outside", 0);
    assert_frame(source, 0x1808, "", 5);
    assert_frame(source, 0x1810, NULL, 0);
    assert_frame(source, 0x1200, "other", 0);
}

static void a_file_without_debug_info_has_no_source(void **state) {
    const struct backend *backend = *state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add_bytes(image, ".comment", span_cstr("none"));
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct symbol_source *source = NULL;
    struct error error;
    assert_int_equal(elf_file_open_memory(elf_image_finish(image, ELF_IMAGE_PLAIN),
                                          &(struct elf_limits){0}, &file, &error),
                     ERR_OK);
    assert_int_equal(backend->new_source(file, &source, &error), ERR_NOT_FOUND);
    assert_null(source);
}

#define WITH_BOTH(test)                                                                            \
    {"by our own reader: " #test, test, NULL, NULL, &native}, {                                    \
        "by libdw: " #test, test, NULL, NULL, &libdw                                               \
    }

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_BOTH(copies_are_found_through_blocks_of_every_kind),
        WITH_BOTH(a_function_nested_in_another_is_a_function),
        WITH_BOTH(what_the_linker_dropped_is_left_out_with_its_copies),
        WITH_BOTH(a_broken_origin_loses_one_name_and_no_frame),
        WITH_BOTH(origins_that_go_in_a_circle_end),
        WITH_BOTH(a_name_without_linkage_name_gets_its_scopes),
        WITH_BOTH(a_sibling_that_leads_back_is_damage_at_most),
        WITH_BOTH(siblings_that_lead_into_children_cost_no_extra_time),
        WITH_BOTH(what_is_nested_too_deeply_is_left_out_and_told),
        WITH_BOTH(hundreds_of_copies_in_each_other_are_all_kept),
        WITH_BOTH(references_into_an_absent_supplement_cost_a_name),
        WITH_BOTH(a_unit_may_end_without_its_null_entries),
        WITH_BOTH(the_file_that_an_altlink_names_is_not_opened),
        WITH_BOTH(code_outside_of_what_its_unit_states_is_found_last),
        WITH_BOTH(a_file_without_debug_info_has_no_source),
    };
    return cmocka_run_group_tests_name("dwarf_sources", tests, NULL, NULL);
}
