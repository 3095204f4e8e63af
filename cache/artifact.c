#include "cache/artifact.h"

const char *artifact_type_name(enum artifact_type type) {
    switch (type) {
    case ARTIFACT_DEBUGINFO:
        return "debuginfo";
    case ARTIFACT_EXECUTABLE:
        return "executable";
    case ARTIFACT_SOURCES:
        return "sources";
    case ARTIFACT_SOURCE_MAP:
        return "source_map";
    }
    return "unknown";
}
