#include "symbolizer/build/object_needs.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "debuginfo/debug_link.h"
#include "debuginfo/dwarf_supplement.h"

#define LINK_ID_SIZE_MAX 64

static void find_debuglink(struct elf_file *file, struct report *report) {
    struct debug_link link;
    struct error ignored;
    if (debug_link_read(file, &link, &ignored) == ERR_OK)
        report_add_need(report, REPORT_NEED_DEBUGLINK, span_cstr(link.name));
}

/* By the id of the file that is missing: a build ID, or a checksum that is as good. */
static void find_supplement(const struct object_inputs *inputs, struct elf_file *file,
                            struct report *report) {
    struct dwarf_supplement_link link;
    char text[2 * LINK_ID_SIZE_MAX + 1];
    if (!dwarf_supplement_link_read(file, &link) || link.id.size > LINK_ID_SIZE_MAX)
        return;
    if (inputs->supplement && dwarf_supplement_fits(inputs->supplement, &link))
        return;
    hex_encode(link.id, text);
    report_add_need(report, REPORT_NEED_ALTLINK, span_cstr(text));
}

void object_needs_find(const struct object_inputs *inputs, struct report *report) {
    for (size_t i = 0; i < inputs->file_count; i++) {
        find_supplement(inputs, inputs->files[i], report);
        if (!report->summary.has_dwarf)
            find_debuglink(inputs->files[i], report);
    }
}

void object_needs_add_dwos(const uint64_t *ids, size_t count, struct report *report) {
    for (size_t i = 0; i < count; i++) {
        char text[17];
        snprintf(text, sizeof(text), "%016" PRIx64, ids[i]);
        report_add_need(report, REPORT_NEED_DWO, span_cstr(text));
    }
}
