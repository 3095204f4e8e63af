#include "api/symbolize_request.h"

#include <jansson.h>
#include <stdio.h>

#include "base/hash.h"

/*
 * jansson makes a tree of the body first, at up to some hundred bytes per container and per value.
 * A valid request has few containers and at most two values per address (the address and a place
 * in "ret"), so counting the bytes that begin them bounds the tree before it is made.
 */
#define CONTAINER_COUNT_MAX (64 + 8 * SYMBOLIZE_MODULE_COUNT_MAX)
#define VALUE_COUNT_MAX (64 + 2 * SYMBOLIZE_ADDRESS_COUNT_MAX + 32 * SYMBOLIZE_MODULE_COUNT_MAX)

static void cleanup_json(json_t **value) {
    json_decref(*value);
}

/* Where in the document we are, for messages. */
struct place {
    char text[96];
};

static struct place place_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

static struct place place_of(const char *format, ...) {
    struct place place;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(place.text, sizeof(place.text), format, arguments);
    va_end(arguments);
    return place;
}

static enum err check_counts(struct span body, struct error *error) {
    size_t containers = 0;
    size_t values = 0;
    for (size_t i = 0; i < body.size; i++) {
        containers += body.data[i] == '[' || body.data[i] == '{';
        values += body.data[i] == ',';
    }
    if (containers > CONTAINER_COUNT_MAX || values > VALUE_COUNT_MAX)
        return error_set(error, ERR_LIMIT,
                         "the request has more values than %zu modules and %zu addresses need",
                         SYMBOLIZE_MODULE_COUNT_MAX, SYMBOLIZE_ADDRESS_COUNT_MAX);
    return ERR_OK;
}

static enum err load(struct span body, json_t **ret_root, struct error *error) {
    enum err err = check_counts(body, error);
    if (err != ERR_OK)
        return err;
    json_error_t json_error;
    json_t *root = json_loadb(body.data, body.size, JSON_REJECT_DUPLICATES, &json_error);
    if (!root && json_error_code(&json_error) == json_error_out_of_memory)
        return error_set(error, ERR_NO_MEMORY, "no memory to parse the request");
    if (!root)
        return error_set(error, ERR_MALFORMED, "line %d column %d: %s", json_error.line,
                         json_error.column, json_error.text);
    *ret_root = root;
    return ERR_OK;
}

/* The value is an object and has no members but those named (NULL-terminated). */
static enum err check_object(const json_t *value, const char *const *members, const char *where,
                             struct error *error) {
    if (!json_is_object(value))
        return error_set(error, ERR_INVALID, "%s: want an object", where);
    const char *key;
    json_t *ignored;
    json_object_foreach((json_t *)value, key, ignored) {
        size_t i = 0;
        while (members[i] && strcmp(members[i], key) != 0)
            i++;
        if (!members[i])
            return error_set(error, ERR_INVALID, "%s: unknown member \"%.64s\"", where, key);
    }
    return ERR_OK;
}

static enum err parse_address(const json_t *value, const char *where, uint64_t *ret_address,
                              struct error *error) {
    const char *text = json_string_value(value);
    size_t size = json_string_length(value);
    uint64_t address = 0;
    bool good = text && size > 2 && size <= 18 && text[0] == '0' && (text[1] | 0x20) == 'x';
    for (size_t i = 2; good && i < size; i++) {
        int digit = hex_digit_value(text[i]);
        good = digit >= 0;
        address = address << 4 | (uint64_t)(good ? digit : 0);
    }
    if (!good)
        return error_set(error, ERR_INVALID,
                         "%s: want a string with 1 to 16 hex digits, such as \"0x1a2b\"", where);
    *ret_address = address;
    return ERR_OK;
}

/* A member that is a string; an absent one leaves *ret_text as it is. */
static enum err parse_text(const json_t *object, const char *key, const char *where,
                           size_t size_max, struct span *ret_text, struct error *error) {
    const json_t *value = json_object_get(object, key);
    if (!value)
        return ERR_OK;
    if (!json_is_string(value))
        return error_set(error, ERR_INVALID, "%s.%s: want a string", where, key);
    if (json_string_length(value) > size_max)
        return error_set(error, ERR_LIMIT, "%s.%s: want at most %zu bytes", where, key, size_max);
    *ret_text = span_of(json_string_value(value), json_string_length(value));
    return ERR_OK;
}

static enum err parse_bool(const json_t *object, const char *key, bool *ret_value,
                           struct error *error) {
    const json_t *value = json_object_get(object, key);
    if (value && !json_is_boolean(value))
        return error_set(error, ERR_INVALID, "options.%s: want true or false", key);
    if (value)
        *ret_value = json_is_true(value);
    return ERR_OK;
}

static enum err parse_options(const json_t *options, struct symbolize_request *request,
                              struct error *error) {
    static const char *const members[] = {"inlines", "demangle", "wait_ms", NULL};
    if (!options)
        return ERR_OK;
    enum err err = check_object(options, members, "options", error);
    if (err == ERR_OK)
        err = parse_bool(options, "inlines", &request->inlines, error);
    if (err == ERR_OK)
        err = parse_bool(options, "demangle", &request->demangle, error);
    if (err != ERR_OK)
        return err;
    const json_t *wait = json_object_get(options, "wait_ms");
    if (!wait)
        return ERR_OK;
    json_int_t wait_ms = json_integer_value(wait);
    if (!json_is_integer(wait) || wait_ms < 0 || wait_ms > SYMBOLIZE_WAIT_MS_MAX)
        return error_set(error, ERR_INVALID, "options.wait_ms: want an integer from 0 to %d",
                         SYMBOLIZE_WAIT_MS_MAX);
    request->wait_ms = wait_ms;
    return ERR_OK;
}

static enum err parse_id(const json_t *object, const char *where, struct binary_id *ret_id,
                         struct error *error) {
    struct span text = {0};
    struct span kind_name = span_cstr("gnu");
    enum binary_id_kind kind;
    enum err err = parse_text(object, "build_id", where, BINARY_ID_TEXT_MAX, &text, error);
    if (err == ERR_OK)
        err = parse_text(object, "id_kind", where, BINARY_ID_TEXT_MAX, &kind_name, error);
    if (err != ERR_OK)
        return err;
    if (!text.data)
        return error_set(error, ERR_INVALID, "%s.build_id: missing", where);
    if (!binary_id_kind_from_name(kind_name, &kind))
        return error_set(error, ERR_INVALID, "%s.id_kind: want gnu, go, htlhash or uuid", where);
    err = binary_id_parse(kind, text, ret_id, error);
    return err == ERR_OK ? ERR_OK : error_prefix(error, "%s.build_id", where);
}

static enum err parse_mapping(const json_t *mapping, const char *where,
                              struct address_mapping *ret_mapping, struct error *error) {
    static const char *const members[] = {"start", "limit", "offset", NULL};
    struct place place = place_of("%s.mapping", where);
    if (!mapping)
        return error_set(error, ERR_INVALID, "%s: missing; runtime addresses need it", place.text);
    enum err err = check_object(mapping, members, place.text, error);
    uint64_t values[3];
    for (size_t i = 0; err == ERR_OK && i < 3; i++) {
        struct place member = place_of("%s.%s", place.text, members[i]);
        err = parse_address(json_object_get(mapping, members[i]), member.text, &values[i], error);
    }
    if (err != ERR_OK)
        return err;
    *ret_mapping = (struct address_mapping){values[0], values[1], values[2]};
    if (ret_mapping->start >= ret_mapping->limit)
        return error_set(error, ERR_INVALID, "%s: want start below limit", place.text);
    if (ret_mapping->offset > UINT64_MAX - (ret_mapping->limit - ret_mapping->start))
        return error_set(error, ERR_INVALID, "%s.offset: too large", place.text);
    return ERR_OK;
}

static enum err parse_address_kind(const json_t *object, const char *where,
                                   struct symbolize_module *module, struct error *error) {
    static const char *const names[] = {"elf", "file_offset", "runtime"};
    struct span name = span_cstr(names[ADDRESS_ELF]);
    enum err err = parse_text(object, "address_kind", where, 64, &name, error);
    if (err != ERR_OK)
        return err;
    size_t kind = 0;
    while (kind < ARRAY_SIZE(names) && !span_equal_cstr(name, names[kind]))
        kind++;
    if (kind == ARRAY_SIZE(names))
        return error_set(error, ERR_INVALID, "%s.address_kind: want elf, file_offset or runtime",
                         where);
    module->address_kind = (enum address_kind)kind;
    const json_t *mapping = json_object_get(object, "mapping");
    if (module->address_kind == ADDRESS_RUNTIME)
        return parse_mapping(mapping, where, &module->mapping, error);
    if (mapping)
        return error_set(error, ERR_INVALID,
                         "%s.mapping: only for modules with address_kind runtime", where);
    return ERR_OK;
}

static enum err parse_addresses(const json_t *list, const char *where, struct arena *arena,
                                struct symbolize_module *module, struct error *error) {
    if (!json_is_array(list))
        return error_set(error, ERR_INVALID, "%s.addresses: want a list of addresses", where);
    size_t count = json_array_size(list);
    uint64_t *addresses = arena_alloc(arena, count * sizeof(*addresses));
    if (!addresses)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu addresses", count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        /* The place is only spelled out once there is something to say about it. */
        if (parse_address(value, "address", &addresses[i], error) != ERR_OK) {
            struct place place = place_of("%s.addresses[%zu]", where, i);
            return parse_address(value, place.text, &addresses[i], error);
        }
    }
    module->addresses = addresses;
    module->address_count = count;
    return ERR_OK;
}

static enum err parse_return_marks(const json_t *list, const char *where, struct arena *arena,
                                   struct symbolize_module *module, struct error *error) {
    if (!list)
        return ERR_OK;
    if (!json_is_array(list))
        return error_set(error, ERR_INVALID, "%s.ret: want a list of positions in addresses",
                         where);
    bool *is_return = arena_alloc(arena, module->address_count);
    if (!is_return)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu marks", module->address_count);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        json_int_t position = json_integer_value(value);
        if (!json_is_integer(value) || position < 0 || (uint64_t)position >= module->address_count)
            return error_set(error, ERR_INVALID,
                             "%s.ret[%zu]: want a position in addresses, 0 "
                             "to %zu",
                             where, i, module->address_count ? module->address_count - 1 : 0);
        is_return[position] = true;
    }
    module->is_return = is_return;
    return ERR_OK;
}

static enum err parse_module(const json_t *object, size_t position, struct arena *arena,
                             struct symbolize_module *module, struct error *error) {
    static const char *const members[] = {"build_id",  "id_kind", "name",    "address_kind",
                                          "addresses", "ret",     "mapping", NULL};
    struct place place = place_of("modules[%zu]", position);
    const char *where = place.text;
    enum err err = check_object(object, members, where, error);
    if (err == ERR_OK)
        err = parse_id(object, where, &module->id, error);
    if (err == ERR_OK)
        err = parse_text(object, "name", where, SYMBOLIZE_NAME_SIZE_MAX, &module->name, error);
    if (err == ERR_OK)
        err = parse_address_kind(object, where, module, error);
    if (err == ERR_OK)
        err = parse_addresses(json_object_get(object, "addresses"), where, arena, module, error);
    if (err == ERR_OK)
        err = parse_return_marks(json_object_get(object, "ret"), where, arena, module, error);
    if (err != ERR_OK)
        return err;
    if (module->name.size) {
        module->name = arena_copy(arena, module->name);
        if (!module->name.data)
            return error_set(error, ERR_NO_MEMORY, "no memory for a module's name");
    }
    return ERR_OK;
}

static enum err parse_modules(const json_t *list, struct arena *arena,
                              struct symbolize_request *request, struct error *error) {
    if (!json_is_array(list))
        return error_set(error, ERR_INVALID, "modules: want a list of modules");
    size_t count = json_array_size(list);
    if (count > SYMBOLIZE_MODULE_COUNT_MAX)
        return error_set(error, ERR_LIMIT, "modules: %zu of them; want at most %zu", count,
                         SYMBOLIZE_MODULE_COUNT_MAX);
    size_t address_count = 0;
    for (size_t i = 0; i < count; i++)
        address_count += json_array_size(json_object_get(json_array_get(list, i), "addresses"));
    if (address_count > SYMBOLIZE_ADDRESS_COUNT_MAX)
        return error_set(error, ERR_LIMIT, "%zu addresses in all modules; want at most %zu",
                         address_count, SYMBOLIZE_ADDRESS_COUNT_MAX);
    struct symbolize_module *modules = arena_alloc(arena, count * sizeof(*modules));
    if (!modules)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu modules", count);
    for (size_t i = 0; i < count; i++) {
        enum err err = parse_module(json_array_get(list, i), i, arena, &modules[i], error);
        if (err != ERR_OK)
            return err;
    }
    request->modules = modules;
    request->module_count = count;
    return ERR_OK;
}

enum err symbolize_request_parse(struct span body, struct arena *arena,
                                 struct symbolize_request *ret_request, struct error *error) {
    static const char *const members[] = {"modules", "options", NULL};
    CLEANUP(cleanup_json) json_t *root = NULL;
    struct symbolize_request request = {.inlines = true, .demangle = true};
    enum err err = load(body, &root, error);
    if (err == ERR_OK)
        err = check_object(root, members, "the request", error);
    if (err == ERR_OK)
        err = parse_options(json_object_get(root, "options"), &request, error);
    if (err == ERR_OK)
        err = parse_modules(json_object_get(root, "modules"), arena, &request, error);
    if (err == ERR_OK)
        *ret_request = request;
    return err;
}
