/* Words that the stores, the upload core and the surfaces share about what is kept. */
#pragma once

#include "base/span.h"

/* What an upload is. Stored in the catalog: values are never reused. */
enum artifact_type {
    ARTIFACT_DEBUGINFO = 1,
    ARTIFACT_EXECUTABLE = 2,
    ARTIFACT_SOURCES = 3,
    ARTIFACT_SOURCE_MAP = 4,
};

/* "debuginfo", "executable", "sources", "source_map". */
const char *artifact_type_name(enum artifact_type type);

/* Kinds of symbol data inside an ELF object; a set, stored in the catalog. */
enum contents_flags {
    CONTENTS_DWARF = 1u << 0,
    CONTENTS_PCLNTAB = 1u << 1,
    CONTENTS_SYMTAB = 1u << 2,
    CONTENTS_DYNSYM = 1u << 3,
};

/* How far a stored name is proven. Stored in the catalog: values are never reused. */
enum verification {
    VERIFICATION_NONE = 0, /* the uploader said so */
    VERIFICATION_NOTE = 1, /* the note inside equals it */
    VERIFICATION_HASH = 2, /* computed from the whole bytes */
};
