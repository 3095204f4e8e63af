#include "api/symbolize_json.h"

#include <stdlib.h>

#include "api/answer.h"
#include "api/json_writer.h"
#include "base/clock.h"

#define PIECE_SIZE ((size_t)16 << 10)

/* What is written next. */
enum stage { STAGE_BEGIN, STAGE_MODULE, STAGE_ADDRESS, STAGE_FRAME, STAGE_REASON, STAGE_END };

struct symbolize_json {
    struct http_stream stream;
    struct symbolize_batch *batch;
    struct metrics *metrics;
    struct answer *answer;
    struct answer_scope scope;
    struct json_writer writer;
    enum stage stage;
    size_t module;
    size_t address;
    enum err outcome; /* of the modules so far; with its text when it is a failure */
    struct error error;
};

static const struct symbolize_module *current_module(const struct symbolize_json *json) {
    return &symbolize_batch_request(json->batch)->modules[json->module];
}

static struct symbolize_result *current_result(const struct symbolize_json *json) {
    return symbolize_batch_result(json->batch, json->module);
}

static void write_field(struct json_writer *writer, const char *key, struct span text) {
    json_writer_key(writer, key);
    json_writer_string_or_null(writer, text);
}

static void write_number(struct json_writer *writer, const char *key, uint64_t number) {
    json_writer_key(writer, key);
    json_writer_u64_or_null(writer, number);
}

static void begin(struct symbolize_json *json) {
    json_writer_object_begin(&json->writer);
    json_writer_key(&json->writer, "modules");
    json_writer_array_begin(&json->writer);
    json->stage = STAGE_MODULE;
}

static void end(struct symbolize_json *json) {
    const struct request_context *context = symbolize_batch_context(json->batch);
    json_writer_array_end(&json->writer);
    json_writer_key(&json->writer, "request_id");
    json_writer_string(&json->writer, span_cstr(context->request_id));
    json_writer_object_end(&json->writer);
    buffer_append_byte(json->writer.out, '\n');
    json->stage = STAGE_END;
}

static void set_scope(struct symbolize_json *json) {
    const struct symbolize_request *request = symbolize_batch_request(json->batch);
    const struct symbolize_module *module = current_module(json);
    struct index_handle *handle = current_result(json)->state.handle;
    json->scope = (struct answer_scope){
        .context = symbolize_batch_context(json->batch),
        .id = &module->id,
        .module_name = module->name,
        .index = handle ? index_handle_index(handle) : NULL,
        .now_ms = clock_wall_ms(),
        .inlines = request->inlines,
        .demangle = request->demangle,
    };
}

static void write_module_head(struct symbolize_json *json) {
    struct json_writer *writer = &json->writer;
    if (json->module == symbolize_batch_request(json->batch)->module_count) {
        end(json);
        return;
    }
    const struct module_state *state = &current_result(json)->state;
    json_writer_object_begin(writer);
    write_field(writer, "build_id", span_cstr(current_module(json)->id.text));
    write_field(writer, "status", span_cstr(module_status_name(state->status)));
    write_field(writer, "detail", span_cstr(state->detail));
    write_number(writer, "generation", state->generation);
    json_writer_key(writer, "frames");
    json_writer_array_begin(writer);
    set_scope(json);
    json->address = 0;
    json->stage = STAGE_ADDRESS;
}

static void write_address(struct symbolize_json *json) {
    struct json_writer *writer = &json->writer;
    const struct symbolize_result *result = current_result(json);
    if (json->address == current_module(json)->address_count) {
        json_writer_array_end(writer);
        json_writer_key(writer, "reasons");
        json_writer_array_begin(writer);
        json->address = 0;
        json->stage = STAGE_REASON;
        return;
    }
    json_writer_array_begin(writer);
    if (result->hits) {
        answer_start(json->answer, &json->scope, result->hits[json->address]);
        json->stage = STAGE_FRAME;
        return;
    }
    json_writer_array_end(writer);
    json->address++;
}

static void write_frame(struct symbolize_json *json) {
    struct json_writer *writer = &json->writer;
    struct answer_frame frame;
    if (!answer_render(json->answer, &frame)) {
        json_writer_array_end(writer);
        current_result(json)->hits[json->address].miss = answer_reason(json->answer);
        json->address++;
        json->stage = STAGE_ADDRESS;
        return;
    }
    json_writer_object_begin(writer);
    write_field(writer, "function", frame.function);
    write_field(writer, "system_name", frame.system_name);
    write_field(writer, "file", frame.file);
    write_number(writer, "line", frame.line);
    write_number(writer, "column", frame.column);
    write_number(writer, "start_line", frame.start_line);
    write_field(writer, "origin", span_cstr(symbol_origin_name(frame.origin)));
    json_writer_object_end(writer);
}

static void check_module(struct symbolize_json *json) {
    if (json->outcome == ERR_OK)
        json->outcome = symbolize_result_check(current_result(json), &json->error);
}

static void finish_module(struct symbolize_json *json) {
    struct symbolize_result *result = current_result(json);
    check_module(json);
    uint64_t misses[METRICS_MISS_COUNT] = {0};
    for (size_t i = 0; result->hits && i < current_module(json)->address_count; i++)
        misses[result->hits[i].miss]++;
    metrics_count_misses(json->metrics, misses);
    metrics_count_module(json->metrics, result->state.status);
    if (result->state.handle)
        symbolize_result_release(result);
    json_writer_array_end(&json->writer);
    json_writer_object_end(&json->writer);
    json->module++;
    json->stage = STAGE_MODULE;
}

static void write_reason(struct symbolize_json *json) {
    const struct symbolize_result *result = current_result(json);
    if (json->address == current_module(json)->address_count) {
        finish_module(json);
        return;
    }
    enum symbol_miss miss = result->hits ? result->hits[json->address].miss : SYMBOL_MISS_NONE;
    json_writer_cstr_or_null(&json->writer, symbol_miss_name(miss));
    json->address++;
}

static enum err render(struct http_stream *stream, struct buffer *out, bool *ret_end,
                       struct error *error) {
    static void (*const writers[])(struct symbolize_json *) = {
        [STAGE_BEGIN] = begin,           [STAGE_MODULE] = write_module_head,
        [STAGE_ADDRESS] = write_address, [STAGE_FRAME] = write_frame,
        [STAGE_REASON] = write_reason,
    };
    struct symbolize_json *json = (struct symbolize_json *)stream;
    json->writer.out = out;
    while (json->stage != STAGE_END && out->size < PIECE_SIZE && !buffer_failed(out))
        writers[json->stage](json);
    *ret_end = json->stage == STAGE_END;
    if (json->module < symbolize_batch_request(json->batch)->module_count)
        check_module(json);
    if (json->outcome != ERR_OK)
        *error = json->error;
    return json->outcome;
}

static void json_free(struct http_stream *stream) {
    struct symbolize_json *json = (struct symbolize_json *)stream;
    answer_free(json->answer);
    symbolize_batch_free(json->batch);
    free(json);
}

enum err symbolize_json_new(struct symbolize_batch *batch, struct metrics *metrics,
                            struct http_stream **ret_stream, struct error *error) {
    static const struct http_stream_ops ops = {.render = render, .free = json_free};
    struct symbolize_json *json = calloc(1, sizeof(*json));
    struct answer *answer = answer_new();
    if (!json || !answer) {
        symbolize_batch_free(batch);
        answer_free(answer);
        free(json);
        return error_set(error, ERR_NO_MEMORY, "no memory for the answer");
    }
    json->stream.ops = &ops;
    json->batch = batch;
    json->metrics = metrics;
    json->answer = answer;
    json->writer = json_writer_to(NULL);
    *ret_stream = &json->stream;
    return ERR_OK;
}
