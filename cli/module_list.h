/*
 * The files of one run, each opened when it is first asked about: ELF files, or symbol indexes,
 * which are told by their first bytes. A file that could not be opened is remembered with its
 * reason. At most MODULE_COUNT_MAX are open; the one that was asked about longest ago makes room.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cli/debug_files.h"
#include "symbolizer/build/object_resolver.h"
#include "symbolizer/index/index.h"

#define MODULE_COUNT_MAX 64

struct module {
    char *path; /* or the build ID by which it is to be found */
    bool path_is_build_id;
    struct object_resolver *resolver; /* of an ELF file */
    struct index *index;              /* of a symbol index; both NULL: failure says why */
    struct arena *strings;            /* of the index's last answer */
    struct error failure;
    bool is_reported;        /* the caller's mark: it has said so */
    unsigned address_digits; /* 8 for a 32-bit file, else 16 */
    uint64_t last_use;
};

struct module_list {
    const char *debug_file;       /* goes with every module; NULL: one is looked for */
    const char *package;          /* likewise a .dwp */
    struct debug_folders folders; /* where they are looked for */
    bool relative_names;          /* files as they are below their compilation directories */
    struct module modules[MODULE_COUNT_MAX];
    size_t count;
    uint64_t use_count;
};

void module_list_clear(struct module_list *list);

/* What a file goes by. */
struct module_name {
    struct span text;
    bool is_build_id; /* hexadecimal; its debug file is looked for in the folders */
};

/* Valid until the next call. ERR_NO_MEMORY; that the file cannot be read is in the module. */
enum err module_list_get(struct module_list *list, struct module_name name,
                         struct module **ret_module, struct error *error);

/* Nothing could be opened, and module->failure says why. */
static inline bool module_failed(const struct module *module) {
    return !module->resolver && !module->index;
}

/*
 * The address of an offset in a section of the file; of a plain number, when `section` is empty, in
 * a relocatable file the address in its code that it stands for there, else itself. False when
 * there is no such section, as in every index.
 */
bool module_address(const struct module *module, struct span section, uint64_t offset,
                    uint64_t *ret_address);

/* The symbols of that name; in an index there are none. */
size_t module_symbols(const struct module *module, struct span name,
                      struct named_symbol *ret_symbols, size_t count_max);
/* What covers an address of data; false also in every index. */
bool module_data(const struct module *module, uint64_t address, struct named_symbol *ret_symbol);

/* Leaf first; no frames where nothing is known. The frames' strings are valid until the next call
 * for this module. Errors are object_resolver_resolve's. */
enum err module_resolve(struct module *module, uint64_t address, struct frame_list *frames,
                        struct error *error);
