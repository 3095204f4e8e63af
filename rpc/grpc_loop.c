#include "rpc/grpc_loop_internal.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "rpc/grpc_call_internal.h"
#include "rpc/grpc_connection_internal.h"

#define EVENT_COUNT 64
#define ACCEPT_COUNT_MAX 16
#define ACCEPT_PAUSE_MS 100

enum err grpc_loop_open(struct grpc_shared *shared, int listen_fd, struct grpc_loop *loop,
                        struct error *error) {
    *loop = (struct grpc_loop){.shared = shared,
                               .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                               .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                               .listen_fd = listen_fd,
                               .timer_ms = INT64_MAX,
                               .listen_again_ms = INT64_MAX,
                               .stop_ms = INT64_MAX};
    pthread_mutex_init(&loop->mutex, NULL);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &loop->wake_fd};
    if (loop->epoll_fd < 0 || loop->wake_fd < 0 ||
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &event) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot make an event loop");
    return ERR_OK;
}

void grpc_loop_close(struct grpc_loop *loop) {
    assert(!loop->connections && loop->call_count == 0);
    fd_close(loop->epoll_fd);
    fd_close(loop->wake_fd);
    pthread_mutex_destroy(&loop->mutex);
}

/* --- from other threads ----------------------------------------------------------------------- */

static void wake(struct grpc_loop *loop) {
    uint64_t one = 1;
    ssize_t ignored = write(loop->wake_fd, &one, sizeof(one));
    (void)ignored; /* it can only be full, and then the loop is awake */
}

void grpc_loop_queue_locked(struct grpc_loop *loop, struct grpc_call *call) {
    if (call->queued)
        return;
    grpc_call_ref(call);
    call->queued = true;
    call->queue_next = NULL;
    if (loop->queue_last) {
        loop->queue_last->queue_next = call;
    } else {
        loop->queue_first = call;
        wake(loop);
    }
    loop->queue_last = call;
}

void grpc_loop_call_freed(struct grpc_loop *loop) {
    pthread_mutex_lock(&loop->mutex);
    loop->call_count--;
    if (loop->stopping && loop->call_count == 0)
        wake(loop);
    pthread_mutex_unlock(&loop->mutex);
}

void grpc_loop_stop(struct grpc_loop *loop, int64_t stop_ms) {
    pthread_mutex_lock(&loop->mutex);
    loop->stopping = true;
    loop->stop_ms = stop_ms;
    wake(loop);
    pthread_mutex_unlock(&loop->mutex);
}

/* --- the queue -------------------------------------------------------------------------------- */

struct queued_call {
    struct grpc_call *call;
    void (*posted)(void *state, struct grpc_call *call);
    bool finished;
};

static struct queued_call take_queued(struct grpc_loop *loop) {
    struct queued_call taken = {NULL, NULL, false};
    pthread_mutex_lock(&loop->mutex);
    struct grpc_call *call = loop->queue_first;
    if (call) {
        loop->queue_first = call->queue_next;
        if (!loop->queue_first)
            loop->queue_last = NULL;
        taken = (struct queued_call){call, call->posted, call->finish_queued};
        call->queued = false;
        call->posted = NULL;
        call->finish_queued = false;
    }
    pthread_mutex_unlock(&loop->mutex);
    return taken;
}

static void run_queue(struct grpc_loop *loop) {
    for (struct queued_call taken = take_queued(loop); taken.call; taken = take_queued(loop)) {
        if (taken.posted)
            taken.posted(taken.call->state, taken.call);
        if (taken.finished && taken.call->connection)
            grpc_connection_answer(taken.call->connection, taken.call);
        grpc_call_unref(taken.call);
    }
}

/* --- listening -------------------------------------------------------------------------------- */

static void listen_start(struct grpc_loop *loop) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = &loop->listen_fd};
    loop->listening = epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->listen_fd, &event) == 0;
    loop->listen_again_ms = loop->listening ? INT64_MAX : clock_mono_ms() + ACCEPT_PAUSE_MS;
    grpc_loop_set_timer(loop, loop->listen_again_ms);
}

static void listen_stop(struct grpc_loop *loop) {
    if (loop->listening)
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, loop->listen_fd, NULL);
    loop->listening = false;
}

/* Out of descriptors or memory: the listener would stay readable and spin, so look away. */
static void listen_pause(struct grpc_loop *loop) {
    listen_stop(loop);
    loop->listen_again_ms = clock_mono_ms() + ACCEPT_PAUSE_MS;
    grpc_loop_set_timer(loop, loop->listen_again_ms);
}

static bool is_shortage(int number) {
    return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

static void accept_some(struct grpc_loop *loop) {
    for (int i = 0; i < ACCEPT_COUNT_MAX; i++) {
        int fd = accept4(loop->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (is_shortage(errno))
                listen_pause(loop);
            return;
        }
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        grpc_connection_open(loop, fd);
    }
}

/* --- time ------------------------------------------------------------------------------------- */

void grpc_loop_set_timer(struct grpc_loop *loop, int64_t when_ms) {
    if (when_ms < loop->timer_ms)
        loop->timer_ms = when_ms;
}

static void run_timers(struct grpc_loop *loop) {
    int64_t now_ms = clock_mono_ms();
    if (now_ms < loop->timer_ms)
        return;
    loop->timer_ms = INT64_MAX;
    if (now_ms >= loop->listen_again_ms)
        listen_start(loop);
    grpc_loop_set_timer(loop, loop->listen_again_ms);
    struct grpc_connection *next = NULL;
    for (struct grpc_connection *connection = loop->connections; connection; connection = next) {
        next = connection->next;
        grpc_loop_set_timer(loop, grpc_connection_expire(connection, now_ms));
    }
}

static int wait_ms(const struct grpc_loop *loop) {
    if (loop->timer_ms == INT64_MAX)
        return -1;
    int64_t left_ms = loop->timer_ms - clock_mono_ms();
    return left_ms < 0 ? 0 : left_ms > 60000 ? 60000 : (int)left_ms;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void handle_event(struct grpc_loop *loop, const struct epoll_event *event) {
    if (event->data.ptr == &loop->wake_fd) {
        uint64_t count;
        ssize_t ignored = read(loop->wake_fd, &count, sizeof(count));
        (void)ignored;
    } else if (event->data.ptr == &loop->listen_fd) {
        accept_some(loop);
    } else {
        grpc_connection_handle_events(event->data.ptr, event->events);
    }
}

static void flush_dirty(struct grpc_loop *loop) {
    while (loop->dirty) {
        struct grpc_connection *connection = loop->dirty;
        loop->dirty = connection->dirty_next;
        connection->dirty = false;
        grpc_connection_flush(connection);
    }
}

static void close_connections(struct grpc_loop *loop) {
    while (loop->connections)
        grpc_connection_close(loop->connections);
}

static void shut_connections(struct grpc_loop *loop) {
    for (struct grpc_connection *connection = loop->connections; connection;
         connection = connection->next)
        grpc_connection_shut(connection);
}

/* What stopping asks for in this round; false when the thread may end. */
static bool continue_or_stop(struct grpc_loop *loop, bool *shut) {
    pthread_mutex_lock(&loop->mutex);
    bool stopping = loop->stopping;
    int64_t stop_ms = loop->stop_ms;
    size_t call_count = loop->call_count;
    pthread_mutex_unlock(&loop->mutex);
    if (!stopping)
        return true;
    if (!*shut) {
        *shut = true;
        listen_stop(loop);
        loop->listen_again_ms = INT64_MAX;
        shut_connections(loop);
    }
    if (clock_mono_ms() >= stop_ms)
        close_connections(loop);
    else
        grpc_loop_set_timer(loop, stop_ms);
    return loop->connections || call_count > 0;
}

static void *run(void *argument) {
    struct grpc_loop *loop = argument;
    bool shut = false;
    listen_start(loop);
    while (continue_or_stop(loop, &shut)) {
        flush_dirty(loop);
        struct epoll_event events[EVENT_COUNT];
        int count = epoll_wait(loop->epoll_fd, events, EVENT_COUNT, wait_ms(loop));
        for (int i = 0; i < count; i++)
            handle_event(loop, &events[i]);
        run_timers(loop);
        run_queue(loop);
        flush_dirty(loop);
    }
    return NULL;
}

enum err grpc_loop_start(struct grpc_loop *loop, struct error *error) {
    int failure = pthread_create(&loop->thread, NULL, run, loop);
    if (failure)
        return error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot start a network thread");
    loop->started = true;
    return ERR_OK;
}

void grpc_loop_join(struct grpc_loop *loop) {
    if (loop->started)
        pthread_join(loop->thread, NULL);
    loop->started = false;
}
