#include "debuginfo/dwarf_split.h"

#include <dwarf.h>

#include "tests/support/dwarf_site.h"
#include "tests/support/elf_image.h"
#include "tests/support/package_index.h"
#include "tests/support/test.h"

#define ID_A 0x1111222233334444
#define ID_B 0x5555666677778888

/* Skeletons in a file of their own, and one .dwo or .dwp. */
struct split_site {
    struct dwarf_site skeletons;
    struct dwarf_site splits;
    struct dwarf_bytes units; /* .debug_cu_index */
    struct elf_image *image;
    struct elf_file *file;
    struct dwarf_split *split;
    struct error damage;
};

static void split_site_clear(struct split_site *site) {
    dwarf_split_free(site->split);
    dwarf_site_clear(&site->skeletons);
    dwarf_site_clear(&site->splits);
    dwarf_bytes_clear(&site->units);
    elf_file_free(site->file);
    elf_image_free(site->image);
}

static struct dwarf_site_unit unit_of(uint16_t version, uint8_t type, uint64_t id) {
    return (struct dwarf_site_unit){
        .version = version, .type = type, .address_size = 8, .offset_size = 4, .id = id};
}

/* Declarations 1 (version 5) and 2 (version 4) of skeletons. */
static void declare_skeletons(struct dwarf_site *site) {
    declare(site, 1, DW_TAG_skeleton_unit, false, DW_AT_dwo_name, DW_FORM_string, DW_AT_comp_dir,
            DW_FORM_string, DW_AT_addr_base, DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addr, 0);
    declare(site, 2, DW_TAG_compile_unit, false, DW_AT_GNU_dwo_name, DW_FORM_string, DW_AT_comp_dir,
            DW_FORM_string, DW_AT_GNU_addr_base, DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addr,
            DW_AT_GNU_dwo_id, DW_FORM_data8, DW_AT_GNU_ranges_base, DW_FORM_sec_offset, 0);
    end_declarations(site);
}

static void put_skeleton(struct split_site *site, uint16_t version, uint64_t id) {
    struct dwarf_site_unit unit =
        unit_of(version, version >= 5 ? DW_UT_skeleton : DW_UT_compile, id);
    struct dwarf_bytes *info = &site->skeletons.info;
    size_t begin = begin_unit(&site->skeletons, &unit);
    put_uleb(info, version >= 5 ? 1 : 2);
    put_text(info, "a.dwo");
    put_text(info, "/comp");
    put_number(info, 4, 0x18);
    put_number(info, 8, 0x4000);
    if (version < 5) {
        put_number(info, 8, id);
        put_number(info, 4, 0x30);
    }
    end_unit(&site->skeletons, &unit, begin);
}

/* Of split units, in a table of abbreviations of their own: 1 is of version 5, 2 of 4. */
static void declare_splits(struct dwarf_site *site) {
    declare(site, 1, DW_TAG_compile_unit, false, DW_AT_name, DW_FORM_strx1, DW_AT_language,
            DW_FORM_data1, 0);
    declare(site, 2, DW_TAG_compile_unit, false, DW_AT_name, DW_FORM_GNU_str_index, DW_AT_language,
            DW_FORM_data1, DW_AT_GNU_dwo_name, DW_FORM_GNU_str_index, DW_AT_GNU_dwo_id,
            DW_FORM_data8, 0);
    end_declarations(site);
}

static void put_split(struct split_site *site, uint16_t version, uint64_t id) {
    struct dwarf_site_unit unit =
        unit_of(version, version >= 5 ? DW_UT_split_compile : DW_UT_compile, id);
    struct dwarf_bytes *info = &site->splits.info;
    size_t begin = begin_unit(&site->splits, &unit);
    put_uleb(info, version >= 5 ? 1 : 2);
    put_u8(info, 0);
    put_u8(info, DW_LANG_C99);
    if (version < 5) {
        put_u8(info, 0);
        put_number(info, 8, id);
    }
    end_unit(&site->splits, &unit, begin);
}

/* One table of .debug_str_offsets with one string, behind a header in version 5. */
static void put_string(struct split_site *site, uint16_t version, const char *text) {
    struct dwarf_site *splits = &site->splits;
    if (version >= 5)
        put_number(&splits->str_offsets, 8, 8);
    put_number(&splits->str_offsets, 4, splits->str.buffer.size);
    put_text(&splits->str, text);
}

static void make_file(struct split_site *site) {
    const struct dwarf_site *splits = &site->splits;
    site->image = elf_image_new(true, false, ET_REL, EM_X86_64);
    elf_image_add_bytes(site->image, ".debug_info.dwo", dwarf_bytes_span(&splits->info));
    elf_image_add_bytes(site->image, ".debug_abbrev.dwo", dwarf_bytes_span(&splits->abbrev));
    elf_image_add_bytes(site->image, ".debug_str.dwo", dwarf_bytes_span(&splits->str));
    elf_image_add_bytes(site->image, ".debug_str_offsets.dwo",
                        dwarf_bytes_span(&splits->str_offsets));
    if (site->units.buffer.size > 0)
        elf_image_add_bytes(site->image, ".debug_cu_index", dwarf_bytes_span(&site->units));
    struct error error;
    assert_int_equal(elf_file_open_memory(elf_image_finish(site->image, ELF_IMAGE_PLAIN), NULL,
                                          &site->file, &error),
                     ERR_OK);
}

static void join_with(struct split_site *site, const struct dwarf_split_files *files) {
    struct error error;
    dwarf_site_read(&site->skeletons);
    assert_int_equal(
        dwarf_split_new(site->skeletons.units, files, &site->split, &site->damage, &error), ERR_OK);
}

static void join_dwo(struct split_site *site) {
    make_file(site);
    join_with(site, &(struct dwarf_split_files){.dwos = &site->file, .dwo_count = 1});
}

static const struct dwarf_unit *skeleton_of(const struct split_site *site, size_t number) {
    return dwarf_info_unit(site->skeletons.units, number);
}

static void both_halves_are_joined_by_their_id(void **state) {
    (void)state;
    for (uint16_t version = 4; version <= 5; version++) {
        CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
        declare_skeletons(&site.skeletons);
        put_skeleton(&site, version, ID_B);
        put_skeleton(&site, version, ID_A);
        declare_splits(&site.splits);
        put_string(&site, version, "a.c");
        put_split(&site, version, ID_A);
        join_dwo(&site);
        assert_int_equal(site.damage.code, ERR_OK);
        const struct dwarf_unit *skeleton = skeleton_of(&site, 1);
        const struct dwarf_unit *split = skeleton->split;
        assert_non_null(split);
        assert_null(skeleton->split_fault);
        assert_ptr_equal(split->skeleton, skeleton);
        assert_ptr_equal(dwarf_unit_of_code(skeleton), split);
        assert_ptr_equal(dwarf_unit_of_lines(split), skeleton);
        assert_int_equal(split->bases.addr_base, 0x18);
        assert_int_equal(split->bases.low_pc, 0x4000);
        assert_int_equal(split->bases.gnu_ranges_base, version < 5 ? 0x30 : 0);
        assert_true(span_equal_cstr(skeleton->name, "a.c"));
        assert_int_equal(skeleton->language, DW_LANG_C99);
    }
}

static void a_missing_half_leaves_the_skeleton(void **state) {
    (void)state;
    CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
    declare_skeletons(&site.skeletons);
    put_skeleton(&site, 5, ID_A);
    join_with(&site, &(struct dwarf_split_files){.dwo_count = 0});
    const struct dwarf_unit *skeleton = skeleton_of(&site, 0);
    assert_null(skeleton->split);
    assert_ptr_equal(dwarf_unit_of_code(skeleton), skeleton);
    assert_string_equal(skeleton->split_fault, "its split unit (.dwo) is not there");
    assert_int_equal(site.damage.code, ERR_OK);
}

static void a_dwo_of_another_id_is_refused(void **state) {
    (void)state;
    CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
    declare_skeletons(&site.skeletons);
    put_skeleton(&site, 5, ID_A);
    declare_splits(&site.splits);
    put_string(&site, 5, "a.c");
    put_split(&site, 5, ID_B);
    join_dwo(&site);
    assert_null(skeleton_of(&site, 0)->split);
    assert_string_equal(site.damage.text, "a .dwo file fits no unit: its DWO id is another one");
}

static void of_skeletons_with_one_id_the_first_is_joined(void **state) {
    (void)state;
    CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
    declare_skeletons(&site.skeletons);
    put_skeleton(&site, 5, ID_A);
    put_skeleton(&site, 5, ID_A);
    declare_splits(&site.splits);
    put_string(&site, 5, "a.c");
    put_split(&site, 5, ID_A);
    put_split(&site, 5, ID_A);
    join_dwo(&site);
    assert_non_null(skeleton_of(&site, 0)->split);
    assert_null(skeleton_of(&site, 1)->split);
}

static void a_file_without_split_units_is_damage(void **state) {
    (void)state;
    CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
    declare_skeletons(&site.skeletons);
    put_skeleton(&site, 5, ID_A);
    join_dwo(&site);
    assert_null(skeleton_of(&site, 0)->split);
    assert_int_equal(site.damage.code, ERR_NOT_FOUND);
}

/* A package of two units, each with abbreviations and strings of its own. */
static void make_package(struct split_site *site, uint16_t version, uint64_t second_id) {
    const char *const names[] = {"a.c", "b.c"};
    const uint64_t ids[] = {ID_A, ID_B};
    struct package_index_row rows[2] = {{.id = ID_A}, {.id = second_id}};
    for (unsigned i = 0; i < 2; i++) {
        struct dwarf_bytes *parts[] = {&site->splits.info, &site->splits.abbrev,
                                       &site->splits.str_offsets};
        for (unsigned j = 0; j < 3; j++)
            rows[i].offsets[j] = (uint32_t)parts[j]->buffer.size;
        put_split(site, version, ids[i]);
        declare_splits(&site->splits);
        put_string(site, version, names[i]);
        for (unsigned j = 0; j < 3; j++)
            rows[i].sizes[j] = (uint32_t)parts[j]->buffer.size - rows[i].offsets[j];
    }
    const struct package_index_site index = {version == 5 ? 5 : 2, 4, {1, 3, 6, 0}, 3, rows, 2};
    put_package_index(&site->units, &index);
    make_file(site);
}

static void units_of_a_package_count_from_their_parts(void **state) {
    (void)state;
    for (uint16_t version = 4; version <= 5; version++) {
        CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
        declare_skeletons(&site.skeletons);
        put_skeleton(&site, version, ID_B);
        put_skeleton(&site, version, ID_A);
        make_package(&site, version, ID_B);
        join_with(&site, &(struct dwarf_split_files){.package = site.file});
        assert_int_equal(site.damage.code, ERR_OK);
        assert_true(span_equal_cstr(skeleton_of(&site, 0)->split->name, "b.c"));
        assert_true(span_equal_cstr(skeleton_of(&site, 1)->split->name, "a.c"));
        const struct dwarf_unit *split = skeleton_of(&site, 0)->split;
        assert_true(split->bases.has_rnglists_base);
        assert_int_equal(split->abbrev_offset, site.splits.abbrev.buffer.size / 2);
    }
}

static void an_index_that_names_another_unit_is_refused(void **state) {
    (void)state;
    CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
    declare_skeletons(&site.skeletons);
    put_skeleton(&site, 5, 0x99);
    make_package(&site, 5, 0x99);
    join_with(&site, &(struct dwarf_split_files){.package = site.file});
    assert_null(skeleton_of(&site, 0)->split);
    assert_string_equal(skeleton_of(&site, 0)->split_fault,
                        "its split unit in the package cannot be read or has another DWO id");
}

static void a_package_without_an_index_has_no_units(void **state) {
    (void)state;
    CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
    declare_skeletons(&site.skeletons);
    put_skeleton(&site, 5, ID_A);
    declare_splits(&site.splits);
    put_string(&site, 5, "a.c");
    put_split(&site, 5, ID_A);
    make_file(&site);
    join_with(&site, &(struct dwarf_split_files){.package = site.file});
    assert_null(skeleton_of(&site, 0)->split);
}

/* --- files that are found by name ------------------------------------------------------------- */

struct test_finder {
    struct dwarf_dwo_finder finder;
    struct span image; /* empty: not found */
    unsigned asked;
};

static enum err find_image(struct dwarf_dwo_finder *finder, struct span comp_dir,
                           struct span dwo_name, struct elf_file **ret_file, struct error *error) {
    struct test_finder *test = (struct test_finder *)finder;
    test->asked++;
    assert_true(span_equal_cstr(comp_dir, "/comp"));
    assert_true(span_equal_cstr(dwo_name, "a.dwo"));
    if (test->image.size == 0)
        return ERR_OK;
    return elf_file_open_memory(test->image, NULL, ret_file, error);
}

static void what_is_missing_is_looked_for_by_name(void **state) {
    (void)state;
    static const struct {
        uint64_t id;
        const char *fault;
    } cases[] = {{ID_A, NULL}, {ID_B, "its split unit (.dwo) has another DWO id"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
        declare_skeletons(&site.skeletons);
        put_skeleton(&site, 5, ID_A);
        declare_splits(&site.splits);
        put_string(&site, 5, "a.c");
        put_split(&site, 5, cases[i].id);
        make_file(&site);
        struct test_finder finder = {.finder = {find_image}, .image = elf_file_bytes(site.file)};
        join_with(&site, &(struct dwarf_split_files){.finder = &finder.finder});
        assert_int_equal(finder.asked, 1);
        if (cases[i].fault)
            assert_string_equal(skeleton_of(&site, 0)->split_fault, cases[i].fault);
        else
            assert_non_null(skeleton_of(&site, 0)->split);
    }
}

static void what_is_there_is_not_looked_for(void **state) {
    (void)state;
    CLEANUP(split_site_clear) struct split_site site = {.split = NULL};
    declare_skeletons(&site.skeletons);
    put_skeleton(&site, 5, ID_A);
    put_skeleton(&site, 5, ID_B);
    declare_splits(&site.splits);
    put_string(&site, 5, "a.c");
    put_split(&site, 5, ID_A);
    make_file(&site);
    struct test_finder finder = {.finder = {find_image}};
    join_with(&site, &(struct dwarf_split_files){
                         .dwos = &site.file, .dwo_count = 1, .finder = &finder.finder});
    assert_int_equal(finder.asked, 1);
    assert_non_null(skeleton_of(&site, 0)->split);
    assert_string_equal(skeleton_of(&site, 1)->split_fault, "its split unit (.dwo) is not there");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_halves_are_joined_by_their_id),
        cmocka_unit_test(a_missing_half_leaves_the_skeleton),
        cmocka_unit_test(a_dwo_of_another_id_is_refused),
        cmocka_unit_test(of_skeletons_with_one_id_the_first_is_joined),
        cmocka_unit_test(a_file_without_split_units_is_damage),
        cmocka_unit_test(units_of_a_package_count_from_their_parts),
        cmocka_unit_test(an_index_that_names_another_unit_is_refused),
        cmocka_unit_test(a_package_without_an_index_has_no_units),
        cmocka_unit_test(what_is_missing_is_looked_for_by_name),
        cmocka_unit_test(what_is_there_is_not_looked_for),
    };
    return cmocka_run_group_tests_name("dwarf_split", tests, NULL, NULL);
}
