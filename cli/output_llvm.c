/* The plain shape of llvm-symbolizer: name, then file:line:column, a blank line after each answer.
 */
#include <inttypes.h>

#include "cli/output.h"

static void write_function(const struct output *output, const struct shown_frame *frame) {
    if (output->options->functions == FUNCTION_NAMES_NONE)
        return;
    output_write_or_unknown(output, frame->function);
    fputs(output->options->pretty ? " at " : "\n", output->stream);
}

static void write_verbose(const struct output *output, const struct shown_frame *frame) {
    FILE *stream = output->stream;
    fputs("  Filename: ", stream);
    output_write_or_unknown(output, frame->file);
    fputc('\n', stream);
    if (frame->start_line) {
        fputs("  Function start filename: ", stream);
        output_write(output, frame->start_file);
        fprintf(stream, "\n  Function start line: %" PRIu32 "\n", frame->start_line);
    }
    if (frame->start_address)
        fprintf(stream, "  Function start address: 0x%" PRIx64 "\n", frame->start_address);
    fprintf(stream, "  Line: %" PRIu32 "\n  Column: %" PRIu32 "\n", frame->line, frame->column);
    if (frame->discriminator)
        fprintf(stream, "  Discriminator: %" PRIu32 "\n", frame->discriminator);
}

static void write_frame(const struct output *output, const struct shown_frame *frame) {
    write_function(output, frame);
    if (output->options->verbose) {
        write_verbose(output, frame);
        return;
    }
    output_write_or_unknown(output, frame->file);
    fprintf(output->stream, ":%" PRIu32 ":%" PRIu32 "\n", frame->line, frame->column);
    output_plain_source(output, frame);
}

static void write_frames(const struct output *output) {
    for (size_t i = 0; i < output->frame_count; i++) {
        if (i > 0 && output->options->pretty)
            fputs(" (inlined by) ", output->stream);
        write_frame(output, &output->frames[i]);
    }
    if (output->frame_count == 0)
        write_frame(output, &(struct shown_frame){0});
    fputc('\n', output->stream);
}

static void llvm_answer(struct output *output, const char *module, uint64_t address) {
    (void)module;
    output_plain_address(output, address);
    write_frames(output);
}

static void llvm_unreadable(struct output *output, struct span module) {
    (void)module;
    write_frames(output);
}

static void llvm_failure(struct output *output, const struct shown_question *question,
                         const struct error *error) {
    (void)error;
    output_plain_question(output, question);
    write_frames(output);
}

static void llvm_place(struct output *output) {
    write_frames(output);
}

static void llvm_places_end(struct output *output, const struct shown_question *question) {
    (void)question;
    output->frame_count = 0;
    if (output->place_count == 0)
        write_frames(output);
}

const struct output_ops output_llvm_ops = {
    .answer = llvm_answer,
    .unreadable = llvm_unreadable,
    .failure = llvm_failure,
    .places_begin = output_plain_places_begin,
    .place = llvm_place,
    .places_end = llvm_places_end,
    .data = output_plain_data,
    .frame = output_plain_frame,
};
