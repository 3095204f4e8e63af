/*
 * Property: whatever the command line (arguments are cut at NULs), a job is refused with a reason
 * or can be put on a command line that reads as the same job.
 */
#include <assert.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbolizer/protocol/job.h"

#define WORD_MAX 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_equal(const struct job *a, const struct job *b) {
    assert(a->operation == b->operation && a->out_fd == b->out_fd && a->report_fd == b->report_fd);
    assert(a->memory_max == b->memory_max && a->size_max == b->size_max);
    assert(a->dwarf_backend == b->dwarf_backend);
    assert(!a->section == !b->section && (!a->section || strcmp(a->section, b->section) == 0));
    assert(a->input_count == b->input_count);
    for (size_t i = 0; i < a->input_count; i++)
        assert(a->inputs[i].role == b->inputs[i].role && a->inputs[i].fd == b->inputs[i].fd);
}

static void check_round_trip(const struct job *job) {
    char storage[JOB_STORAGE_SIZE];
    const char *arguments[JOB_ARGUMENT_MAX];
    struct error error;
    struct job again;
    enum err err = job_to_arguments(job, "worker", storage, arguments, &error);
    assert(err == ERR_OK);
    int count = 0;
    while (arguments[count])
        count++;
    err = job_from_arguments(count, (char *const *)arguments, &again, &error);
    assert(err == ERR_OK);
    check_equal(job, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *words[WORD_MAX] = {"worker"};
    int count = 1;
    CLEANUP(cleanup_free) char *text = malloc(size + 1);
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = 0; at < size && count < WORD_MAX; at += strlen(text + at) + 1)
        words[count++] = text + at;
    struct job job;
    struct error error = {0};
    if (job_from_arguments(count, words, &job, &error))
        assert(error.text[0]);
    else
        check_round_trip(&job);
    return 0;
}
