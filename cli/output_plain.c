/* What the shapes of llvm-symbolizer and addr2line share. */
#include <inttypes.h>

#include "cli/output.h"
#include "cli/source_context.h"

static void end_answer(const struct output *output) {
    if (output->options->style == OUTPUT_LLVM)
        fputc('\n', output->stream);
}

/* addr2line alone writes all digits. */
void output_plain_address(const struct output *output, uint64_t address) {
    const struct options *options = output->options;
    bool is_padded = options->style == OUTPUT_GNU && options->questions == QUESTIONS_GNU;
    if (options->addresses)
        fprintf(output->stream, "0x%0*" PRIx64 "%s", is_padded ? (int)output->address_digits : 1,
                address, options->pretty ? ": " : "\n");
}

void output_plain_source(const struct output *output, const struct shown_frame *frame) {
    CLEANUP(buffer_clear) struct buffer text = {0};
    if (source_context_read(frame->source, frame->line, output->options->source_lines, &text))
        output_write(output, buffer_span(&text));
}

void output_plain_places_begin(struct output *output) {
    (void)output;
}

void output_plain_question(const struct output *output, const struct shown_question *question) {
    if (question->symbol.size == 0)
        output_plain_address(output, question->address);
}

/* Where a variable is declared is never known. */
void output_plain_data(struct output *output, const struct shown_question *question,
                       const struct shown_data *data) {
    output_plain_question(output, question);
    output_write_or_unknown(output, data->name);
    fprintf(output->stream, "\n%" PRIu64 " %" PRIu64 "\n??:?\n", data->start, data->size);
    end_answer(output);
}

void output_plain_frame(struct output *output, const struct shown_question *question) {
    output_plain_question(output, question);
    fputs("??\n", output->stream);
    end_answer(output);
}
