#include "api/reflection_service.h"

#include <assert.h>
#include <stdlib.h>

#include "api/descriptor_files.h"
#include "rpc/message.h"
#include "rpc/proto/reflection.pb-c.h"

#define REQUEST_SIZE_MAX 4096
#define NAME_COUNT_MAX 16
#define ASKED(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##name
#define ANSWERED(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##name

static const char *const own_names[REFLECTION_SERVICE_COUNT] = {
    "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"};

struct reflection_service {
    const char *const *names;
    size_t name_count;
    struct grpc_method method;
    struct grpc_service grpc[REFLECTION_SERVICE_COUNT];
};

struct reflection_call {
    const struct reflection_service *service;
    struct buffer request; /* the current one */
};

/* --- answers ---------------------------------------------------------------------------------- */

static void send_response(struct grpc_call *call,
                          const Grpc__Reflection__V1__ServerReflectionResponse *response) {
    CLEANUP(buffer_clear) struct buffer message = {0};
    message_pack(&response->base, &message);
    if (buffer_failed(&message))
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "no memory for the answer", NULL);
    else
        grpc_call_send(call, buffer_span(&message));
}

/* These take the response by value, since what they hang into it ends with them. */

static void answer_error(struct grpc_call *call,
                         Grpc__Reflection__V1__ServerReflectionResponse response,
                         enum grpc_status status, const char *text) {
    Grpc__Reflection__V1__ErrorResponse refusal = GRPC__REFLECTION__V1__ERROR_RESPONSE__INIT;
    refusal.error_code = (int)status;
    refusal.error_message = (char *)text;
    response.message_response_case = ANSWERED(ERROR_RESPONSE);
    response.error_response = &refusal;
    send_response(call, &response);
}

static void answer_file(struct grpc_call *call,
                        Grpc__Reflection__V1__ServerReflectionResponse response, bool found,
                        struct span file) {
    if (!found) {
        answer_error(call, response, GRPC_NOT_FOUND, "no such file or symbol");
        return;
    }
    ProtobufCBinaryData bytes = {file.size, (uint8_t *)file.data};
    Grpc__Reflection__V1__FileDescriptorResponse files =
        GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;
    files.n_file_descriptor_proto = 1;
    files.file_descriptor_proto = &bytes;
    response.message_response_case = ANSWERED(FILE_DESCRIPTOR_RESPONSE);
    response.file_descriptor_response = &files;
    send_response(call, &response);
}

static void answer_list(struct grpc_call *call, const struct reflection_service *service,
                        Grpc__Reflection__V1__ServerReflectionResponse response) {
    Grpc__Reflection__V1__ServiceResponse services[NAME_COUNT_MAX + REFLECTION_SERVICE_COUNT];
    Grpc__Reflection__V1__ServiceResponse *pointers[ARRAY_SIZE(services)];
    Grpc__Reflection__V1__ListServiceResponse list =
        GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
    list.n_service = service->name_count + REFLECTION_SERVICE_COUNT;
    list.service = pointers;
    for (size_t i = 0; i < list.n_service; i++) {
        const char *name = i < service->name_count ? service->names[i]
                                                   : own_names[i - service->name_count];
        grpc__reflection__v1__service_response__init(&services[i]);
        services[i].name = (char *)name;
        pointers[i] = &services[i];
    }
    response.message_response_case = ANSWERED(LIST_SERVICES_RESPONSE);
    response.list_services_response = &list;
    send_response(call, &response);
}

static void answer(struct grpc_call *call, const struct reflection_service *service,
                   Grpc__Reflection__V1__ServerReflectionRequest *request) {
    Grpc__Reflection__V1__ServerReflectionResponse response =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    struct span file = {NULL, 0};
    bool found;
    response.valid_host = request->host;
    response.original_request = request;
    switch (request->message_request_case) {
    case ASKED(LIST_SERVICES):
        answer_list(call, service, response);
        break;
    case ASKED(FILE_BY_FILENAME):
        found = descriptor_file_by_name(span_cstr(request->file_by_filename), &file);
        answer_file(call, response, found, file);
        break;
    case ASKED(FILE_CONTAINING_SYMBOL):
        found = descriptor_file_by_symbol(span_cstr(request->file_containing_symbol), &file);
        answer_file(call, response, found, file);
        break;
    case ASKED(FILE_CONTAINING_EXTENSION):
    case ASKED(ALL_EXTENSION_NUMBERS_OF_TYPE):
        /* proto3, in which all of ours are, has none. */
        answer_error(call, response, GRPC_NOT_FOUND, "there are no extensions");
        break;
    default:
        answer_error(call, response, GRPC_INVALID_ARGUMENT, "the request asks for nothing known");
    }
}

/* --- a call ----------------------------------------------------------------------------------- */

static void *reflection_open(const struct grpc_method *method, struct grpc_call *call) {
    (void)call;
    struct reflection_call *reflection = calloc(1, sizeof(*reflection));
    if (!reflection)
        return NULL;
    reflection->service = method->data;
    reflection->request.size_max = REQUEST_SIZE_MAX;
    return reflection;
}

static void reflection_message_begin(void *state, struct grpc_call *call, uint64_t size) {
    (void)call;
    (void)size;
    struct reflection_call *reflection = state;
    buffer_clear(&reflection->request);
}

static void reflection_message_bytes(void *state, struct grpc_call *call, struct span bytes) {
    struct reflection_call *reflection = state;
    buffer_append(&reflection->request, bytes.data, bytes.size);
    if (buffer_failed(&reflection->request))
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "no memory for the request", NULL);
}

static void reflection_message_end(void *state, struct grpc_call *call) {
    struct reflection_call *reflection = state;
    CLEANUP(cleanup_message) ProtobufCMessage *message = NULL;
    struct error error;
    enum err err = message_unpack(&grpc__reflection__v1__server_reflection_request__descriptor,
                                  buffer_span(&reflection->request), &message, &error);
    if (err == ERR_OK)
        answer(call, reflection->service, (void *)message);
    else
        grpc_call_finish(call,
                         err == ERR_NO_MEMORY ? GRPC_RESOURCE_EXHAUSTED : GRPC_INVALID_ARGUMENT,
                         error.text, NULL);
}

static void reflection_request_end(void *state, struct grpc_call *call) {
    (void)state;
    grpc_call_finish(call, GRPC_OK, NULL, NULL);
}

static void reflection_free(void *state) {
    struct reflection_call *reflection = state;
    buffer_clear(&reflection->request);
    free(reflection);
}

static const struct grpc_method_functions reflection_functions = {
    .open = reflection_open,
    .message_begin = reflection_message_begin,
    .message_bytes = reflection_message_bytes,
    .message_end = reflection_message_end,
    .request_end = reflection_request_end,
    .free = reflection_free,
};

/* --- the service ------------------------------------------------------------------------------ */

enum err reflection_service_new(const char *const *names, size_t name_count,
                                struct reflection_service **ret_service, struct error *error) {
    assert(name_count <= NAME_COUNT_MAX);
    struct reflection_service *service = calloc(1, sizeof(*service));
    if (!service)
        return error_set(error, ERR_NO_MEMORY, "no memory for the reflection service");
    service->names = names;
    service->name_count = name_count;
    service->method = (struct grpc_method){.name = "ServerReflectionInfo",
                                           .functions = &reflection_functions,
                                           .data = service,
                                           .message_size_max = REQUEST_SIZE_MAX,
                                           .streams_answers = true};
    for (size_t i = 0; i < REFLECTION_SERVICE_COUNT; i++)
        service->grpc[i] = (struct grpc_service){own_names[i], &service->method, 1};
    *ret_service = service;
    return ERR_OK;
}

const struct grpc_service *reflection_service_grpc(const struct reflection_service *service,
                                                   size_t number) {
    assert(number < REFLECTION_SERVICE_COUNT);
    return &service->grpc[number];
}

void reflection_service_free(struct reflection_service *service) {
    free(service);
}
