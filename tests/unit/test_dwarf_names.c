#include "debuginfo/dwarf_names.h"

#include <dwarf.h>

#include "tests/support/dwarf_site.h"
#include "tests/support/test.h"

static void expect_text(struct span text, const char *expected) {
    if (!span_equal_cstr(text, expected))
        fail_msg("%.*s instead of %s", (int)text.size, text.data, expected);
}

/* What a name is made of, read from the DIE at an offset of .debug_info. */
struct named {
    struct dwarf_scopes *scopes;
    struct dwarf_subject subject;
    struct buffer scratch;
};

static void named_clear(struct named *named) {
    dwarf_scopes_free(named->scopes);
    buffer_clear(&named->scratch);
}

static void read_subject(struct dwarf_site *site, size_t offset, struct named *named) {
    if (!site->units)
        dwarf_site_read(site);
    const struct dwarf_unit *unit = dwarf_info_unit_at(site->units, offset);
    assert_non_null(unit);
    const struct dwarf_place place = {.unit = unit,
                                      .position = unit->header + (offset - unit->offset)};
    struct error error;
    if (!named->scopes)
        named->scopes = dwarf_scopes_new();
    assert_int_equal(
        dwarf_subject_read(&place, named->scopes, &named->scratch, &named->subject, &error),
        ERR_OK);
}

/* A unit of a language with scopes; the codes of what may be in it. */
enum {
    UNIT = 1,
    NAMED,     /* a subprogram with name, decl_file and decl_line */
    DEFINED,   /* with specification as ref4, and a decl_line of its own */
    COPY,      /* inlined, abstract_origin as ref_addr */
    NAMESPACE, /* with children */
    NAMELESS,  /* a namespace without name */
    CLASS,
    LINKED,   /* a subprogram with linkage_name and name */
    BY_TYPE,  /* a class declared by its signature */
    FUNCTION, /* a subprogram with name and children */
    C_UNIT,
    TYPE_UNIT,
    WITH_SIBLING, /* a namespace, with sibling */
};

static void declare_all(struct dwarf_site *site) {
    declare(site, UNIT, DW_TAG_compile_unit, true, DW_AT_language, DW_FORM_data1, 0);
    declare(site, C_UNIT, DW_TAG_compile_unit, true, DW_AT_language, DW_FORM_data1, 0);
    declare(site, TYPE_UNIT, DW_TAG_type_unit, true, DW_AT_language, DW_FORM_data1, 0);
    declare(site, NAMED, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_decl_file,
            DW_FORM_data1, DW_AT_decl_line, DW_FORM_data1, 0);
    declare(site, DEFINED, DW_TAG_subprogram, false, DW_AT_specification, DW_FORM_ref4,
            DW_AT_decl_line, DW_FORM_data1, 0);
    declare(site, COPY, DW_TAG_inlined_subroutine, false, DW_AT_abstract_origin, DW_FORM_ref_addr,
            0);
    declare(site, NAMESPACE, DW_TAG_namespace, true, DW_AT_name, DW_FORM_string, 0);
    declare(site, NAMELESS, DW_TAG_namespace, true, 0);
    declare(site, CLASS, DW_TAG_class_type, true, DW_AT_name, DW_FORM_string, 0);
    declare(site, LINKED, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_linkage_name,
            DW_FORM_string, 0);
    declare(site, BY_TYPE, DW_TAG_class_type, true, DW_AT_signature, DW_FORM_ref_sig8, 0);
    declare(site, FUNCTION, DW_TAG_subprogram, true, DW_AT_name, DW_FORM_string, 0);
    declare(site, WITH_SIBLING, DW_TAG_namespace, true, DW_AT_name, DW_FORM_string, DW_AT_sibling,
            DW_FORM_ref4, 0);
    end_declarations(site);
}

static size_t begin_site(struct dwarf_site *site, uint8_t code, uint8_t language) {
    if (site->abbrev.buffer.size == 0)
        declare_all(site);
    size_t begin = begin_plain_unit(site);
    put_u8(&site->info, code);
    put_u8(&site->info, language);
    return begin;
}

/* Each puts one DIE and returns its offset. */
static size_t put_named(struct dwarf_site *site, const char *name, uint8_t line) {
    size_t offset = site->info.buffer.size;
    put_u8(&site->info, NAMED);
    put_text(&site->info, name);
    put_u8(&site->info, 3);
    put_u8(&site->info, line);
    return offset;
}

static size_t put_scope(struct dwarf_site *site, uint8_t code, const char *name) {
    size_t offset = site->info.buffer.size;
    put_u8(&site->info, code);
    if (name)
        put_text(&site->info, name);
    return offset;
}

static size_t put_copy(struct dwarf_site *site, uint64_t origin) {
    size_t offset = site->info.buffer.size;
    put_u8(&site->info, COPY);
    put_number(&site->info, 4, origin);
    return offset;
}

static size_t put_defined(struct dwarf_site *site, uint64_t declaration, uint8_t line) {
    size_t offset = site->info.buffer.size;
    put_u8(&site->info, DEFINED);
    put_number(&site->info, 4, declaration);
    put_u8(&site->info, line);
    return offset;
}

static void end_children(struct dwarf_site *site) {
    put_u8(&site->info, 0);
}

static void a_definition_overrides_its_declaration(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    size_t begin = begin_site(&site, C_UNIT, DW_LANG_C11);
    size_t declaration = put_named(&site, "f", 7);
    size_t definition = put_defined(&site, declaration, 50);
    end_children(&site);
    end_plain_unit(&site, begin);
    read_subject(&site, definition, &named);
    expect_text(named.subject.name, "f");
    expect_text(named.subject.short_name, "f");
    assert_false(named.subject.name_is_linkage);
    assert_int_equal(named.subject.decl_line, 50);
    assert_int_equal(named.subject.decl_file, 3);
}

static void the_linkage_name_comes_first(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    size_t begin = begin_site(&site, UNIT, DW_LANG_C_plus_plus);
    put_scope(&site, NAMESPACE, "n");
    size_t linked = site.info.buffer.size;
    put_u8(&site.info, LINKED);
    put_text(&site.info, "f");
    put_text(&site.info, "_ZN1n1fEv");
    end_children(&site);
    size_t copy = put_copy(&site, linked);
    end_children(&site);
    end_plain_unit(&site, begin);
    read_subject(&site, copy, &named);
    expect_text(named.subject.name, "_ZN1n1fEv");
    expect_text(named.subject.short_name, "f");
    assert_true(named.subject.name_is_linkage);
    assert_int_equal(named.subject.decl_line, 0);
    assert_null(named.subject.decl_unit);
}

static void scopes_come_from_where_it_is_declared(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    size_t begin = begin_site(&site, UNIT, DW_LANG_C_plus_plus);
    put_scope(&site, NAMESPACE, "outer");
    put_scope(&site, NAMELESS, NULL);
    put_scope(&site, CLASS, "type");
    put_scope(&site, FUNCTION, "method");
    size_t declaration = put_named(&site, "local", 7);
    for (int i = 0; i < 4; i++)
        end_children(&site);
    put_scope(&site, NAMESPACE, "elsewhere");
    size_t definition = put_defined(&site, declaration, 9);
    end_children(&site);
    end_children(&site);
    end_plain_unit(&site, begin);
    read_subject(&site, definition, &named);
    expect_text(named.subject.name, "outer::(anonymous namespace)::type::method::local");
    expect_text(named.subject.short_name, "local");
}

/* A namespace that says where it ends; what it says is patched in. */
static size_t put_with_sibling(struct dwarf_site *site, const char *name) {
    put_u8(&site->info, WITH_SIBLING);
    put_text(&site->info, name);
    put_number(&site->info, 4, 0);
    return site->info.buffer.size - 4;
}

static void scopes_are_found_with_and_without_siblings(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    size_t begin = begin_site(&site, UNIT, DW_LANG_C_plus_plus);
    size_t sibling = put_with_sibling(&site, "one");
    put_scope(&site, CLASS, "type");
    size_t first = put_named(&site, "first", 1);
    end_children(&site);
    size_t second = put_named(&site, "second", 2);
    end_children(&site);
    patch_number(&site.info, sibling, 4, site.info.buffer.size);
    size_t third = put_named(&site, "third", 3);
    size_t wrong = put_with_sibling(&site, "two"); /* says that it ends where it begins */
    patch_number(&site.info, wrong, 4, third);
    put_scope(&site, CLASS, "type");
    size_t fourth = put_named(&site, "fourth", 4);
    for (int i = 0; i < 3; i++)
        end_children(&site);
    end_plain_unit(&site, begin);
    const size_t offsets[] = {fourth, first, second, third};
    const char *const names[] = {"two::type::fourth", "one::type::first", "one::second", "third"};
    for (size_t i = 0; i < 4; i++) {
        read_subject(&site, offsets[i], &named);
        expect_text(named.subject.name, names[i]);
    }
}

static void c_has_no_scopes(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    size_t begin = begin_site(&site, C_UNIT, DW_LANG_C99);
    put_scope(&site, FUNCTION, "outer");
    size_t nested = put_named(&site, "nested", 1);
    end_children(&site);
    end_children(&site);
    end_plain_unit(&site, begin);
    read_subject(&site, nested, &named);
    expect_text(named.subject.name, "nested");
}

static void origins_are_followed_into_other_units(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    size_t begin = begin_site(&site, UNIT, DW_LANG_Rust);
    put_scope(&site, NAMESPACE, "module");
    size_t function = put_named(&site, "f", 7);
    end_children(&site);
    end_children(&site);
    end_plain_unit(&site, begin);
    begin = begin_site(&site, UNIT, DW_LANG_Rust);
    size_t copy = put_copy(&site, function);
    end_children(&site);
    end_plain_unit(&site, begin);
    read_subject(&site, copy, &named);
    expect_text(named.subject.name, "module::f");
    assert_ptr_equal(named.subject.decl_unit, dwarf_info_unit(site.units, 0));
}

static void a_broken_origin_costs_the_name_alone(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    size_t begin = begin_site(&site, UNIT, DW_LANG_C_plus_plus);
    size_t nowhere = put_copy(&site, 0x7fffffff);
    size_t header = put_copy(&site, 2);
    size_t definition = put_defined(&site, 0x7fffffff, 40);
    end_children(&site);
    end_plain_unit(&site, begin);
    read_subject(&site, nowhere, &named);
    expect_text(named.subject.name, "");
    read_subject(&site, header, &named);
    expect_text(named.subject.name, "");
    read_subject(&site, definition, &named);
    expect_text(named.subject.name, "");
    assert_int_equal(named.subject.decl_line, 40);
}

static void a_loop_of_origins_ends(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    size_t begin = begin_site(&site, UNIT, DW_LANG_C_plus_plus);
    size_t first = put_copy(&site, site.info.buffer.size + 5);
    put_copy(&site, first);
    size_t itself = put_copy(&site, site.info.buffer.size);
    end_children(&site);
    end_plain_unit(&site, begin);
    read_subject(&site, first, &named);
    expect_text(named.subject.name, "");
    read_subject(&site, itself, &named);
    expect_text(named.subject.name, "");
}

static void a_class_declared_by_signature_has_its_names_in_the_type_unit(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    size_t begin = begin_site(&site, UNIT, DW_LANG_C_plus_plus);
    put_u8(&site.info, BY_TYPE);
    put_number(&site.info, 8, 0xabcdef);
    size_t declaration = put_named(&site, "f", 7);
    end_children(&site);
    size_t definition = put_defined(&site, declaration, 9);
    end_children(&site);
    end_plain_unit(&site, begin);
    struct dwarf_site_unit type = {.version = 4,
                                   .type = DW_UT_type,
                                   .address_size = 8,
                                   .offset_size = 4,
                                   .id = 0xabcdef,
                                   .type_offset = 23 + 2 + 3};
    size_t type_begin = begin_unit(&site, &type);
    put_u8(&site.types, TYPE_UNIT);
    put_u8(&site.types, DW_LANG_C_plus_plus);
    put_u8(&site.types, NAMESPACE);
    put_text(&site.types, "n");
    assert_int_equal(site.types.buffer.size, type.type_offset);
    put_u8(&site.types, CLASS);
    put_text(&site.types, "type");
    for (int i = 0; i < 3; i++)
        put_u8(&site.types, 0);
    end_unit(&site, &type, type_begin);
    read_subject(&site, definition, &named);
    expect_text(named.subject.name, "n::type::f");
}

static void copies_share_the_subject_of_their_abstract_instance(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    size_t begin = begin_site(&site, UNIT, DW_LANG_C_plus_plus);
    size_t function = put_named(&site, "f", 7);
    size_t copy = put_copy(&site, function);
    size_t definition = put_defined(&site, function, 9);
    end_children(&site);
    end_plain_unit(&site, begin);
    dwarf_site_read(&site);
    const struct dwarf_unit *unit = dwarf_info_unit(site.units, 0);
    const size_t offsets[] = {copy, function, definition};
    const size_t expected[] = {function, function, definition};
    for (size_t i = 0; i < 3; i++) {
        struct dwarf_die die;
        struct error error;
        const struct dwarf_place place = {.unit = unit, .position = unit->header + offsets[i]};
        assert_int_equal(dwarf_die_read(&place, &die, &error), ERR_OK);
        assert_ptr_equal(dwarf_subject_place(&die, 0).position, unit->header + expected[i]);
    }
}

static void a_supplementary_file_gives_names(void **state) {
    (void)state;
    CLEANUP(dwarf_site_clear) struct dwarf_site supplement = {0};
    size_t begin = begin_site(&supplement, UNIT, DW_LANG_C11);
    size_t function = put_named(&supplement, "f", 7);
    end_children(&supplement);
    end_plain_unit(&supplement, begin);
    put_text(&supplement.str, "a name of the other file");
    dwarf_site_read(&supplement);

    CLEANUP(dwarf_site_clear) struct dwarf_site site = {0};
    CLEANUP(named_clear) struct named named = {0};
    declare(&site, 1, DW_TAG_compile_unit, true, 0);
    declare(&site, 2, DW_TAG_inlined_subroutine, false, DW_AT_abstract_origin, DW_FORM_GNU_ref_alt,
            0);
    declare(&site, 3, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_GNU_strp_alt, 0);
    end_declarations(&site);
    begin = begin_plain_unit(&site);
    put_u8(&site.info, 1);
    size_t copy = site.info.buffer.size;
    put_u8(&site.info, 2);
    put_number(&site.info, 4, function);
    size_t named_there = site.info.buffer.size;
    put_u8(&site.info, 3);
    put_number(&site.info, 4, 2);
    put_u8(&site.info, 0);
    end_plain_unit(&site, begin);
    dwarf_site_read(&site);
    read_subject(&site, copy, &named);
    expect_text(named.subject.name, "");
    dwarf_info_set_supplement(site.units, supplement.units);
    read_subject(&site, copy, &named);
    expect_text(named.subject.name, "f");
    assert_ptr_equal(named.subject.decl_unit, dwarf_info_unit(supplement.units, 0));
    read_subject(&site, named_there, &named);
    expect_text(named.subject.name, "name of the other file");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_overrides_its_declaration),
        cmocka_unit_test(the_linkage_name_comes_first),
        cmocka_unit_test(scopes_come_from_where_it_is_declared),
        cmocka_unit_test(scopes_are_found_with_and_without_siblings),
        cmocka_unit_test(c_has_no_scopes),
        cmocka_unit_test(origins_are_followed_into_other_units),
        cmocka_unit_test(a_broken_origin_costs_the_name_alone),
        cmocka_unit_test(a_loop_of_origins_ends),
        cmocka_unit_test(a_class_declared_by_signature_has_its_names_in_the_type_unit),
        cmocka_unit_test(copies_share_the_subject_of_their_abstract_instance),
        cmocka_unit_test(a_supplementary_file_gives_names),
    };
    return cmocka_run_group_tests_name("dwarf_names", tests, NULL, NULL);
}
