#include "base/symbol.h"

const char *symbol_origin_name(enum symbol_origin origin) {
    switch (origin) {
    case SYMBOL_ORIGIN_DWARF:
        return "dwarf";
    case SYMBOL_ORIGIN_GOPCLNTAB:
        return "gopclntab";
    case SYMBOL_ORIGIN_SYMTAB:
        return "symtab";
    case SYMBOL_ORIGIN_DYNSYM:
        return "dynsym";
    case SYMBOL_ORIGIN_NONE:
        break;
    }
    return "none";
}

const char *symbol_miss_name(enum symbol_miss miss) {
    switch (miss) {
    case SYMBOL_MISS_NO_RANGE:
        return "no_range";
    case SYMBOL_MISS_NO_LINE:
        return "no_line";
    case SYMBOL_MISS_INLINE_UNAVAILABLE:
        return "inline_unavailable";
    case SYMBOL_MISS_DENIED:
        return "denied";
    case SYMBOL_MISS_NONE:
        break;
    }
    return NULL;
}
