#include "debuginfo/libdw_internal.h"

bool libdw_read_unsigned(Dwarf_Die *die, unsigned attribute, uint64_t *ret_value) {
    Dwarf_Attribute value;
    Dwarf_Word number;
    if (!dwarf_attr(die, attribute, &value) || dwarf_formudata(&value, &number) != 0)
        return false;
    *ret_value = number;
    return true;
}

bool libdw_read_string(Dwarf_Die *die, unsigned attribute, struct span *ret_text) {
    Dwarf_Attribute value;
    const char *text = dwarf_formstring(dwarf_attr(die, attribute, &value));
    if (!text || !*text)
        return false;
    *ret_text = span_cstr(text);
    return true;
}

bool libdw_read_reference(Dwarf_Die *die, unsigned attribute, Dwarf_Die *ret_die) {
    Dwarf_Attribute value;
    return dwarf_formref_die(dwarf_attr(die, attribute, &value), ret_die) != NULL;
}

bool libdw_read_origin(Dwarf_Die *die, Dwarf_Die *ret_die) {
    return libdw_read_reference(die, DW_AT_abstract_origin, ret_die) ||
           libdw_read_reference(die, DW_AT_specification, ret_die);
}

bool libdw_read_entry_pc(Dwarf_Die *die, uint64_t *ret_pc) {
    Dwarf_Addr pc;
    if (!dwarf_hasattr(die, DW_AT_low_pc) || dwarf_lowpc(die, &pc) != 0)
        return false;
    *ret_pc = pc;
    return true;
}

static uint32_t read_u32(Dwarf_Die *die, unsigned attribute) {
    uint64_t number;
    return libdw_read_unsigned(die, attribute, &number) && number <= UINT32_MAX ? (uint32_t)number
                                                                                : 0;
}

/* LLVM's extension; <dwarf.h> of elfutils 0.188 does not know it. */
#define DW_AT_GNU_discriminator_ 0x2136

void libdw_call_read(Dwarf_Die *inlined, const struct libdw_unit *unit,
                     struct libdw_call *ret_call) {
    *ret_call = (struct libdw_call){
        .line = read_u32(inlined, DW_AT_call_line),
        .column = read_u32(inlined, DW_AT_call_column),
        .discriminator = read_u32(inlined, DW_AT_GNU_discriminator_),
    };
    ret_call->has_file = libdw_read_file_index(inlined, DW_AT_call_file, unit, &ret_call->file);
}

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

static void read_linkage_name(Dwarf_Die *die, struct libdw_subject *subject) {
    struct span name;
    if (subject->name_is_linkage)
        return;
    if (!libdw_read_string(die, DW_AT_linkage_name, &name) &&
        !libdw_read_string(die, DW_AT_MIPS_linkage_name, &name))
        return;
    if (name.size <= NAME_SIZE_MAX) {
        subject->name = name;
        subject->name_is_linkage = true;
    }
}

/* What one DIE of the chain adds: each attribute counts where it is met first, so that a definition
 * overrides its declaration, attribute by attribute (DWARF 5, 2.13.2 and 3.3.8.2). */
static void read_link(struct libdw_source *source, Dwarf_Die *die, struct libdw_subject *subject) {
    read_linkage_name(die, subject);
    struct span name;
    if (subject->short_name.size == 0 && libdw_read_string(die, DW_AT_name, &name) &&
        name.size <= NAME_SIZE_MAX)
        subject->short_name = name;
    if (subject->decl_line == 0)
        subject->decl_line = read_u32(die, DW_AT_decl_line);
    struct libdw_unit *unit = subject->decl_unit ? NULL : libdw_unit_of(source, die);
    if (libdw_read_file_index(die, DW_AT_decl_file, unit, &subject->decl_file))
        subject->decl_unit = unit;
}

static enum err make_scoped_name(struct libdw_source *source, Dwarf_Die *declaration,
                                 struct buffer *scratch, struct libdw_subject *subject,
                                 struct error *error) {
    scratch->size = 0;
    enum err err = libdw_scopes_append(source, declaration, scratch, error);
    if (err)
        return err;
    if (scratch->size == 0 || scratch->size + subject->short_name.size > NAME_SIZE_MAX)
        return ERR_OK;
    buffer_append(scratch, subject->short_name.data, subject->short_name.size);
    if (buffer_failed(scratch))
        return error_set(error, ERR_NO_MEMORY, "no memory for a name");
    subject->name = buffer_span(scratch);
    return ERR_OK;
}

enum err libdw_subject_read(struct libdw_source *source, Dwarf_Die *die, struct buffer *scratch,
                            struct libdw_subject *ret_subject, struct error *error) {
    struct libdw_subject subject = {.name = span_cstr(""), .short_name = span_cstr("")};
    Dwarf_Die declaration = *die;
    read_link(source, &declaration, &subject);
    Dwarf_Die origin;
    for (int i = 0; i < ORIGIN_DEPTH_MAX && libdw_read_origin(&declaration, &origin); i++) {
        declaration = origin;
        read_link(source, &declaration, &subject);
    }
    enum err err = ERR_OK;
    if (!subject.name_is_linkage && subject.short_name.size > 0) {
        subject.name = subject.short_name;
        struct libdw_unit *unit = libdw_unit_of(source, &declaration);
        if (unit && has_scopes(unit->language))
            err = make_scoped_name(source, &declaration, scratch, &subject, error);
    }
    if (!err)
        *ret_subject = subject;
    return err;
}
