#include "cli/remote_upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "debuginfo/identity.h"

#define TRIES_MAX 5
#define IN_PROGRESS "A previous upload is still in-progress"

struct run {
    struct grpc_client *client;
    struct remote_object object;
    char upload_id[REMOTE_TEXT_SIZE];
    struct remote_answer answer;
    struct remote_result *result;
};

/* --- the four steps --------------------------------------------------------------------------- */

static enum err ask(struct run *run, struct error *error) {
    return remote_should_initiate(run->client, &run->object, &run->answer, error);
}

static enum err initiate(struct run *run, struct error *error) {
    return remote_initiate(run->client, &run->object, &run->answer, error);
}

static enum err send_bytes(struct run *run, struct error *error) {
    return remote_send(run->client, &run->object, run->upload_id, &run->answer, error);
}

static enum err finish(struct run *run, struct error *error) {
    return remote_finish(run->client, &run->object, run->upload_id, &run->answer, error);
}

/* The server asks to come again: with these codes only (facts of Parca's clients, too). */
static bool is_temporary(enum grpc_status status) {
    return status == GRPC_RESOURCE_EXHAUSTED || status == GRPC_UNAVAILABLE;
}

static void pause_before(unsigned next_try) {
    struct timespec left = {.tv_sec = 1 << (next_try - 1)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* True when the server said OK and the next step may follow. */
static bool step(struct run *run, const char *name,
                 enum err (*call)(struct run *run, struct error *error)) {
    struct error error;
    struct remote_result *result = run->result;
    enum err err = call(run, &error);
    for (unsigned i = 1; i < TRIES_MAX && err == ERR_OK && is_temporary(run->answer.status); i++) {
        pause_before(i);
        err = call(run, &error);
    }
    if (err == ERR_OK && run->answer.status == GRPC_OK)
        return true;
    bool exists = err == ERR_OK && run->answer.status == GRPC_ALREADY_EXISTS;
    result->outcome = exists ? REMOTE_ALREADY_THERE : REMOTE_FAILED;
    if (err != ERR_OK)
        snprintf(result->text, sizeof(result->text), "%s: %.400s", name, error.text);
    else
        snprintf(result->text, sizeof(result->text), "%s: %.400s (%s)", name, run->answer.text,
                 grpc_status_name(run->answer.status));
    return false;
}

static void run_steps(struct run *run) {
    struct remote_result *result = run->result;
    if (!step(run, "ShouldInitiateUpload", ask))
        return;
    if (!run->answer.should_upload) {
        /* Another client's unfinished upload may yet fail, so the file is not there. */
        bool in_progress = strncmp(run->answer.text, IN_PROGRESS, strlen(IN_PROGRESS)) == 0;
        result->outcome = in_progress ? REMOTE_FAILED : REMOTE_ALREADY_THERE;
        memcpy(result->text, run->answer.text, sizeof(result->text));
        return;
    }
    if (!step(run, "InitiateUpload", initiate))
        return;
    memcpy(run->upload_id, run->answer.upload_id, sizeof(run->upload_id));
    if (!step(run, "Upload", send_bytes) || !step(run, "MarkUploadFinished", finish))
        return;
    result->outcome = REMOTE_UPLOADED;
    result->size = run->object.bytes.size;
}

/* --- the file --------------------------------------------------------------------------------- */

static enum err open_file(const char *path, struct elf_file **ret_file, struct error *error) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open it");
    const struct elf_limits limits = {.inflated_size_max = 0};
    return elf_file_open_fd(fd, &limits, ret_file, error);
}

static struct remote_object object_of(const struct remote_options *options, struct elf_file *file) {
    struct elf_identity identity;
    elf_identity_read(file, &identity);
    return (struct remote_object){
        .id = identity.has_gnu ? identity.gnu : identity.htlhash,
        .htlhash = identity.htlhash,
        .type = options->type,
        .force = options->force,
        .bytes = elf_file_bytes(file),
    };
}

void remote_upload(const struct remote_options *options, const char *path,
                   struct remote_result *ret_result) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = NULL;
    const struct grpc_client_config config = {.url = options->server_url};
    struct error error;
    *ret_result = (struct remote_result){.outcome = REMOTE_FAILED};
    struct run run = {.result = ret_result};
    enum err err = open_file(path, &file, &error);
    if (err == ERR_OK) {
        run.object = object_of(options, file);
        ret_result->id = run.object.id;
        err = grpc_client_open(&config, &client, &error);
    }
    if (err != ERR_OK) {
        snprintf(ret_result->text, sizeof(ret_result->text), "%s", error.text);
        return;
    }
    run.client = client;
    run_steps(&run);
}
