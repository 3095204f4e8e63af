/* The shape of addr2line: file:line, with the function before it and the address before that only
 * if asked. LLVM's variety says of an unknown line that it is 0. */
#include <inttypes.h>

#include "cli/output.h"

static bool is_llvm(const struct output *output) {
    return output->options->questions != QUESTIONS_GNU;
}

static void write_line(const struct output *output, const struct shown_frame *frame) {
    output_write_or_unknown(output, frame->file);
    if (frame->line == 0 && !is_llvm(output))
        fputs(":?\n", output->stream);
    else if (frame->discriminator)
        fprintf(output->stream, ":%" PRIu32 " (discriminator %" PRIu32 ")\n", frame->line,
                frame->discriminator);
    else
        fprintf(output->stream, ":%" PRIu32 "\n", frame->line);
    output_plain_source(output, frame);
}

static void write_frame(const struct output *output, const struct shown_frame *frame) {
    if (output->options->functions != FUNCTION_NAMES_NONE) {
        output_write_or_unknown(output, frame->function);
        fputs(output->options->pretty ? " at " : "\n", output->stream);
    }
    write_line(output, frame);
}

static void write_unknown(const struct output *output) {
    static const char *const pretty[] = {"?? ", "?? at "};
    if (output->options->functions != FUNCTION_NAMES_NONE)
        fputs(output->options->pretty ? pretty[is_llvm(output)] : "??\n", output->stream);
    fputs("??:0\n", output->stream);
}

static void write_frames(const struct output *output) {
    for (size_t i = 0; i < output->frame_count; i++) {
        if (i > 0 && output->options->pretty)
            fputs(" (inlined by) ", output->stream);
        write_frame(output, &output->frames[i]);
    }
    if (output->frame_count == 0)
        write_unknown(output);
}

static void gnu_answer(struct output *output, const char *module, uint64_t address) {
    (void)module;
    output_plain_address(output, address);
    write_frames(output);
}

static void gnu_unreadable(struct output *output, struct span module) {
    (void)module;
    write_frames(output);
}

static void gnu_failure(struct output *output, const struct shown_question *question,
                        const struct error *error) {
    (void)error;
    output_plain_question(output, question);
    write_frames(output);
}

static void gnu_place(struct output *output) {
    write_frames(output);
}

static void gnu_places_end(struct output *output, const struct shown_question *question) {
    (void)question;
    if (output->place_count == 0)
        write_unknown(output);
}

const struct output_ops output_gnu_ops = {
    .answer = gnu_answer,
    .unreadable = gnu_unreadable,
    .failure = gnu_failure,
    .places_begin = output_plain_places_begin,
    .place = gnu_place,
    .places_end = gnu_places_end,
    .data = output_plain_data,
    .frame = output_plain_frame,
};
