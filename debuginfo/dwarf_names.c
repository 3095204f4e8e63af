#include "debuginfo/dwarf_names.h"

#include <dwarf.h>

/* Languages whose functions have no scopes that a person would write. */
static bool has_scopes(uint32_t language) {
    switch (language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Go:
    case DW_LANG_Mips_Assembler:
        return false;
    default:
        return true;
    }
}

struct dwarf_place dwarf_subject_place(const struct dwarf_die *die, size_t depth) {
    const uint32_t own = 1u << DWARF_SLOT_NAME | 1u << DWARF_SLOT_LINKAGE_NAME |
                         1u << DWARF_SLOT_DECL_FILE | 1u << DWARF_SLOT_DECL_LINE |
                         1u << DWARF_SLOT_SPECIFICATION;
    struct dwarf_place place;
    if (!(die->present & own) && dwarf_die_reference(die, DWARF_SLOT_ABSTRACT_ORIGIN, &place))
        return place;
    return (struct dwarf_place){
        .unit = die->unit, .position = die->position, .is_outermost = depth == 1};
}

/* What one DIE of the chain adds: each attribute counts where it is met first, so that a definition
 * overrides its declaration, attribute by attribute (DWARF 5, 2.13.2 and 3.3.8.2). */
static void read_link(const struct dwarf_die *die, struct dwarf_subject *subject) {
    if (!subject->name_is_linkage)
        subject->name_is_linkage = dwarf_die_string(die, DWARF_SLOT_LINKAGE_NAME, &subject->name);
    if (subject->short_name.size == 0)
        dwarf_die_string(die, DWARF_SLOT_NAME, &subject->short_name);
    if (subject->decl_line == 0)
        subject->decl_line = dwarf_die_u32(die, DWARF_SLOT_DECL_LINE);
    if (!subject->decl_unit && dwarf_die_unsigned(die, DWARF_SLOT_DECL_FILE, &subject->decl_file))
        subject->decl_unit = die->unit;
}

/* Reads the chain; *ret_declaration is its last link. */
static enum err read_chain(const struct dwarf_place *place, struct dwarf_subject *subject,
                           struct dwarf_place *ret_declaration, struct error *error) {
    struct dwarf_place next = *place;
    *ret_declaration = (struct dwarf_place){0};
    for (int i = 0; i <= DWARF_ORIGIN_DEPTH_MAX; i++) {
        struct dwarf_die die;
        enum err err = dwarf_die_read(&next, &die, error);
        if (err)
            return err == ERR_NO_MEMORY ? err : ERR_OK;
        read_link(&die, subject);
        *ret_declaration = next;
        if (!dwarf_die_origin(&die, &next))
            break;
    }
    return ERR_OK;
}

static enum err make_scoped_name(const struct dwarf_place *declaration, struct dwarf_scopes *scopes,
                                 struct buffer *scratch, struct dwarf_subject *subject,
                                 struct error *error) {
    scratch->size = 0;
    enum err err = dwarf_scopes_append(scopes, declaration, scratch, error);
    if (err)
        return err;
    if (scratch->size == 0 || scratch->size + subject->short_name.size > DWARF_NAME_SIZE_MAX)
        return ERR_OK;
    buffer_append(scratch, subject->short_name.data, subject->short_name.size);
    if (buffer_failed(scratch))
        return error_set(error, ERR_NO_MEMORY, "no memory for a name");
    subject->name = buffer_span(scratch);
    return ERR_OK;
}

enum err dwarf_subject_read(const struct dwarf_place *place, struct dwarf_scopes *scopes,
                            struct buffer *scratch, struct dwarf_subject *ret_subject,
                            struct error *error) {
    struct dwarf_subject subject = {.name = span_cstr(""), .short_name = span_cstr("")};
    struct dwarf_place declaration;
    enum err err = read_chain(place, &subject, &declaration, error);
    if (!err && !subject.name_is_linkage && subject.short_name.size > 0) {
        subject.name = subject.short_name;
        if (declaration.unit && !declaration.is_outermost && has_scopes(declaration.unit->language))
            err = make_scoped_name(&declaration, scopes, scratch, &subject, error);
    }
    if (!err)
        *ret_subject = subject;
    return err;
}
