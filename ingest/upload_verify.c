#include "ingest/upload_verify.h"

#include <assert.h>

static enum err refuse_report(const struct report *report, struct error *error) {
    switch (report->status) {
    case REPORT_OK:
        return ERR_OK;
    case REPORT_MALFORMED:
    case REPORT_UNSUPPORTED:
    case REPORT_LIMIT:
        return error_set(error, ERR_INVALID, "%s: %s", report_status_name(report->status),
                         report->reason);
    case REPORT_KILLED:
        /* Sending the same bytes again would only kill the next parser. */
        return error_set(error, ERR_INVALID, "parser_killed: %s", report->reason);
    case REPORT_FAILED:
        break;
    }
    return error_set(error, ERR_UNAVAILABLE, "the file could not be checked: %s", report->reason);
}

static const struct binary_id *find_id(const struct report *report, enum binary_id_kind kind) {
    for (size_t i = 0; i < report->summary.id_count; i++)
        if (report->summary.ids[i].kind == kind)
            return &report->summary.ids[i];
    return NULL;
}

static bool has_id(const struct report *report, const struct binary_id *id) {
    for (size_t i = 0; i < report->summary.id_count; i++)
        if (binary_id_equal(&report->summary.ids[i], id))
            return true;
    return false;
}

/* How an id that the worker read out of the bytes is proven. */
static enum verification proof_of(const struct binary_id *id) {
    switch (id->kind) {
    case BINARY_ID_GNU:
    case BINARY_ID_GO:
        return VERIFICATION_NOTE;
    case BINARY_ID_HTLHASH:
        return VERIFICATION_HASH;
    case BINARY_ID_UUID:
        break;
    }
    return VERIFICATION_NONE;
}

static enum err check_note(const struct binary_id *claimed, const struct report *report,
                           struct error *error) {
    if (has_id(report, claimed))
        return ERR_OK;
    const struct binary_id *found = find_id(report, claimed->kind);
    if (!found)
        return error_set(error, ERR_INVALID,
                         "build ID mismatch: the file has no %s build ID, the upload claims %.200s",
                         binary_id_kind_name(claimed->kind), claimed->text);
    return error_set(error, ERR_INVALID,
                     "build ID mismatch: the file says %.200s, the upload claims %.200s",
                     found->text, claimed->text);
}

static void add_name(struct upload_identity *identity, const struct binary_id *id,
                     enum verification verification) {
    for (size_t i = 0; i < identity->name_count; i++)
        if (binary_id_equal(&identity->names[i].id, id))
            return;
    assert(identity->name_count < UPLOAD_NAME_MAX);
    identity->names[identity->name_count++] = (struct upload_name){*id, verification};
}

static unsigned contents_of(const struct index_summary *summary) {
    return (summary->has_dwarf ? CONTENTS_DWARF : 0u) |
           (summary->has_pclntab ? CONTENTS_PCLNTAB : 0u) |
           (summary->has_symtab ? CONTENTS_SYMTAB : 0u) |
           (summary->has_dynsym ? CONTENTS_DYNSYM : 0u);
}

enum err upload_verify(const struct binary_id *claimed, const struct report *report,
                       struct upload_identity *ret_identity, struct error *error) {
    enum err err = refuse_report(report, error);
    if (err == ERR_OK && (claimed->kind == BINARY_ID_GNU || claimed->kind == BINARY_ID_GO))
        err = check_note(claimed, report, error);
    if (err != ERR_OK)
        return err;
    struct upload_identity identity = {.contents = contents_of(&report->summary)};
    add_name(&identity, claimed, has_id(report, claimed) ? proof_of(claimed) : VERIFICATION_NONE);
    for (size_t i = 0; i < report->summary.id_count; i++)
        add_name(&identity, &report->summary.ids[i], proof_of(&report->summary.ids[i]));
    *ret_identity = identity;
    return ERR_OK;
}

struct upload_identity upload_identity_claimed(const struct binary_id *claimed) {
    return (struct upload_identity){
        .names = {{*claimed, VERIFICATION_NONE}},
        .name_count = 1,
    };
}
