#include "api/debuginfo_ids.h"

#include "rpc/proto/debuginfo.pb-c.h"

#define BUILD_ID_SIZE_MIN 3

static enum err parse_unknown_kind(struct span text, struct binary_id *ret_id,
                                   struct error *error) {
    struct error ignored;
    if (binary_id_parse(BINARY_ID_GNU, text, ret_id, error) == ERR_OK)
        return ERR_OK;
    /* An all-zero or overlong hex text is a broken GNU id, not a Go one. */
    if (strspn(text.data, "0123456789abcdefABCDEF") == text.size)
        return error->code;
    if (binary_id_parse(BINARY_ID_UUID, text, ret_id, &ignored) == ERR_OK ||
        binary_id_parse(BINARY_ID_GO, text, ret_id, &ignored) == ERR_OK)
        return ERR_OK;
    return error->code;
}

enum err debuginfo_id_parse(const char *build_id, int build_id_type, struct binary_id *ret_id,
                            struct error *error) {
    struct span text = span_cstr(build_id);
    if (text.size < BUILD_ID_SIZE_MIN)
        return error_set(error, ERR_INVALID, "unexpectedly short input");
    switch (build_id_type) {
    case PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_UNKNOWN_UNSPECIFIED:
        return parse_unknown_kind(text, ret_id, error);
    case PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_GNU:
        return binary_id_parse(BINARY_ID_GNU, text, ret_id, error);
    case PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_HASH:
        return binary_id_parse(BINARY_ID_HTLHASH, text, ret_id, error);
    case PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_GO:
        return binary_id_parse(BINARY_ID_GO, text, ret_id, error);
    case PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_SOURCE_MAP_DEBUG_ID:
        return binary_id_parse(BINARY_ID_UUID, text, ret_id, error);
    default:
        return error_set(error, ERR_INVALID, "unknown build_id_type %d", build_id_type);
    }
}

enum err debuginfo_type_parse(int debuginfo_type, enum artifact_type *ret_type,
                              struct error *error) {
    switch (debuginfo_type) {
    case PARCA__DEBUGINFO__V1ALPHA1__DEBUGINFO_TYPE__DEBUGINFO_TYPE_DEBUGINFO_UNSPECIFIED:
        *ret_type = ARTIFACT_DEBUGINFO;
        return ERR_OK;
    case PARCA__DEBUGINFO__V1ALPHA1__DEBUGINFO_TYPE__DEBUGINFO_TYPE_EXECUTABLE:
        *ret_type = ARTIFACT_EXECUTABLE;
        return ERR_OK;
    case PARCA__DEBUGINFO__V1ALPHA1__DEBUGINFO_TYPE__DEBUGINFO_TYPE_SOURCES:
        *ret_type = ARTIFACT_SOURCES;
        return ERR_OK;
    case PARCA__DEBUGINFO__V1ALPHA1__DEBUGINFO_TYPE__DEBUGINFO_TYPE_SOURCE_MAP:
        *ret_type = ARTIFACT_SOURCE_MAP;
        return ERR_OK;
    default:
        return error_set(error, ERR_INVALID, "unknown debuginfo type %d", debuginfo_type);
    }
}
