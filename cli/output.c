#include "cli/output.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "symbolizer/index/demangle.h"

static const struct output_ops *ops_of(enum output_style style) {
    switch (style) {
    case OUTPUT_GNU:
        return &output_gnu_ops;
    case OUTPUT_JSON:
        return &output_json_ops;
    case OUTPUT_LLVM:
        break;
    }
    return &output_llvm_ops;
}

void output_init(struct output *output, const struct options *options, bool is_list, FILE *stream) {
    *output = (struct output){
        .ops = ops_of(options->style),
        .options = options,
        .stream = stream,
        .address_digits = 16,
        .is_list = is_list,
    };
}

/* --- from resolved frames to shown ones --------------------------------------------------------
 */

static struct span basename_of(struct span path) {
    const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
    if (!slash)
        return path;
    return span_of(slash + 1, path.size - (size_t)(slash + 1 - path.data));
}

static struct span path_of(const struct output *output, struct span path) {
    return output->options->basenames ? basename_of(path) : path;
}

/* Where a frame's name is. Demangled names go into output->names, which may move while it grows:
 * such a name is an offset until all of them are there. */
struct name_place {
    struct span plain; /* data is NULL for a demangled name */
    size_t offset;     /* in output->names */
    size_t size;
};

static struct name_place place_name(struct output *output, const struct symbol_frame *frame) {
    const struct options *options = output->options;
    if (options->functions == FUNCTION_NAMES_NONE)
        return (struct name_place){.plain = {"", 0}};
    if (options->functions == FUNCTION_NAMES_SHORT && frame->short_name.size > 0)
        return (struct name_place){.plain = frame->short_name};
    size_t offset = output->names.size;
    if (options->demangle && (frame->flags & SYMBOL_DEMANGLES) &&
        demangle(frame->name, &output->names))
        return (struct name_place){.offset = offset, .size = output->names.size - offset};
    return (struct name_place){.plain = frame->name.data ? frame->name : span_cstr("")};
}

static struct shown_frame shown(const struct output *output, const struct symbol_frame *frame) {
    return (struct shown_frame){
        .file = path_of(output, frame->file),
        .source = frame->file,
        .start_file = path_of(output, frame->start_file),
        .line = frame->line,
        .column = frame->column,
        .start_line = frame->start_line,
        .discriminator = frame->discriminator,
    };
}

static enum err reserve_frames(struct output *output, size_t count, struct error *error) {
    if (count <= output->frame_capacity)
        return ERR_OK;
    struct shown_frame *grown = realloc(output->frames, count * sizeof(*grown));
    if (!grown)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu frames", count);
    output->frames = grown;
    output->frame_capacity = count;
    return ERR_OK;
}

static bool shows_inlines(const struct output *output) {
    return output->options->inlines && !output->is_place;
}

/* Which resolved frame gives shown frame `i` its name. Where inlined frames are not shown, LLVM
 * names the function that is there, and GNU the inlined one whose line it is. */
static const struct symbol_frame *named_frame(const struct output *output,
                                              const struct frame_list *frames, size_t i) {
    bool is_outermost = !shows_inlines(output) &&
                        (output->is_place || output->options->style != OUTPUT_GNU);
    return &frames->frames[is_outermost ? frames->count - 1 : i];
}

static enum err name_frames(struct output *output, const struct frame_list *frames,
                            struct error *error) {
    CLEANUP(cleanup_free)
    struct name_place *places = calloc(output->frame_count + 1, sizeof(*places));
    if (!places)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu names", output->frame_count);
    output->names.size = 0;
    for (size_t i = 0; i < output->frame_count; i++)
        places[i] = place_name(output, named_frame(output, frames, i));
    for (size_t i = 0; i < output->frame_count; i++)
        output->frames[i].function =
            places[i].plain.data ? places[i].plain
                                 : span_of(output->names.data + places[i].offset, places[i].size);
    return ERR_OK;
}

enum err output_set_frames(struct output *output, const struct frame_list *frames,
                           struct error *error) {
    size_t count = frames->count;
    if (!shows_inlines(output) && count > 1)
        count = 1;
    enum err err = reserve_frames(output, count, error);
    if (err)
        return err;
    output->frame_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct symbol_frame *named = named_frame(output, frames, i);
        output->frames[i] = shown(output, &frames->frames[i]);
        output->frames[i].start_address = named->has_entry_pc ? named->entry_pc : 0;
    }
    return name_frames(output, frames, error);
}

/* --- writing ------------------------------------------------------------------------------------
 */

void output_write(const struct output *output, struct span text) {
    if (text.size > 0)
        fwrite(text.data, 1, text.size, output->stream);
}

void output_write_or_unknown(const struct output *output, struct span text) {
    output_write(output, text.size > 0 ? text : span_cstr("??"));
}

static void finish_answer(struct output *output) {
    output->answer_count++;
    fflush(output->stream);
}

void output_answer(struct output *output, const char *module, uint64_t address) {
    output->ops->answer(output, module, address);
    finish_answer(output);
}

void output_unreadable(struct output *output, struct span module) {
    output->frame_count = 0;
    output->ops->unreadable(output, module);
    finish_answer(output);
}

void output_failure(struct output *output, const struct shown_question *question,
                    const struct error *error) {
    output->frame_count = 0;
    output->ops->failure(output, question, error);
    finish_answer(output);
}

void output_places_begin(struct output *output) {
    output->place_count = 0;
    output->is_place = true;
    output->ops->places_begin(output);
}

void output_place(struct output *output) {
    output->ops->place(output);
    output->place_count++;
}

void output_places_end(struct output *output, const struct shown_question *question) {
    output->ops->places_end(output, question);
    output->is_place = false;
    finish_answer(output);
}

void output_data(struct output *output, const struct shown_question *question,
                 const struct shown_data *data) {
    output->ops->data(output, question, data);
    finish_answer(output);
}

void output_no_frame(struct output *output, const struct shown_question *question) {
    output->ops->frame(output, question);
    finish_answer(output);
}

enum err output_end(struct output *output, struct error *error) {
    if (output->options->style == OUTPUT_JSON && output->is_list)
        fputs(output->answer_count == 0 ? "[]\n"
              : output->options->pretty ? "\n]\n"
                                        : "]\n",
              output->stream);
    free(output->frames);
    buffer_clear(&output->names);
    output->frames = NULL;
    if (fflush(output->stream) != 0 || ferror(output->stream))
        return error_set_errno(error, ERR_IO, errno, "cannot write the answers");
    return ERR_OK;
}
