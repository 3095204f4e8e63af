#include "api/health_service.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/message.h"
#include "rpc/proto/health.pb-c.h"

#define REQUEST_SIZE_MAX 1024
#define SERVICE_NAME "grpc.health.v1.Health"
#define METHOD_COUNT 2
#define STATUS(name) GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__##name

struct health_service {
    const char *const *names;
    size_t name_count;
    struct grpc_method methods[METHOD_COUNT];
    struct grpc_service grpc;
    pthread_mutex_t mutex; /* for what follows, and the links of the calls */
    bool stopped;
    bool serving;
    struct health_call *watching;
};

struct health_call {
    struct health_service *service;
    struct grpc_call *call;
    struct buffer request;
    bool has_message;
    bool known;
    int told;    /* to who watches; the loop's alone */
    bool posted; /* it will look at what there is to tell */
    bool linked; /* in the service's list: the call is neither finished nor over */
    struct health_call *previous;
    struct health_call *next;
};

/* --- who watches ------------------------------------------------------------------------------ */

static void link_locked(struct health_call *watch) {
    struct health_service *service = watch->service;
    watch->linked = true;
    watch->next = service->watching;
    if (watch->next)
        watch->next->previous = watch;
    service->watching = watch;
}

static void unlink_locked(struct health_call *watch) {
    if (!watch->linked)
        return;
    watch->linked = false;
    if (watch->previous)
        watch->previous->next = watch->next;
    else
        watch->service->watching = watch->next;
    if (watch->next)
        watch->next->previous = watch->previous;
    watch->previous = NULL;
    watch->next = NULL;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void pack_status(int status, struct buffer *buffer) {
    Grpc__Health__V1__HealthCheckResponse response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    response.status = status;
    message_pack(&response.base, buffer);
}

static void send_status(struct grpc_call *call, int status) {
    CLEANUP(buffer_clear) struct buffer message = {0};
    pack_status(status, &message);
    if (buffer_failed(&message))
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "no memory for the answer", NULL);
    else
        grpc_call_send(call, buffer_span(&message));
}

static int status_locked(const struct health_service *service, bool known) {
    if (!known && !service->stopped)
        return STATUS(SERVICE_UNKNOWN);
    return service->serving && !service->stopped ? STATUS(SERVING) : STATUS(NOT_SERVING);
}

/* Sends the status if it is another than the last one. */
static void tell(void *state, struct grpc_call *call) {
    struct health_call *watch = state;
    struct health_service *service = watch->service;
    pthread_mutex_lock(&service->mutex);
    watch->posted = false;
    bool stopped = service->stopped;
    int status = status_locked(service, watch->known);
    if (stopped)
        unlink_locked(watch);
    pthread_mutex_unlock(&service->mutex);
    if (grpc_call_is_over(call))
        return;
    if (status != watch->told)
        send_status(call, status);
    watch->told = status;
    if (stopped)
        grpc_call_finish(call, GRPC_UNAVAILABLE, "the server is shutting down", NULL);
}

static void answer_watch(struct health_call *watch, bool known) {
    struct health_service *service = watch->service;
    watch->known = known;
    pthread_mutex_lock(&service->mutex);
    link_locked(watch);
    pthread_mutex_unlock(&service->mutex);
    tell(watch, watch->call);
}

static void answer_check(const struct health_call *check, bool known) {
    struct health_service *service = check->service;
    pthread_mutex_lock(&service->mutex);
    int status = status_locked(service, known);
    pthread_mutex_unlock(&service->mutex);
    struct buffer response = {0};
    if (known)
        pack_status(status, &response);
    grpc_call_finish(check->call, known ? GRPC_OK : GRPC_NOT_FOUND,
                     known ? NULL : "unknown service", &response);
}

static bool is_known(const struct health_service *service, const char *name) {
    if (name[0] == '\0')
        return true;
    for (size_t i = 0; i < service->name_count; i++)
        if (strcmp(name, service->names[i]) == 0)
            return true;
    return false;
}

/* --- a call ----------------------------------------------------------------------------------- */

static void *health_open(const struct grpc_method *method, struct grpc_call *call) {
    struct health_call *health_call = calloc(1, sizeof(*health_call));
    if (!health_call)
        return NULL;
    health_call->service = method->data;
    health_call->call = call;
    health_call->request.size_max = REQUEST_SIZE_MAX;
    return health_call;
}

static void health_message_begin(void *state, struct grpc_call *call, uint64_t size) {
    (void)size;
    struct health_call *health_call = state;
    if (health_call->has_message)
        grpc_call_finish(call, GRPC_INTERNAL, "more than one request message", NULL);
    health_call->has_message = true;
}

static void health_message_bytes(void *state, struct grpc_call *call, struct span bytes) {
    struct health_call *health_call = state;
    buffer_append(&health_call->request, bytes.data, bytes.size);
    if (buffer_failed(&health_call->request))
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "no memory for the request", NULL);
}

static void health_message_end(void *state, struct grpc_call *call) {
    (void)state;
    (void)call;
}

static void health_request_end(void *state, struct grpc_call *call) {
    struct health_call *health_call = state;
    if (!health_call->has_message) {
        grpc_call_finish(call, GRPC_INTERNAL, "a call without a request message", NULL);
        return;
    }
    CLEANUP(cleanup_message) ProtobufCMessage *message = NULL;
    struct error error;
    enum err err = message_unpack(&grpc__health__v1__health_check_request__descriptor,
                                  buffer_span(&health_call->request), &message, &error);
    if (err != ERR_OK) {
        grpc_call_finish(call,
                         err == ERR_NO_MEMORY ? GRPC_RESOURCE_EXHAUSTED : GRPC_INVALID_ARGUMENT,
                         error.text, NULL);
        return;
    }
    const Grpc__Health__V1__HealthCheckRequest *request = (const void *)message;
    bool known = is_known(health_call->service, request->service);
    if (grpc_call_method(call)->streams_answers)
        answer_watch(health_call, known);
    else
        answer_check(health_call, known);
}

static void health_cancelled(void *state, struct grpc_call *call) {
    (void)call;
    struct health_call *health_call = state;
    pthread_mutex_lock(&health_call->service->mutex);
    unlink_locked(health_call);
    pthread_mutex_unlock(&health_call->service->mutex);
}

static void health_free(void *state) {
    struct health_call *health_call = state;
    assert(!health_call->linked);
    buffer_clear(&health_call->request);
    free(health_call);
}

static const struct grpc_method_functions health_functions = {
    .open = health_open,
    .message_begin = health_message_begin,
    .message_bytes = health_message_bytes,
    .message_end = health_message_end,
    .request_end = health_request_end,
    .cancelled = health_cancelled,
    .free = health_free,
};

/* --- the service ------------------------------------------------------------------------------ */

enum err health_service_new(const char *const *names, size_t name_count,
                            struct health_service **ret_service, struct error *error) {
    struct health_service *service = calloc(1, sizeof(*service));
    if (!service)
        return error_set(error, ERR_NO_MEMORY, "no memory for the health service");
    service->names = names;
    service->name_count = name_count;
    service->serving = true;
    pthread_mutex_init(&service->mutex, NULL);
    service->methods[0] = (struct grpc_method){.name = "Check",
                                               .functions = &health_functions,
                                               .data = service,
                                               .message_size_max = REQUEST_SIZE_MAX};
    service->methods[1] = service->methods[0];
    service->methods[1].name = "Watch";
    service->methods[1].streams_answers = true;
    service->grpc = (struct grpc_service){SERVICE_NAME, service->methods, METHOD_COUNT};
    *ret_service = service;
    return ERR_OK;
}

const struct grpc_service *health_service_grpc(const struct health_service *service) {
    return &service->grpc;
}

/* While a call is in the list it is not over, so that its connection keeps it for the post. */
static void post_all_locked(struct health_service *service) {
    for (struct health_call *watch = service->watching; watch; watch = watch->next) {
        if (!watch->posted)
            grpc_call_post(watch->call, tell);
        watch->posted = true;
    }
}

void health_service_set_serving(struct health_service *service, bool serving) {
    pthread_mutex_lock(&service->mutex);
    bool changed = service->serving != serving;
    service->serving = serving;
    if (changed)
        post_all_locked(service);
    pthread_mutex_unlock(&service->mutex);
}

void health_service_stop(struct health_service *service) {
    pthread_mutex_lock(&service->mutex);
    service->stopped = true;
    post_all_locked(service);
    pthread_mutex_unlock(&service->mutex);
}

void health_service_free(struct health_service *service) {
    if (!service)
        return;
    assert(!service->watching);
    pthread_mutex_destroy(&service->mutex);
    free(service);
}
