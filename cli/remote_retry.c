#include "cli/remote_retry.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"

#define PAUSE_FIRST_MS ((int64_t)500)
#define PAUSE_MAX_MS ((int64_t)30000)

int64_t remote_retry_pause_ms(unsigned count, uint32_t random) {
    int64_t pause_ms = PAUSE_FIRST_MS;
    for (unsigned i = 0; i < count && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    if (pause_ms > PAUSE_MAX_MS)
        pause_ms = PAUSE_MAX_MS;
    return pause_ms - (int64_t)(random % (uint32_t)(pause_ms / 2 + 1));
}

static void pause_ms(int64_t duration_ms) {
    struct timespec left = {.tv_sec = duration_ms / 1000,
                            .tv_nsec = duration_ms % 1000 * 1000 * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

bool remote_retry_wait(struct remote_retry *retry) {
    uint32_t random = 0;
    if (retry->left == 0)
        return false;
    if (getrandom(&random, sizeof(random), 0) < 0)
        random = (uint32_t)clock_mono_ns();
    int64_t duration_ms = remote_retry_pause_ms(retry->count, random);
    if (remote_retry_left_ms(retry, INT64_MAX) <= duration_ms)
        return false;
    retry->left--;
    retry->count++;
    pause_ms(duration_ms);
    return true;
}

int64_t remote_retry_left_ms(const struct remote_retry *retry, int64_t most_ms) {
    int64_t left_ms = retry->deadline_ms - clock_mono_ms();
    if (left_ms <= 0)
        return 0;
    return left_ms < most_ms ? left_ms : most_ms;
}
