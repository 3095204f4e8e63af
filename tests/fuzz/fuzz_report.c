/*
 * Property: whatever a worker writes, it is refused with a reason or read into a report that keeps
 * its bounds; and what we write of a report that was read is read again as the same.
 */
#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "symbolizer/protocol/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t size) {
    assert(memchr(text, '\0', size));
    for (; *text; text++)
        assert((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void check_bounds(const struct report *report) {
    assert(report->status >= REPORT_OK && report->status < REPORT_KILLED);
    assert(report->summary.id_count <= INDEX_ID_MAX && report->need_count <= REPORT_NEED_MAX);
    check_text(report->reason, sizeof(report->reason));
    for (size_t i = 0; i < report->summary.id_count; i++)
        check_text(report->summary.ids[i].text, sizeof(report->summary.ids[i].text));
    for (size_t i = 0; i < report->need_count; i++) {
        check_text(report->needs[i].value, sizeof(report->needs[i].value));
        assert(report->needs[i].value[0]);
        assert(!strchr(report->needs[i].value, '/'));
    }
}

static struct span written(const struct report *report) {
    struct error error;
    struct span bytes;
    int fd = memfd_create("report", MFD_CLOEXEC);
    assert(fd >= 0);
    enum err err = report_write(report, fd, &error);
    assert(err == ERR_OK);
    err = fd_map(fd, &bytes, &error);
    assert(err == ERR_OK);
    fd_close(fd);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct report first;
    struct report second;
    struct error error = {0};
    if (report_parse(span_of(data, size), &first, &error)) {
        assert(error.text[0]);
        return 0;
    }
    check_bounds(&first);
    struct span once = written(&first);
    enum err err = report_parse(once, &second, &error);
    assert(err == ERR_OK);
    struct span twice = written(&second);
    assert(span_equal(once, twice));
    fd_unmap(once);
    fd_unmap(twice);
    return 0;
}
