#include <assert.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "cache/catalog_removal.h"
#include "ingest/build_job_internal.h"

#define OWN_TROUBLE_EXPIRY_MS ((int64_t)60 * 1000)

/* A build while it is made. */
struct build_job {
    const struct build_site *site;
    const char *tenant;
    const struct digest *key;
    struct build_row row; /* as claimed; then as it shall be */
    struct build_input inputs[BUILD_INPUT_MAX];
    size_t input_count;
    bool skipped;
    bool removed;     /* the build is no more; what was made is wanted by nobody, unless shared */
    bool shared;      /* another tenant has it */
    bool own_trouble; /* what went wrong is not the inputs' fault and may pass */
    const struct build_input *lost; /* its stored file is no more; NULL: none */
    enum object_loss loss;
    bool loss_is_new; /* nobody had found it before */
};

bool build_row_may_retry(const struct build_row *row, int64_t now_ms) {
    switch (row->state) {
    case BUILD_QUEUED:
    case BUILD_RUNNING:
    case BUILD_OK:
        return false;
    case BUILD_FAILED:
    case BUILD_MALFORMED:
    case BUILD_UNSUPPORTED:
    case BUILD_KILLED:
        break;
    }
    return row->expires_ms != 0 && row->expires_ms <= now_ms;
}

bool build_row_failed_for_good(const struct build_row *row) {
    return row->state == BUILD_MALFORMED || row->state == BUILD_UNSUPPORTED ||
           row->state == BUILD_KILLED;
}

void build_row_requeue(struct build_row *row) {
    row->state = BUILD_QUEUED;
    row->reason[0] = '\0';
    row->finished_ms = 0;
    row->expires_ms = 0;
    row->attempts = 0;
}

/* A row that says RUNNING is ours as well: one queue runs builds, and each key once at a time, so
 * that its earlier run can only have failed to commit its end. */
static enum err claim(struct catalog_txn *txn, void *argument, struct error *error) {
    struct build_job *job = argument;
    enum err err = catalog_build_get(txn, job->tenant, job->key, &job->row, error);
    job->skipped = err == ERR_NOT_FOUND;
    if (job->skipped)
        return ERR_OK;
    if (err != ERR_OK)
        return err;
    job->skipped = job->row.state != BUILD_QUEUED && job->row.state != BUILD_RUNNING;
    if (job->skipped)
        return ERR_OK;
    job->row.state = BUILD_RUNNING;
    err = catalog_build_inputs(txn, job->tenant, job->key, job->inputs, &job->input_count, error);
    if (err == ERR_OK)
        err = catalog_build_update(txn, job->tenant, &job->row, error);
    return err;
}

static enum err commit(struct catalog_txn *txn, void *argument, struct error *error) {
    struct build_job *job = argument;
    enum err err = catalog_build_update(txn, job->tenant, &job->row, error);
    /* Its inputs were deleted meanwhile. */
    job->removed = err == ERR_NOT_FOUND;
    if (job->removed)
        return catalog_build_is_known(txn, job->key, &job->shared, error);
    if (err == ERR_OK && job->row.state == BUILD_OK)
        err = catalog_generations_promote(txn, job->tenant, job->key, error);
    if (err == ERR_OK && job->lost)
        err =
            catalog_objects_set_gone(txn, &job->lost->digest, job->loss, &job->loss_is_new, error);
    if (err == ERR_OK && (job->lost || build_row_failed_for_good(&job->row)))
        err = build_plan_instead(txn, job->tenant, job->key, error);
    return err;
}

static void fail(struct build_job *job, enum build_state state, const char *context,
                 const char *reason) {
    job->row.state = state;
    snprintf(job->row.reason, sizeof(job->row.reason), "%s%.480s", context, reason);
}

static void fail_by_own_trouble(struct build_job *job, const char *reason) {
    fail(job, BUILD_FAILED, "", reason);
    job->own_trouble = true;
}

/* The index is there when another tenant has the same files, or when an earlier process died after
 * it was published. */
static bool is_published(struct build_job *job) {
    CLEANUP(cleanup_index_handle) struct index_handle *handle = NULL;
    struct error error;
    if (index_cache_acquire(job->site->indexes, job->key, &handle, &error) != ERR_OK)
        return false;
    job->row.index_size = index_size(index_handle_index(handle));
    return true;
}

/* Input fds that are closed together. */
struct open_inputs {
    struct job job;
};

static void cleanup_open_inputs(struct open_inputs *open) {
    for (size_t i = 0; i < open->job.input_count; i++)
        fd_close(open->job.inputs[i].fd);
}

static bool open_inputs(struct build_job *job, struct open_inputs *open) {
    for (size_t i = 0; i < job->input_count; i++) {
        struct error error;
        int fd = -1;
        enum err err = blob_store_open_blob(job->site->blobs, &job->inputs[i].digest, &fd, &error);
        if (err == ERR_NOT_FOUND || err == ERR_DAMAGED) {
            fail(job, BUILD_FAILED, "a stored file is lost: ", error.text);
            job->lost = &job->inputs[i];
            job->loss = err == ERR_DAMAGED ? OBJECT_DAMAGED : OBJECT_MISSING;
        } else if (err != ERR_OK) {
            fail_by_own_trouble(job, error.text);
        }
        if (err != ERR_OK)
            return false;
        open->job.inputs[open->job.input_count++] =
            (struct job_input){(enum job_role)job->inputs[i].role, fd};
    }
    return true;
}

/* True if the report is that of a built index. */
static bool take_report(struct build_job *job, const struct report *report) {
    switch (report->status) {
    case REPORT_OK:
        return true;
    case REPORT_MALFORMED:
        fail(job, BUILD_MALFORMED, "", report->reason);
        return false;
    case REPORT_UNSUPPORTED:
        fail(job, BUILD_UNSUPPORTED, "", report->reason);
        return false;
    case REPORT_LIMIT:
        /* To the asker a parser that stopped itself in time is as good as one that was stopped. */
        fail(job, BUILD_KILLED, "over a limit: ", report->reason);
        return false;
    case REPORT_KILLED:
        fail(job, BUILD_KILLED, "", report->reason);
        return false;
    case REPORT_FAILED:
        break;
    }
    fail_by_own_trouble(job, report->reason);
    return false;
}

/* What a worker wrote is checked before it can be found: a parser that was taken over by its input
 * may say ok about anything. */
static bool check_output(struct build_job *job, int fd) {
    CLEANUP(cleanup_index) struct index *index = NULL;
    struct error error;
    if (index_open_fd(fd, &index, &error) != ERR_OK) {
        fail(job, BUILD_KILLED, "the worker wrote no index: ", error.text);
        return false;
    }
    job->row.index_size = index_size(index);
    return true;
}

/* True when there is an index under the key; else the row says why not. ERR_CANCELLED is the only
 * failure that is handed up. */
static enum err make(struct build_job *job, struct error *error) {
    CLEANUP(cleanup_open_inputs)
    struct open_inputs open = {
        .job = {.operation = JOB_BUILD, .report_fd = -1},
    };
    CLEANUP(cleanup_index_output) struct index_output *output = NULL;
    if (is_published(job)) {
        job->row.state = BUILD_OK;
        return ERR_OK;
    }
    if (!open_inputs(job, &open))
        return ERR_OK;
    struct report report;
    enum err err = index_output_open(job->site->indexes, job->key, &output, error);
    if (err == ERR_OK) {
        open.job.out_fd = index_output_fd(output);
        err = workers_run(job->site->workers, &open.job, job->site->cancel_fd, &report, error);
    }
    if (err == ERR_CANCELLED)
        return err;
    if (err != ERR_OK) {
        fail_by_own_trouble(job, error->text);
        return ERR_OK;
    }
    FAULT_POINT("build.after_worker");
    if (!take_report(job, &report) || !check_output(job, open.job.out_fd))
        return ERR_OK;
    if (index_output_publish(output, error) != ERR_OK) {
        fail_by_own_trouble(job, error->text);
        return ERR_OK;
    }
    FAULT_POINT("build.after_publish");
    job->row.state = BUILD_OK;
    return ERR_OK;
}

static int64_t retry_delay_ms(const struct build_job *job) {
    return job->site->retry_delay_ms << job->row.attempts;
}

/* A full disk may have room again soon, and nobody shall wait for an hour then. */
static int64_t expiry_ms(const struct build_job *job) {
    int64_t expiry_ms = job->site->failure_expiry_ms;
    return job->own_trouble && expiry_ms > OWN_TROUBLE_EXPIRY_MS ? OWN_TROUBLE_EXPIRY_MS
                                                                 : expiry_ms;
}

/* Fills in the rest of the row, and says what comes next. */
static struct build_job_result conclude(struct build_job *job) {
    int64_t now_ms = clock_wall_ms();
    struct build_job_result result = {.end = BUILD_JOB_DONE};
    if (job->own_trouble && job->row.attempts + 1 < BUILD_ATTEMPTS_MAX) {
        result.end = BUILD_JOB_AGAIN;
        result.delay_ms = retry_delay_ms(job);
        job->row.state = BUILD_QUEUED;
        job->row.attempts++;
        return result;
    }
    job->row.finished_ms = now_ms;
    job->row.expires_ms = job->row.state == BUILD_OK ? 0 : now_ms + expiry_ms(job);
    if (job->lost) /* nobody waits for it until the file is there again */
        job->row.expires_ms = now_ms;
    if (job->row.state == BUILD_OK) {
        job->row.reason[0] = '\0';
        job->row.attempts = 0;
    }
    result.state = job->row.state;
    return result;
}

struct build_job_result build_job_run(const struct build_site *site, const char *tenant,
                                      const struct digest *key) {
    struct build_job job = {.site = site, .tenant = tenant, .key = key};
    struct build_job_result again = {.end = BUILD_JOB_AGAIN, .delay_ms = site->retry_delay_ms};
    struct error error;
    if (catalog_write(site->catalog, claim, &job, &error) != ERR_OK)
        return again;
    if (job.skipped)
        return (struct build_job_result){.end = BUILD_JOB_SKIPPED};
    FAULT_POINT("build.after_start");
    if (make(&job, &error) == ERR_CANCELLED)
        return (struct build_job_result){.end = BUILD_JOB_STOPPED};
    struct build_job_result result = conclude(&job);
    if (catalog_write(site->catalog, commit, &job, &error) != ERR_OK)
        return again;
    if (job.removed) {
        if (!job.shared)
            index_cache_remove(site->indexes, key);
        return (struct build_job_result){.end = BUILD_JOB_SKIPPED};
    }
    FAULT_POINT("build.after_commit");
    result.found_missing = job.loss_is_new && job.loss == OBJECT_MISSING;
    result.found_damaged = job.loss_is_new && job.loss == OBJECT_DAMAGED;
    return result;
}
