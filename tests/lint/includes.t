#!/bin/bash
# The include lint passes on the tree, and fails on each kind of violation made on purpose.
set -u
cd "$(dirname "$0")/../.." || exit 1
count=0
failed=0

result() { # description, 0 for ok
    count=$((count + 1))
    [ "$2" = 0 ] && echo "ok $count - $1" || { echo "not ok $count - $1"; failed=1; }
}

violates() { # description, file, include line
    tree=$(mktemp -d)
    mkdir -p "$tree/$(dirname "$2")"
    echo "$3" >"$tree/$2"
    scripts/lint-includes "$tree" >"$tree/out" 2>&1
    [ $? = 1 ] && grep -q "^$2:1: " "$tree/out"
    result "$1" $?
    rm -rf "$tree"
}

scripts/lint-includes .
result "the tree keeps the include directions" $?
violates "base may not include debuginfo" base/x.c '#include "debuginfo/elf_file.h"'
violates "debuginfo may not include gopclntab" debuginfo/x.c '#include "gopclntab/table.h"'
violates "the server side may not include the parsers" api/x.c '#include "debuginfo/elf_file.h"'
violates "ingest may not include the build side" ingest/x.c '#include "symbolizer/build/build.h"'
violates "an include names its folder" cache/x.c '#include "catalog.h"'
violates "internal headers stay inside their folder" api/x.c '#include "ingest/upload_internal.h"'
violates "libelf stays in debuginfo" symbolizer/build/x.c '#include <libelf.h>'
violates "SQLite stays in cache" ingest/x.c '#include <sqlite3.h>'
echo "1..$count"
exit "$failed"
