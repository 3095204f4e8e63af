#include "api/debuginfo_report.h"

#include <stdlib.h>

#include "api/debuginfo_words.h"
#include "cache/catalog_objects.h"
#include "cache/catalog_uploads.h"

#define NAME_COUNT_MAX ((size_t)64)

/* What the catalog has of the id. Large: lives on the heap. */
struct holdings {
    const char *tenant;
    const struct binary_id *id;
    struct object_row objects[OBJECTS_PER_ID_MAX];
    size_t object_count;
    struct binary_id names[NAME_COUNT_MAX]; /* of all objects, each once */
    size_t name_count;
    struct upload_row upload; /* the latest of any type */
    bool has_upload;
    struct index_summary summary; /* of the index that answers, when one does */
};

static void add_name(struct holdings *holdings, const struct binary_id *name) {
    for (size_t i = 0; i < holdings->name_count; i++)
        if (binary_id_equal(&holdings->names[i], name))
            return;
    if (holdings->name_count < NAME_COUNT_MAX)
        holdings->names[holdings->name_count++] = *name;
}

static enum err read_names(struct catalog_txn *txn, struct holdings *holdings, int64_t object_id,
                           struct error *error) {
    struct binary_id names[ALIASES_PER_OBJECT_MAX];
    size_t count = 0;
    enum err err =
        catalog_aliases_of_object(txn, holdings->tenant, object_id, names, &count, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        add_name(holdings, &names[i]);
    return err;
}

static enum err read_uploads(struct catalog_txn *txn, struct holdings *holdings,
                             struct error *error) {
    for (int type = ARTIFACT_DEBUGINFO; type <= ARTIFACT_SOURCE_MAP; type++) {
        struct upload_row row;
        enum err err = catalog_upload_latest(txn, holdings->tenant, holdings->id,
                                             (enum artifact_type)type, &row, error);
        if (err == ERR_NOT_FOUND)
            continue;
        if (err != ERR_OK)
            return err;
        if (!holdings->has_upload || row.started_ms > holdings->upload.started_ms)
            holdings->upload = row;
        holdings->has_upload = true;
    }
    return ERR_OK;
}

static enum err read_holdings(struct catalog_txn *txn, void *argument, struct error *error) {
    struct holdings *holdings = argument;
    holdings->name_count = 0;
    holdings->has_upload = false;
    enum err err = catalog_objects_by_id(txn, holdings->tenant, holdings->id, holdings->objects,
                                         &holdings->object_count, error);
    for (size_t i = 0; err == ERR_OK && i < holdings->object_count; i++)
        err = read_names(txn, holdings, holdings->objects[i].object_id, error);
    return err == ERR_OK ? read_uploads(txn, holdings, error) : err;
}

/* --- writing -------------------------------------------------------------------------------- */

static void write_text(struct json_writer *writer, const char *key, const char *text) {
    json_writer_key(writer, key);
    json_writer_string_or_null(writer, span_cstr(text));
}

static void write_count(struct json_writer *writer, const char *key, uint64_t count) {
    json_writer_key(writer, key);
    json_writer_u64(writer, count);
}

static void write_flag(struct json_writer *writer, const char *key, bool flag) {
    json_writer_key(writer, key);
    json_writer_bool(writer, flag);
}

static void write_names(struct json_writer *writer, const struct holdings *holdings) {
    json_writer_key(writer, "ids");
    json_writer_array_begin(writer);
    for (size_t i = 0; i < holdings->name_count; i++) {
        json_writer_object_begin(writer);
        write_text(writer, "id_kind", binary_id_kind_name(holdings->names[i].kind));
        write_text(writer, "build_id", holdings->names[i].text);
        json_writer_object_end(writer);
    }
    json_writer_array_end(writer);
}

static void write_object(struct json_writer *writer, const struct object_row *object) {
    char digest[DIGEST_HEX_SIZE];
    digest_to_hex(&object->digest, digest);
    json_writer_object_begin(writer);
    write_text(writer, "type", artifact_type_name(object->type));
    write_count(writer, "size", object->size);
    write_text(writer, "digest", digest);
    debuginfo_write_contents(writer, object->contents);
    write_flag(writer, "verified", object->verification != VERIFICATION_NONE);
    json_writer_object_end(writer);
}

static const char *upload_state_name(enum upload_state state) {
    static const char *const names[] = {
        [UPLOAD_UPLOADING] = "uploading", [UPLOAD_UPLOADED] = "uploaded",
        [UPLOAD_FAILED] = "failed",       [UPLOAD_PURGED] = "purged",
        [UPLOAD_ABANDONED] = "abandoned", [UPLOAD_INTERRUPTED] = "interrupted",
    };
    return names[state];
}

static void write_build(struct json_writer *writer, const struct module_state *state) {
    json_writer_key(writer, "build");
    if (!state->has_build) {
        json_writer_null(writer);
        return;
    }
    json_writer_object_begin(writer);
    write_text(writer, "state", build_state_name(state->build_state));
    write_text(writer, "reason", state->build_reason);
    json_writer_object_end(writer);
}

static void write_upload(struct json_writer *writer, const struct holdings *holdings) {
    json_writer_key(writer, "upload");
    if (!holdings->has_upload) {
        json_writer_null(writer);
        return;
    }
    json_writer_object_begin(writer);
    write_text(writer, "type", artifact_type_name(holdings->upload.type));
    write_text(writer, "state", upload_state_name(holdings->upload.state));
    write_text(writer, "reason", holdings->upload.reason);
    json_writer_object_end(writer);
}

static void write_covered_share(struct json_writer *writer, const struct index_summary *summary) {
    json_writer_key(writer, "covered_share");
    if (summary->executable_bytes == 0) {
        json_writer_null(writer);
        return;
    }
    double share = (double)summary->covered_bytes / (double)summary->executable_bytes;
    json_writer_fixed(writer, share > 1 ? 1 : share, 4);
}

static void write_quality(struct json_writer *writer, const struct holdings *holdings,
                          const struct module_state *state) {
    json_writer_key(writer, "quality");
    if (!state->handle) {
        json_writer_null(writer);
        return;
    }
    const struct index_summary *summary = &holdings->summary;
    json_writer_object_begin(writer);
    write_flag(writer, "has_dwarf", summary->has_dwarf);
    write_flag(writer, "has_pclntab", summary->has_pclntab);
    write_flag(writer, "has_symtab", summary->has_symtab);
    write_flag(writer, "has_dynsym", summary->has_dynsym);
    write_count(writer, "functions", summary->function_count);
    write_count(writer, "inlined", summary->inlined_count);
    write_count(writer, "line_rows", summary->line_row_count);
    write_covered_share(writer, summary);
    write_flag(writer, "extents_exact", summary->extents_exact);
    write_count(writer, "damage", summary->damage_count);
    write_count(writer, "index_size", index_size(index_handle_index(state->handle)));
    json_writer_object_end(writer);
}

static const char *state_name(const struct holdings *holdings, const struct module_state *state) {
    bool uploading = holdings->has_upload && holdings->upload.state == UPLOAD_UPLOADING;
    if (state->status == MODULE_NO_DEBUGINFO && uploading)
        return upload_state_name(UPLOAD_UPLOADING);
    return module_status_name(state->status);
}

static void write_report(struct json_writer *writer, const struct holdings *holdings,
                         const struct module_state *state, const char *request_id) {
    json_writer_object_begin(writer);
    write_text(writer, "build_id", holdings->id->text);
    write_text(writer, "id_kind", binary_id_kind_name(holdings->id->kind));
    write_text(writer, "state", state_name(holdings, state));
    write_text(writer, "detail", state->detail);
    write_names(writer, holdings);
    json_writer_key(writer, "objects");
    json_writer_array_begin(writer);
    for (size_t i = 0; i < holdings->object_count; i++)
        write_object(writer, &holdings->objects[i]);
    json_writer_array_end(writer);
    json_writer_key(writer, "generation");
    json_writer_u64_or_null(writer, state->generation);
    write_build(writer, state);
    write_upload(writer, holdings);
    write_quality(writer, holdings, state);
    write_text(writer, "request_id", request_id);
    json_writer_object_end(writer);
    buffer_append_byte(writer->out, '\n');
}

static void read_quality(const struct module_resolver *resolver,
                         const struct request_context *context, struct holdings *holdings,
                         struct module_state *state) {
    if (!state->handle)
        return;
    index_summary_read(index_handle_index(state->handle), &holdings->summary);
    if (!index_handle_is_intact(state->handle))
        module_resolver_replace(resolver, context, state);
}

enum err debuginfo_report(const struct module_resolver *resolver,
                          const struct request_context *context, const struct binary_id *id,
                          struct buffer *ret_json, struct error *error) {
    CLEANUP(cleanup_free) struct holdings *holdings = calloc(1, sizeof(*holdings));
    if (!holdings)
        return error_set(error, ERR_NO_MEMORY, "no memory for the report");
    holdings->tenant = context->tenant;
    holdings->id = id;
    struct module_state state = {0};
    enum err err = catalog_read(resolver->catalog, read_holdings, holdings, error);
    if (err == ERR_OK)
        err = module_resolver_read(resolver, context, id, 1, &state, error);
    if (err != ERR_OK)
        return err;
    read_quality(resolver, context, holdings, &state);
    bool known = holdings->object_count > 0 || holdings->has_upload || state.has_build;
    if (known) {
        struct json_writer writer = json_writer_to(ret_json);
        write_report(&writer, holdings, &state, context->request_id);
    }
    if (state.handle)
        index_handle_release(state.handle);
    if (!known)
        return error_set(error, ERR_NOT_FOUND, "nothing is known of %s build ID %s",
                         binary_id_kind_name(id->kind), id->text);
    return ERR_OK;
}
