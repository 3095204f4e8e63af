#include "symbolizer/build/thread_team.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

/* More than any machine gains from: the work is bound by memory long before. */
#define THREADS_MAX 256u

/* The default follows the shell's limits and can be 2 MiB; only what is touched takes memory. */
#define STACK_SIZE ((size_t)8 << 20)

struct team {
    thread_team_work *work;
    void *context;
};

static void *run(void *argument) {
    const struct team *team = argument;
    team->work(team->context);
    return NULL;
}

void thread_team_run(unsigned thread_count, thread_team_work *work, void *context) {
    struct team team = {work, context};
    pthread_t threads[THREADS_MAX];
    unsigned started = 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    while (started + 1 < thread_count && started < THREADS_MAX &&
           pthread_create(&threads[started], &attributes, run, &team) == 0)
        started++;
    pthread_attr_destroy(&attributes);
    work(context);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

unsigned thread_team_processors(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}
