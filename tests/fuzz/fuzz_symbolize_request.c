/*
 * Property: whatever the body, the parser answers a request that keeps every bound the header
 * promises, or one of its documented failures with a text.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/symbolize_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t check_module(const struct symbolize_module *module) {
    struct error error;
    struct binary_id again;
    enum err err = binary_id_parse(module->id.kind, span_cstr(module->id.text), &again, &error);
    assert(err == ERR_OK && binary_id_equal(&module->id, &again));
    assert(module->name.size <= SYMBOLIZE_NAME_SIZE_MAX);
    if (module->address_kind == ADDRESS_RUNTIME) {
        const struct address_mapping *mapping = &module->mapping;
        assert(mapping->start < mapping->limit);
        assert(mapping->offset <= UINT64_MAX - (mapping->limit - mapping->start));
    }
    /* A sanitizer sees whether all of both arrays is there. */
    bool nothing = module->address_count == 0;
    uint64_t any = 0;
    for (size_t i = 0; i < module->address_count; i++)
        any |= module->addresses[i] | (module->is_return && module->is_return[i]) | 1;
    assert(nothing == (any == 0));
    return module->address_count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CLEANUP(cleanup_arena) struct arena *arena = arena_new((size_t)64 << 20);
    struct symbolize_request request;
    struct error error = {0};
    enum err err = symbolize_request_parse(span_of(data, size), arena, &request, &error);
    if (err != ERR_OK) {
        assert(err == ERR_MALFORMED || err == ERR_INVALID || err == ERR_LIMIT ||
               err == ERR_NO_MEMORY);
        assert(error.code == err && error.text[0]);
        return 0;
    }
    assert(request.module_count <= SYMBOLIZE_MODULE_COUNT_MAX);
    assert(request.wait_ms >= 0 && request.wait_ms <= SYMBOLIZE_WAIT_MS_MAX);
    size_t address_count = 0;
    for (size_t i = 0; i < request.module_count; i++)
        address_count += check_module(&request.modules[i]);
    assert(address_count <= SYMBOLIZE_ADDRESS_COUNT_MAX);
    return 0;
}
