#include "cli/command_upload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/progress.h"
#include "cli/signed_put.h"
#include "cli/upload_options.h"
#include "cli/upload_report.h"

/* Shared by the threads; what changes is under the mutex. */
struct upload_run {
    const struct upload_options *options;
    const struct upload_list *list;
    struct progress *progress;
    pthread_mutex_t mutex;
    size_t next;
    struct upload_report report;
};

static int complain(const char *text, int exit_code) {
    fprintf(stderr, "symbolize upload: %s%s\n", text,
            exit_code == EXIT_BAD_USAGE ? "; see symbolize upload --help" : "");
    return exit_code;
}

/* --- the threads --------------------------------------------------------------------------------
 */

static bool is_to_be_uploaded(const struct upload_item *item) {
    return !item->failure && !item->same_as;
}

/* The next file, or NULL at the end. */
static const struct upload_item *take_next(struct upload_run *run) {
    pthread_mutex_lock(&run->mutex);
    const struct upload_item *item = NULL;
    if (run->next < run->list->count)
        item = &run->list->items[run->next++];
    pthread_mutex_unlock(&run->mutex);
    return item;
}

static void report(struct upload_run *run, const struct upload_item *item,
                   const struct remote_result *result) {
    pthread_mutex_lock(&run->mutex);
    progress_pause(run->progress);
    upload_report_file(&run->report, item, result);
    progress_resume(run->progress);
    pthread_mutex_unlock(&run->mutex);
}

static void *upload_files(void *argument) {
    struct upload_run *run = argument;
    struct remote_uploader uploader = {.options = &run->options->remote, .progress = run->progress};
    for (const struct upload_item *item; (item = take_next(run));) {
        struct remote_result result;
        if (!is_to_be_uploaded(item)) {
            report(run, item, NULL);
            continue;
        }
        remote_upload(&uploader, item, &result);
        report(run, item, &result);
        progress_end_file(run->progress, result.outcome == REMOTE_UPLOADED ? 0 : item->size);
    }
    remote_uploader_close(&uploader);
    return NULL;
}

/* As many threads as there are jobs and files, this one among them. One that cannot be had is done
 * without. */
static void run_threads(struct upload_run *run) {
    size_t wanted = run->options->jobs;
    if (wanted > run->list->count)
        wanted = run->list->count;
    CLEANUP(cleanup_free) pthread_t *threads = calloc(wanted + 1, sizeof(*threads));
    size_t count = 0;
    while (threads && count + 1 < wanted &&
           pthread_create(&threads[count], NULL, upload_files, run) == 0)
        count++;
    upload_files(run);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* --- the command --------------------------------------------------------------------------------
 */

static enum err list_files(const struct upload_options *options, struct upload_list *list,
                           struct error *error) {
    if (options->has_id)
        return upload_list_add_as(list, options->paths[0], &options->id, error);
    for (int i = 0; i < options->path_count; i++) {
        enum err err = upload_list_add(list, options->paths[i], error);
        if (err)
            return err;
    }
    return upload_list_mark_same(list, error);
}

static struct progress *watch(const struct upload_list *list) {
    uint64_t bytes = 0;
    uint64_t files = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!is_to_be_uploaded(&list->items[i]))
            continue;
        bytes += list->items[i].size;
        files++;
    }
    return files ? progress_new(stderr, bytes, files) : NULL;
}

static int exit_code_of(const struct upload_report *report) {
    if (report->failed == 0)
        return EXIT_DONE;
    return report->failed == report->failed_for_now ? EXIT_TRY_LATER : EXIT_SOME_FAILED;
}

static int upload_all(const struct upload_options *options, const struct upload_list *list) {
    CLEANUP(cleanup_progress) struct progress *progress = watch(list);
    struct upload_run run = {
        .options = options,
        .list = list,
        .progress = progress,
        .mutex = PTHREAD_MUTEX_INITIALIZER,
        .report = {.stream = stdout, .json = options->json, .type = options->remote.type},
    };
    if (list->count == 0)
        fputs("symbolize upload: no ELF file found\n", stderr);
    run_threads(&run);
    pthread_mutex_destroy(&run.mutex);
    upload_report_end(&run.report);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain("standard output: cannot write", EXIT_SOME_FAILED);
    return exit_code_of(&run.report);
}

int command_upload(int argument_count, char **arguments) {
    CLEANUP(upload_options_clear) struct upload_options options;
    CLEANUP(upload_list_clear) struct upload_list list = {0};
    struct error error;
    if (upload_options_parse(argument_count, arguments, &options, &error))
        return complain(error.text, EXIT_BAD_USAGE);
    if (options.wants_help) {
        fputs(upload_help, stdout);
        return EXIT_DONE;
    }
    if (signed_put_init(&error) || remote_access_load_tls(&options.remote.access, &error) ||
        list_files(&options, &list, &error))
        return complain(error.text, EXIT_SOME_FAILED);
    return upload_all(&options, &list);
}
