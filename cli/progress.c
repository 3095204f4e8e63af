#include "cli/progress.h"

#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define REDRAW_MS 100
#define WIDTH_DEFAULT 80
#define WIDTH_MAX 200
#define BAR_WIDTH 24
#define BAR_WIDTH_MIN 4
/* How much the newest rate counts against those before it. */
#define RATE_WEIGHT 0.2

struct progress {
    FILE *stream;
    pthread_mutex_t mutex;
    struct progress_state state;
    int64_t drawn_ms; /* when the line was last drawn; 0: it is not there */
    int64_t measured_ms;
    uint64_t measured_bytes;
};

/* --- the line ----------------------------------------------------------------------------------
 */

static void format_size(double bytes, char *ret_text, size_t size) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
        bytes /= 1024;
        unit++;
    }
    snprintf(ret_text, size, "%.*f %s", unit == 0 ? 0 : 1, bytes, units[unit]);
}

static void format_left(const struct progress_state *state, char *ret_text, size_t size) {
    uint64_t left = state->bytes_total > state->bytes ? state->bytes_total - state->bytes : 0;
    if (left == 0) {
        snprintf(ret_text, size, "0:00");
        return;
    }
    double seconds = state->rate > 0 ? (double)left / state->rate : -1;
    if (seconds < 0 || seconds >= 100 * 3600.0)
        snprintf(ret_text, size, "-:--");
    else if (seconds < 3600)
        snprintf(ret_text, size, "%d:%02d", (int)seconds / 60, (int)seconds % 60);
    else
        snprintf(ret_text, size, "%d:%02d:%02d", (int)seconds / 3600, (int)seconds / 60 % 60,
                 (int)seconds % 60);
}

static void draw_bar(double share, size_t width, char *ret_text) {
    size_t full = (size_t)(share * (double)width);
    *ret_text++ = '[';
    for (size_t i = 0; i < width; i++)
        *ret_text++ = "=> "[(i >= full) + (i > full)];
    *ret_text++ = ']';
    *ret_text++ = ' ';
    *ret_text = '\0';
}

void progress_format(const struct progress_state *state, size_t width, char *ret_text) {
    char done[32];
    char total[32];
    char rate[32];
    char left[32];
    char numbers[192];
    char bar[BAR_WIDTH + 4] = "";
    double share = state->bytes_total ? (double)state->bytes / (double)state->bytes_total : 1;
    share = share > 1 ? 1 : share;
    format_size((double)state->bytes, done, sizeof(done));
    format_size((double)state->bytes_total, total, sizeof(total));
    format_size(state->rate, rate, sizeof(rate));
    format_left(state, left, sizeof(left));
    int size = snprintf(numbers, sizeof(numbers), "%3d%% %s/%s %s/s ETA %s file %llu/%llu",
                        (int)(share * 100), done, total, state->rate > 0 ? rate : "-", left,
                        (unsigned long long)state->files, (unsigned long long)state->files_total);
    size_t bar_width = width > (size_t)size + 3 ? width - (size_t)size - 3 : 0;
    if (bar_width >= BAR_WIDTH_MIN)
        draw_bar(share, bar_width < BAR_WIDTH ? bar_width : BAR_WIDTH, bar);
    snprintf(ret_text, width + 1, "%s%s", bar, numbers);
}

/* --- drawing -----------------------------------------------------------------------------------
 */

struct progress *progress_new(FILE *stream, uint64_t bytes_total, uint64_t files_total) {
    if (!isatty(fileno(stream)))
        return NULL;
    struct progress *progress = calloc(1, sizeof(*progress));
    if (!progress)
        return NULL;
    progress->stream = stream;
    progress->state.bytes_total = bytes_total;
    progress->state.files_total = files_total;
    progress->measured_ms = clock_mono_ms();
    pthread_mutex_init(&progress->mutex, NULL);
    return progress;
}

static size_t width_of(FILE *stream) {
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return WIDTH_DEFAULT;
    /* The last column stays free: writing it moves some terminals to the next line. */
    size_t width = (size_t)size.ws_col - 1;
    return width < WIDTH_MAX ? width : WIDTH_MAX;
}

static void measure(struct progress *progress, int64_t now_ms) {
    struct progress_state *state = &progress->state;
    int64_t passed_ms = now_ms - progress->measured_ms;
    if (passed_ms <= 0)
        return;
    double moved = (double)state->bytes - (double)progress->measured_bytes;
    double rate = moved > 0 ? moved * 1000 / (double)passed_ms : 0;
    state->rate = state->rate > 0 ? state->rate + RATE_WEIGHT * (rate - state->rate) : rate;
    progress->measured_ms = now_ms;
    progress->measured_bytes = state->bytes;
}

static void draw(struct progress *progress, bool is_due) {
    char line[WIDTH_MAX + 1];
    int64_t now_ms = clock_mono_ms();
    if (!is_due && progress->drawn_ms && now_ms - progress->drawn_ms < REDRAW_MS)
        return;
    measure(progress, now_ms);
    progress_format(&progress->state, width_of(progress->stream), line);
    fprintf(progress->stream, "\r%s\x1b[K", line);
    fflush(progress->stream);
    progress->drawn_ms = now_ms;
}

void progress_move(struct progress *progress, int64_t bytes) {
    if (!progress)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->state.bytes += (uint64_t)bytes; /* wraps to a subtraction */
    draw(progress, false);
    pthread_mutex_unlock(&progress->mutex);
}

void progress_end_file(struct progress *progress, uint64_t bytes_unsent) {
    if (!progress)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->state.bytes_total -= bytes_unsent;
    progress->state.files++;
    draw(progress, true);
    pthread_mutex_unlock(&progress->mutex);
}

static void hide(struct progress *progress) {
    if (progress->drawn_ms) {
        fputs("\r\x1b[K", progress->stream);
        fflush(progress->stream);
    }
    progress->drawn_ms = 0;
}

void progress_pause(struct progress *progress) {
    if (!progress)
        return;
    pthread_mutex_lock(&progress->mutex);
    hide(progress);
}

void progress_resume(struct progress *progress) {
    if (progress)
        pthread_mutex_unlock(&progress->mutex);
}

void progress_free(struct progress *progress) {
    if (!progress)
        return;
    hide(progress);
    pthread_mutex_destroy(&progress->mutex);
    free(progress);
}
