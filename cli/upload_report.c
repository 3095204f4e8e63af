#include "cli/upload_report.h"

#include <inttypes.h>

#include "base/utf8.h"
#include "cli/json_text.h"

enum verdict { UPLOADED, ALREADY_THERE, SKIPPED, FAILED };

static const char *const verdict_words[] = {"uploaded", "already_there", "skipped", "failed"};

/* One file's outcome, of either origin. */
struct line {
    const struct upload_item *item;
    enum verdict verdict;
    bool for_now;
    uint64_t size;
    unsigned retries;
    const char *reason; /* "": none */
};

static struct line line_of(const struct upload_item *item, const struct remote_result *result) {
    if (!result && item->same_as)
        return (struct line){.item = item, .verdict = SKIPPED, .reason = item->same_as->path};
    if (!result)
        return (struct line){.item = item, .verdict = FAILED, .reason = item->failure};
    struct line line = {
        .item = item, .size = result->size, .retries = result->retries, .reason = result->text};
    switch (result->outcome) {
    case REMOTE_UPLOADED:
        line.verdict = UPLOADED;
        break;
    case REMOTE_ALREADY_THERE:
        line.verdict = ALREADY_THERE;
        break;
    case REMOTE_FAILED_FOR_NOW:
        line.for_now = true;
        line.verdict = FAILED;
        break;
    case REMOTE_FAILED:
        line.verdict = FAILED;
        break;
    }
    return line;
}

static void count(struct upload_report *report, const struct line *line) {
    report->uploaded += line->verdict == UPLOADED;
    report->already_there += line->verdict == ALREADY_THERE;
    report->skipped += line->verdict == SKIPPED;
    report->failed += line->verdict == FAILED;
    report->failed_for_now += line->verdict == FAILED && line->for_now;
    report->bytes += line->size;
}

static void print_text(FILE *stream, const struct line *line) {
    const char *kind = binary_id_kind_name(line->item->id.kind);
    char reason[REMOTE_TEXT_SIZE];
    fprintf(stream, "%s: ", line->item->path);
    if (line->verdict == UPLOADED)
        fprintf(stream, "uploaded, %" PRIu64 " bytes", line->size);
    else
        fputs(line->verdict == ALREADY_THERE ? "already there" : verdict_words[line->verdict],
              stream);
    if (kind)
        fprintf(stream, ", %s %s", kind, line->item->id.text);
    /* A server's words may hold what a terminal would obey. */
    utf8_copy_printable(span_cstr(line->reason), reason, sizeof(reason));
    if (line->verdict == SKIPPED)
        fprintf(stream, ": the same build ID as %s", line->reason);
    else if (reason[0])
        fprintf(stream, ": %s", reason);
    fputc('\n', stream);
}

static void json_string(FILE *stream, const char *key, const char *value) {
    fprintf(stream, ",\"%s\":", key);
    if (value)
        json_text_write(stream, span_cstr(value));
    else
        fputs("null", stream);
}

static void print_json(const struct upload_report *report, const struct line *line) {
    FILE *stream = report->stream;
    const char *kind = binary_id_kind_name(line->item->id.kind);
    bool is_skipped = line->verdict == SKIPPED;
    fputs("{\"file\":", stream);
    json_text_write(stream, span_cstr(line->item->path));
    json_string(stream, "outcome", verdict_words[line->verdict]);
    json_string(stream, "build_id", kind ? line->item->id.text : NULL);
    json_string(stream, "id_kind", kind);
    json_string(stream, "type", remote_type_name(report->type));
    fprintf(stream, ",\"size\":%" PRIu64 ",\"retries\":%u,\"temporary\":%s", line->size,
            line->retries, line->for_now ? "true" : "false");
    json_string(stream, "same_as", is_skipped ? line->reason : NULL);
    json_string(stream, "reason", !is_skipped && line->reason[0] ? line->reason : NULL);
    fputs("}\n", stream);
}

void upload_report_file(struct upload_report *report, const struct upload_item *item,
                        const struct remote_result *result) {
    struct line line = line_of(item, result);
    count(report, &line);
    if (report->json)
        print_json(report, &line);
    else
        print_text(report->stream, &line);
    fflush(report->stream);
}

void upload_report_end(const struct upload_report *report) {
    if (!report->json)
        return;
    fprintf(
        report->stream,
        "{\"summary\":{\"files\":%" PRIu64 ",\"uploaded\":%" PRIu64 ",\"already_there\":%" PRIu64
        ",\"skipped\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"bytes\":%" PRIu64 "}}\n",
        report->uploaded + report->already_there + report->skipped + report->failed,
        report->uploaded, report->already_there, report->skipped, report->failed, report->bytes);
}
