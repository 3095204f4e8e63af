#include "api/debuginfo_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/debuginfo_query.h"
#include "api/http_range.h"
#include "cache/blob_format.h"
#include "cache/blob_reader.h"
#include "cache/catalog_objects.h"

#define ETAG_SIZE (DIGEST_HEX_SIZE + 2)

static const char file_type[] = "application/octet-stream";

/* --- which file ----------------------------------------------------------------------------- */

struct file_question {
    const char *tenant;
    struct binary_id id;
    enum artifact_type type;
    bool has_type;
    struct object_row object; /* the answer */
};

/* A proven name wins, then the first in the order of types when none was asked for, then the
 * newest, which comes first. */
static bool is_better(const struct object_row *a, const struct object_row *b) {
    bool a_proven = a->verification != VERIFICATION_NONE;
    bool b_proven = b->verification != VERIFICATION_NONE;
    return a_proven != b_proven ? a_proven : a->type < b->type;
}

static enum err find_object(struct catalog_txn *txn, void *argument, struct error *error) {
    struct file_question *question = argument;
    struct object_row objects[OBJECTS_PER_ID_MAX];
    const struct object_row *best = NULL;
    size_t count = 0;
    enum err err =
        catalog_objects_by_id(txn, question->tenant, &question->id, objects, &count, error);
    if (err != ERR_OK)
        return err;
    for (size_t i = 0; i < count; i++) {
        if (question->has_type && objects[i].type != question->type)
            continue;
        if (!best || is_better(&objects[i], best))
            best = &objects[i];
    }
    if (!best)
        return error_set(error, ERR_NOT_FOUND, "no such file is stored for %s build ID %s",
                         binary_id_kind_name(question->id.kind), question->id.text);
    question->object = *best;
    return ERR_OK;
}

static enum err find_file(struct http_exchange *exchange, struct catalog *catalog,
                          struct object_row *ret_object, struct error *error) {
    struct file_question question = {.tenant = http_exchange_context(exchange)->tenant};
    enum err err = debuginfo_query_id(exchange, &question.id, error);
    if (err == ERR_OK)
        err = debuginfo_query_type(exchange, &question.type, &question.has_type, error);
    if (err == ERR_OK)
        err = catalog_read(catalog, find_object, &question, error);
    if (err == ERR_OK)
        *ret_object = question.object;
    return err;
}

/* --- what is no longer what it was ----------------------------------------------------------- */

struct check {
    struct ingest *ingest;
    struct digest digest;
};

static void run_check(void *argument) {
    CLEANUP(cleanup_free) struct check *check = argument;
    struct error ignored;
    ingest_check_file(check->ingest, &check->digest, &ignored);
}

/* Later, on a thread that may wait. When there is no room for it, the next one who asks for the
 * file finds it too. */
static void note_loss(const struct debuginfo_files *files, const struct digest *digest) {
    struct error ignored;
    struct check *check = malloc(sizeof(*check));
    if (!check)
        return;
    *check = (struct check){files->ingest, *digest};
    if (task_pool_submit(files->pool, run_check, check, &ignored) != ERR_OK)
        free(check);
}

/* --- its bytes ------------------------------------------------------------------------------ */

struct file_stream {
    struct http_stream stream; /* first: it is what the exchange knows */
    const struct debuginfo_files *files;
    struct digest digest;
    struct blob_reader *reader;
    uint64_t offset;
    uint64_t left;
    bool whole; /* all bytes pass by, and are hashed */
    struct hash_sha256 hash;
};

/* Before the last piece is handed out: who gets all bytes may rely on them. */
static enum err check_whole(struct file_stream *file, const char *piece, size_t size,
                            struct error *error) {
    if (!file->whole)
        return ERR_OK;
    hash_sha256_update(&file->hash, piece, size);
    if (file->left > size)
        return ERR_OK;
    struct digest actual = hash_sha256_final(&file->hash);
    if (digest_equal(&actual, &file->digest))
        return ERR_OK;
    return error_set(error, ERR_DAMAGED, "the stored file is damaged");
}

static enum err render(struct http_stream *stream, struct buffer *out, bool *ret_end,
                       struct error *error) {
    struct file_stream *file = (struct file_stream *)stream;
    /* Up to the end of a frame, so that none is inflated twice. */
    uint64_t room_in_frame = BLOB_FRAME_SIZE - file->offset % BLOB_FRAME_SIZE;
    size_t size = (size_t)(file->left < room_in_frame ? file->left : room_in_frame);
    char *room = buffer_reserve(out, size);
    if (!room)
        return error_set(error, ERR_NO_MEMORY, "no memory for a piece of a file");
    enum err err = blob_reader_read(file->reader, file->offset, room, size, error);
    if (err == ERR_OK)
        err = check_whole(file, room, size, error);
    if (err == ERR_DAMAGED)
        note_loss(file->files, &file->digest);
    if (err != ERR_OK)
        return err;
    out->size += size;
    file->offset += size;
    file->left -= size;
    *ret_end = file->left == 0;
    return ERR_OK;
}

static void free_file(struct http_stream *stream) {
    struct file_stream *file = (struct file_stream *)stream;
    blob_reader_free(file->reader);
    free(file);
}

static const struct http_stream_ops file_ops = {render, free_file};

/* Takes the reader, also when there is no memory. */
static struct file_stream *new_stream(const struct debuginfo_files *files,
                                      const struct digest *digest, struct blob_reader *opened,
                                      const struct http_range *range) {
    CLEANUP(cleanup_blob_reader) struct blob_reader *reader = opened;
    struct file_stream *file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    *file = (struct file_stream){
        .stream = {&file_ops},
        .files = files,
        .digest = *digest,
        .offset = range->offset,
        .left = range->size,
        .whole = range->size == blob_reader_size(reader),
    };
    file->reader = TAKE(reader);
    hash_sha256_init(&file->hash);
    return file;
}

/* The parts of a file that all bytes do not pass by of are checked before. */
static enum err check_part(const struct debuginfo_files *files, const struct digest *digest,
                           struct blob_reader *reader, const struct http_range *range,
                           struct error *error) {
    if (range->size == blob_reader_size(reader))
        return ERR_OK;
    enum err err = blob_reader_check(reader, error);
    if (err == ERR_DAMAGED)
        note_loss(files, digest);
    return err;
}

static void send_range(struct http_exchange *exchange, const struct debuginfo_files *files,
                       const struct digest *digest, struct blob_reader *opened,
                       const struct http_range *range) {
    CLEANUP(cleanup_blob_reader) struct blob_reader *reader = opened;
    char text[96];
    uint64_t total = blob_reader_size(reader);
    struct error error;
    struct file_stream *file = NULL;
    enum err err = check_part(files, digest, reader, range, &error);
    if (err == ERR_OK && !(file = new_stream(files, digest, TAKE(reader), range)))
        err = error_set(&error, ERR_NO_MEMORY, "no memory for a file");
    if (err != ERR_OK) {
        http_exchange_fail(exchange, &error);
        return;
    }
    http_exchange_add_header(exchange, "Accept-Ranges", "bytes");
    if (range->kind == HTTP_RANGE_PART) {
        snprintf(text, sizeof(text), "bytes %llu-%llu/%llu", (unsigned long long)range->offset,
                 (unsigned long long)(range->offset + range->size - 1), (unsigned long long)total);
        http_exchange_add_header(exchange, "Content-Range", text);
    }
    http_exchange_reply_sized(exchange, range->kind == HTTP_RANGE_PART ? 206 : 200, file_type,
                              range->size, &file->stream);
}

static void refuse_range(struct http_exchange *exchange, uint64_t total) {
    char text[64];
    snprintf(text, sizeof(text), "bytes */%llu", (unsigned long long)total);
    http_exchange_add_header(exchange, "Content-Range", text);
    http_exchange_refuse(exchange, 416, "range_not_satisfiable", "the range is past the end", NULL);
}

static void send_file(struct http_exchange *exchange, const struct debuginfo_files *files,
                      const struct digest *digest, struct blob_reader *opened, const char *etag) {
    CLEANUP(cleanup_blob_reader) struct blob_reader *reader = opened;
    const char *condition = http_exchange_header(exchange, "If-Range");
    bool applies = !condition || http_etag_matches(condition, etag);
    uint64_t total = blob_reader_size(reader);
    struct http_range range =
        http_range_parse(applies ? http_exchange_header(exchange, "Range") : NULL, total);
    if (range.kind == HTTP_RANGE_UNSATISFIABLE)
        refuse_range(exchange, total);
    else
        send_range(exchange, files, digest, TAKE(reader), &range);
}

static enum err open_file(const struct debuginfo_files *files, const struct digest *digest,
                          struct blob_reader **ret_reader, struct error *error) {
    enum err err = blob_reader_open(files->blobs, digest, ret_reader, error);
    if (err == ERR_NOT_FOUND || err == ERR_DAMAGED)
        note_loss(files, digest);
    return err == ERR_NOT_FOUND ? error_set(error, err, "the stored file is lost") : err;
}

void debuginfo_file_answer(struct http_exchange *exchange, const struct debuginfo_files *files) {
    char hex[DIGEST_HEX_SIZE];
    char etag[ETAG_SIZE];
    struct object_row object;
    struct blob_reader *reader = NULL;
    struct buffer nothing = {0};
    struct error error;
    enum err err = find_file(exchange, files->catalog, &object, &error);
    if (err == ERR_OK)
        err = open_file(files, &object.digest, &reader, &error);
    if (err != ERR_OK) {
        http_exchange_fail(exchange, &error);
        return;
    }
    digest_to_hex(&object.digest, hex);
    snprintf(etag, sizeof(etag), "\"%s\"", hex);
    http_exchange_add_header(exchange, "ETag", etag);
    /* It may be kept, but what was deleted must not be shown again. */
    http_exchange_add_header(exchange, "Cache-Control", "private, no-cache");
    if (!http_etag_matches(http_exchange_header(exchange, "If-None-Match"), etag)) {
        send_file(exchange, files, &object.digest, reader, etag);
        return;
    }
    blob_reader_free(reader);
    http_exchange_reply(exchange, 304, NULL, &nothing);
}
