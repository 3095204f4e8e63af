/* llvm-symbolizer's JSON: keys in alphabetical order; one array for questions given as arguments,
 * one object a line for questions from standard input; indented by two with --pretty-print. */
#include <inttypes.h>

#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/source_context.h"

/* Writes one value after another; knows where commas and, if pretty, line breaks go. */
struct json {
    const struct output *output;
    unsigned depth;
    bool is_first; /* of the object or array that is open */
};

static void break_line(const struct json *json) {
    if (json->output->options->pretty)
        fprintf(json->output->stream, "\n%*s", (int)(2 * json->depth), "");
}

/* Before each element of an array and each key of an object. */
static void next(struct json *json) {
    if (!json->is_first)
        fputc(',', json->output->stream);
    json->is_first = false;
    break_line(json);
}

static void open_with(struct json *json, char bracket) {
    fputc(bracket, json->output->stream);
    json->depth++;
    json->is_first = true;
}

static void close_with(struct json *json, char bracket) {
    json->depth--;
    if (!json->is_first)
        break_line(json);
    fputc(bracket, json->output->stream);
    json->is_first = false;
}

static void key(struct json *json, const char *name) {
    next(json);
    fprintf(json->output->stream, "\"%s\":%s", name, json->output->options->pretty ? " " : "");
}

static void string_member(struct json *json, const char *name, struct span value) {
    key(json, name);
    json_text_write(json->output->stream, value);
}

static void number_member(struct json *json, const char *name, uint32_t value) {
    key(json, name);
    fprintf(json->output->stream, "%" PRIu32, value);
}

static void address_member(struct json *json, const char *name, uint64_t address) {
    key(json, name);
    fprintf(json->output->stream, "\"0x%" PRIx64 "\"", address);
}

static void write_source(struct json *json, const struct shown_frame *frame) {
    CLEANUP(buffer_clear) struct buffer text = {0};
    const struct output *output = json->output;
    if (!output->is_place &&
        source_context_read(frame->source, frame->line, output->options->source_lines, &text))
        string_member(json, "Source", buffer_span(&text));
}

static void write_frame(struct json *json, const struct shown_frame *frame) {
    next(json);
    open_with(json, '{');
    number_member(json, "Column", frame->column);
    number_member(json, "Discriminator", frame->discriminator);
    string_member(json, "FileName", frame->file);
    string_member(json, "FunctionName", frame->function);
    number_member(json, "Line", frame->line);
    write_source(json, frame);
    if (frame->start_address)
        address_member(json, "StartAddress", frame->start_address);
    else
        string_member(json, "StartAddress", span_cstr(""));
    string_member(json, "StartFileName", frame->start_file);
    number_member(json, "StartLine", frame->start_line);
    close_with(json, '}');
}

static void write_error(struct json *json, struct span message) {
    key(json, "Error");
    open_with(json, '{');
    string_member(json, "Message", message);
    close_with(json, '}');
}

static void write_symbol(struct json *json) {
    const struct output *output = json->output;
    key(json, "Symbol");
    open_with(json, '[');
    for (size_t i = 0; i < output->frame_count; i++)
        write_frame(json, &output->frames[i]);
    if (output->frame_count == 0)
        write_frame(json, &(struct shown_frame){0});
    close_with(json, ']');
}

/* Opens the answer's object, inside the array if there is one. */
static struct json begin_answer(const struct output *output) {
    struct json json = {.output = output, .is_first = true};
    if (output->is_list) {
        if (output->answer_count == 0)
            fputc('[', output->stream);
        json.depth = 1;
        json.is_first = output->answer_count == 0;
        next(&json);
    }
    open_with(&json, '{');
    return json;
}

static void end_answer(struct json *json) {
    close_with(json, '}');
    if (!json->output->is_list)
        fputc('\n', json->output->stream);
}

static void json_answer(struct output *output, const char *module, uint64_t address) {
    struct json json = begin_answer(output);
    address_member(&json, "Address", address);
    string_member(&json, "ModuleName", span_cstr(module));
    write_symbol(&json);
    end_answer(&json);
}

static void json_unreadable(struct output *output, struct span module) {
    struct json json = begin_answer(output);
    string_member(&json, "ModuleName", module);
    write_symbol(&json);
    end_answer(&json);
}

static void json_places_begin(struct output *output) {
    struct json json = begin_answer(output);
    key(&json, "Loc");
    open_with(&json, '[');
}

/* Inside what json_places_begin opened. */
static struct json places_json(const struct output *output) {
    return (struct json){
        .output = output,
        .depth = output->is_list ? 3 : 2,
        .is_first = output->place_count == 0,
    };
}

static void json_place(struct output *output) {
    struct json json = places_json(output);
    for (size_t i = 0; i < output->frame_count; i++)
        write_frame(&json, &output->frames[i]);
}

static void json_places_end(struct output *output, const struct shown_question *question) {
    struct json json = places_json(output);
    close_with(&json, ']');
    string_member(&json, "ModuleName", span_cstr(question->module));
    string_member(&json, "SymName", question->symbol);
    end_answer(&json);
}

/* Without frames: the address comes first, a symbol last. */
static struct json begin_other(const struct output *output, const struct shown_question *question) {
    struct json json = begin_answer(output);
    if (question->symbol.size == 0)
        address_member(&json, "Address", question->address);
    return json;
}

static void end_other(struct json *json, const struct shown_question *question) {
    string_member(json, "ModuleName", span_cstr(question->module));
    if (question->symbol.size > 0)
        string_member(json, "SymName", question->symbol);
    end_answer(json);
}

static void json_failure(struct output *output, const struct shown_question *question,
                         const struct error *error) {
    struct json json = begin_other(output, question);
    write_error(&json, span_cstr(error->text));
    end_other(&json, question);
}

static void json_data(struct output *output, const struct shown_question *question,
                      const struct shown_data *data) {
    struct json json = begin_other(output, question);
    key(&json, "Data");
    open_with(&json, '{');
    string_member(&json, "Name", data->name);
    address_member(&json, "Size", data->size);
    address_member(&json, "Start", data->start);
    close_with(&json, '}');
    end_other(&json, question);
}

static void json_frame(struct output *output, const struct shown_question *question) {
    struct json json = begin_other(output, question);
    key(&json, "Frame");
    open_with(&json, '[');
    close_with(&json, ']');
    end_other(&json, question);
}

const struct output_ops output_json_ops = {
    .answer = json_answer,
    .unreadable = json_unreadable,
    .failure = json_failure,
    .places_begin = json_places_begin,
    .place = json_place,
    .places_end = json_places_end,
    .data = json_data,
    .frame = json_frame,
};
