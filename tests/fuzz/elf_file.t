#!/bin/bash
# Replays the ELF fuzz target over freshly made files and damaged copies of them.
set -u
cd "$(dirname "$0")/../.." || exit 1
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
target=${BUILD:-build}/fuzz/fuzz_elf_file
failed=0
tests/fuzz/corpus-elf "$corpus" 600
seeds=$(find "$corpus" -type f ! -name 'damaged-*' | wc -l)
echo 1..3

[ "$seeds" -ge 10 ] && echo "ok 1 - the corpus has whole files of many shapes" ||
    { echo "not ok 1 - only $seeds whole files"; failed=1; }

"$target" $(find "$corpus" -type f ! -name 'damaged-*') >"$corpus/out" 2>&1 &&
    echo "ok 2 - every property holds on whole files" ||
    { echo "not ok 2 - every property holds on whole files"; sed 's/^/# /' "$corpus/out"; failed=1; }
rm -f "$corpus/out"

"$target" $(find "$corpus" -name 'damaged-*') >"$corpus/out" 2>&1 &&
    echo "ok 3 - every property holds on damaged files" ||
    { echo "not ok 3 - every property holds on damaged files"; sed 's/^/# /' "$corpus/out"; failed=1; }
exit "$failed"
