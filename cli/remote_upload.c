#include "cli/remote_upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/signed_put.h"
#include "debuginfo/identity.h"

#define CONNECT_TIMEOUT_MS ((int64_t)10 * 1000)
/* The one sentence of the protocol that clients compare. */
#define IN_PROGRESS                                                                                \
    "A previous upload is still in-progress and not stale yet (only stale uploads can be "         \
    "retried)."

struct run {
    struct remote_uploader *uploader;
    struct remote_session session;
    struct remote_object object;
    char upload_id[REMOTE_TEXT_SIZE];
    char signed_url[REMOTE_URL_SIZE];
    struct remote_answer answer;
    struct remote_result *result;
};

/* --- the four steps --------------------------------------------------------------------------- */

static enum err ask(struct run *run, struct error *error) {
    return remote_should_initiate(&run->session, &run->object, &run->answer, error);
}

static enum err initiate(struct run *run, struct error *error) {
    return remote_initiate(&run->session, &run->object, &run->answer, error);
}

static enum err send_bytes(struct run *run, struct error *error) {
    if (run->signed_url[0])
        return signed_put(&run->session, &run->uploader->options->access, &run->object,
                          run->signed_url, &run->answer, error);
    return remote_send(&run->session, &run->object, run->upload_id, &run->answer, error);
}

static enum err finish(struct run *run, struct error *error) {
    return remote_finish(&run->session, &run->object, run->upload_id, &run->answer, error);
}

/* --- one step, tried until it is decided --------------------------------------------------------
 */

static enum err connect_client(struct run *run, struct error *error) {
    struct remote_uploader *uploader = run->uploader;
    const struct remote_access *access = &uploader->options->access;
    const struct grpc_client_config config = {
        .url = access->server_url,
        .tls = access->tls,
        .authorization = access->authorization,
        .headers = access->headers,
        .header_count = access->header_count,
        .connect_timeout_ms = remote_retry_left_ms(&run->session.retry, CONNECT_TIMEOUT_MS) + 1,
    };
    enum err err = ERR_OK;
    if (!uploader->client)
        err = grpc_client_open(&config, &uploader->client, error);
    run->session.client = uploader->client;
    return err;
}

void remote_uploader_close(struct remote_uploader *uploader) {
    grpc_client_free(uploader->client);
    uploader->client = NULL;
}

static enum err try_once(struct run *run, enum err (*call)(struct run *run, struct error *error),
                         struct error *error) {
    enum err err = connect_client(run, error);
    if (err == ERR_OK)
        err = call(run, error);
    /* A client that failed without an answer is of no more use. */
    if (err != ERR_OK)
        remote_uploader_close(run->uploader);
    return err;
}

static bool is_temporary(enum err err, enum grpc_status status) {
    if (err != ERR_OK)
        return err == ERR_UNAVAILABLE || err == ERR_TIMEOUT;
    return status == GRPC_RESOURCE_EXHAUSTED || status == GRPC_UNAVAILABLE ||
           status == GRPC_DEADLINE_EXCEEDED;
}

static void describe(struct run *run, const char *name, enum err err, const struct error *error) {
    struct remote_result *result = run->result;
    if (err != ERR_OK)
        snprintf(result->text, sizeof(result->text), "%s: %.400s", name, error->text);
    else
        snprintf(result->text, sizeof(result->text), "%s: %.400s (%s)", name, run->answer.text,
                 grpc_status_name(run->answer.status));
}

/* True when the server said OK and the next step may follow; else the result says what is wrong. */
static bool step(struct run *run, const char *name,
                 enum err (*call)(struct run *run, struct error *error)) {
    struct error error;
    enum err err = try_once(run, call, &error);
    while (is_temporary(err, run->answer.status) && remote_retry_wait(&run->session.retry))
        err = try_once(run, call, &error);
    if (err == ERR_OK && run->answer.status == GRPC_OK)
        return true;
    bool exists = err == ERR_OK && run->answer.status == GRPC_ALREADY_EXISTS;
    bool for_now = is_temporary(err, run->answer.status);
    run->result->outcome = exists    ? REMOTE_ALREADY_THERE
                           : for_now ? REMOTE_FAILED_FOR_NOW
                                     : REMOTE_FAILED;
    describe(run, name, err, &error);
    return false;
}

/* --- one file -----------------------------------------------------------------------------------
 */

/* True when the server wants the file. Another client's unfinished upload may yet fail, so then the
 * file is not there. */
static bool is_wanted(struct run *run) {
    if (!step(run, "ShouldInitiateUpload", ask))
        return false;
    if (run->answer.should_upload)
        return true;
    bool in_progress = strcmp(run->answer.text, IN_PROGRESS) == 0;
    run->result->outcome = in_progress ? REMOTE_FAILED_FOR_NOW : REMOTE_ALREADY_THERE;
    memcpy(run->result->text, run->answer.text, sizeof(run->result->text));
    return false;
}

static bool begin(struct run *run) {
    if (!step(run, "InitiateUpload", initiate)) {
        /* The protocol's word for another upload that was initiated in between. */
        if (run->answer.status == GRPC_FAILED_PRECONDITION)
            run->result->outcome = REMOTE_FAILED_FOR_NOW;
        return false;
    }
    memcpy(run->upload_id, run->answer.upload_id, sizeof(run->upload_id));
    memcpy(run->signed_url, run->answer.signed_url, sizeof(run->signed_url));
    return true;
}

/* A server that was restarted, or a signed URL that a broken try used up, knows this upload no
 * more: after trouble such a refusal is worth one new beginning. */
static bool should_begin_anew(const struct run *run, unsigned retries_before) {
    enum grpc_status status = run->answer.status;
    return run->result->outcome == REMOTE_FAILED && run->session.retry.count > retries_before &&
           (status == GRPC_FAILED_PRECONDITION || status == GRPC_NOT_FOUND ||
            status == GRPC_INVALID_ARGUMENT);
}

static bool transfer(struct run *run) {
    if (!step(run, run->signed_url[0] ? "PUT" : "Upload", send_bytes))
        return false;
    if (step(run, "MarkUploadFinished", finish))
        return true;
    progress_move(run->session.progress, -(int64_t)run->object.bytes.size);
    return false;
}

static void run_steps(struct run *run) {
    struct remote_result *result = run->result;
    unsigned retries_before = run->session.retry.count;
    if (!is_wanted(run) || !begin(run))
        return;
    bool is_done = transfer(run);
    if (!is_done && should_begin_anew(run, retries_before) && is_wanted(run) && begin(run))
        is_done = transfer(run);
    if (!is_done)
        return;
    result->outcome = REMOTE_UPLOADED;
    result->size = run->object.bytes.size;
    result->text[0] = '\0';
}

static enum err map_file(const char *path, struct span *ret_bytes, struct error *error) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open it");
    enum err err = fd_map(fd, ret_bytes, error);
    if (err == ERR_OK && ret_bytes->size == 0)
        err = error_set(error, ERR_INVALID, "an empty file");
    return err;
}

/* Agents name a binary's contents by its htlhash, uploaders of sources by their SHA-256. */
static void name_contents(struct remote_object *object) {
    bool is_binary = object->type == REMOTE_DEBUGINFO || object->type == REMOTE_EXECUTABLE;
    if (is_binary) {
        struct binary_id htlhash = identity_htlhash(object->bytes);
        snprintf(object->hash, sizeof(object->hash), "%.64s", htlhash.text);
        return;
    }
    struct digest digest = hash_sha256_of(object->bytes);
    digest_to_hex(&digest, object->hash);
}

static void upload_bytes(struct remote_uploader *uploader, const struct upload_item *item,
                         struct span bytes, struct remote_result *result) {
    const struct remote_options *options = uploader->options;
    struct run run = {
        .uploader = uploader,
        .session = {.retry = {.left = options->retries,
                              .deadline_ms = clock_mono_ms() + options->timeout_ms},
                    .progress = uploader->progress},
        .object = {.id = item->id, .type = options->type, .force = options->force, .bytes = bytes},
        .result = result,
    };
    name_contents(&run.object);
    run_steps(&run);
    result->retries = run.session.retry.count;
}

void remote_upload(struct remote_uploader *uploader, const struct upload_item *item,
                   struct remote_result *ret_result) {
    struct span bytes = {NULL, 0};
    struct error error;
    *ret_result = (struct remote_result){.outcome = REMOTE_FAILED};
    if (map_file(item->path, &bytes, &error) != ERR_OK)
        snprintf(ret_result->text, sizeof(ret_result->text), "%s", error.text);
    else
        upload_bytes(uploader, item, bytes, ret_result);
    fd_unmap(bytes);
}
