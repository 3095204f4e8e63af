#include "cli/remote_symbolize.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/clock.h"

/* The server's own bound. */
#define WAIT_MAX_MS ((int64_t)60000)

struct remote_frames {
    json_t *answer;
    json_t *lists; /* of the answer: one list per address */
    const char *status;
    const char *detail;
};

void remote_frames_free(struct remote_frames *frames) {
    json_decref(frames->answer);
    free(frames);
}

const char *remote_frames_status(const struct remote_frames *frames) {
    return frames->status;
}

const char *remote_frames_detail(const struct remote_frames *frames) {
    return frames->detail;
}

/* --- asking -------------------------------------------------------------------------------------
 */

static json_t *addresses_of(const struct remote_question *question) {
    json_t *list = json_array();
    for (size_t i = 0; list && i < question->count; i++) {
        char text[2 + 16 + 1];
        snprintf(text, sizeof(text), "0x%" PRIx64, question->addresses[i]);
        json_array_append_new(list, json_string(text));
    }
    return list;
}

/* NULL when there is no memory. */
static char *body_of(const struct remote_question *question, int64_t wait_ms) {
    json_t *body = json_pack("{s:[{s:s, s:s, s:o}], s:{s:I}}", "modules", "build_id",
                             question->id->text, "id_kind", binary_id_kind_name(question->id->kind),
                             "addresses", addresses_of(question), "options", "wait_ms",
                             (json_int_t)wait_ms);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    return text;
}

static enum err read_answer(struct span body, size_t count, struct remote_frames **ret_frames,
                            struct error *error) {
    CLEANUP(cleanup_remote_frames) struct remote_frames *frames = calloc(1, sizeof(*frames));
    if (!frames)
        return error_set(error, ERR_NO_MEMORY, "no memory for an answer");
    frames->answer = json_loadb(body.data ? body.data : "", body.size, JSON_ALLOW_NUL, NULL);
    json_t *module = json_array_get(json_object_get(frames->answer, "modules"), 0);
    frames->status = json_string_value(json_object_get(module, "status"));
    frames->detail = json_string_value(json_object_get(module, "detail"));
    frames->lists = json_object_get(module, "frames");
    if (!frames->status || json_array_size(frames->lists) != count)
        return error_set(error, ERR_MALFORMED, "the server's answer is none of /v1/symbolize");
    *ret_frames = TAKE(frames);
    return ERR_OK;
}

static enum err ask(struct http_client *client, const struct remote_question *question,
                    int64_t wait_ms, struct remote_frames **ret_frames, struct error *error) {
    CLEANUP(cleanup_free) char *text = body_of(question, wait_ms < 0 ? 0 : wait_ms);
    if (!text)
        return error_set(error, ERR_NO_MEMORY, "no memory for a question");
    const struct http_question asked = {
        .method = "POST", .path = "/v1/symbolize", .body = span_cstr(text)};
    struct span body;
    enum err err = http_client_ask(client, &asked, &body, error);
    return err ? err : read_answer(body, question->count, ret_frames, error);
}

enum err remote_symbolize(struct http_client *client, const struct remote_question *question,
                          struct remote_frames **ret_frames, struct error *error) {
    const int64_t end_ms = clock_mono_ms() + question->wait_ms;
    for (;;) {
        int64_t left_ms = end_ms - clock_mono_ms();
        int64_t wait_ms = left_ms < WAIT_MAX_MS ? left_ms : WAIT_MAX_MS;
        CLEANUP(cleanup_remote_frames) struct remote_frames *frames = NULL;
        enum err err = ask(client, question, wait_ms, &frames, error);
        if (err)
            return err;
        /* A server that does not wait as asked is not asked in a tight loop. */
        bool may_wait = left_ms > WAIT_MAX_MS && clock_mono_ms() > end_ms - left_ms + wait_ms / 2;
        if (strcmp(frames->status, "pending") != 0 || !may_wait) {
            *ret_frames = TAKE(frames);
            return ERR_OK;
        }
    }
}

/* --- frames -------------------------------------------------------------------------------------
 */

static struct span text_of(const json_t *frame, const char *key) {
    const json_t *value = json_object_get(frame, key);
    return span_of(json_string_value(value), json_string_length(value));
}

/* 0 for what is no number that fits. */
static uint32_t number_of(const json_t *frame, const char *key) {
    json_int_t number = json_integer_value(json_object_get(frame, key));
    return number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

enum err remote_frames_get(const struct remote_frames *frames, size_t position, bool demangle,
                           struct frame_list *ret_list, struct error *error) {
    const json_t *list = json_array_get(frames->lists, position);
    size_t count = json_array_size(list);
    ret_list->count = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *source = json_array_get(list, i);
        struct symbol_frame frame = {
            .name = text_of(source, demangle ? "function" : "system_name"),
            .file = text_of(source, "file"),
            .line = number_of(source, "line"),
            .column = number_of(source, "column"),
            .start_line = number_of(source, "start_line"),
        };
        enum err err = frame_list_add(ret_list, &frame, error);
        if (err)
            return err;
    }
    return ERR_OK;
}
