#!/bin/bash
# Replays the index-building fuzz target over freshly made files and damaged copies of them.
set -u
cd "$(dirname "$0")/../.." || exit 1
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
target=${BUILD:-build}/fuzz/fuzz_build
tests/fuzz/corpus-elf "$corpus" 600
echo 1..1
"$target" $(find "$corpus" -type f) >"$corpus.out" 2>&1 &&
    echo "ok 1 - an index verifies, or there is a reason why there is none" ||
    { echo "not ok 1 - an index verifies, or there is a reason why there is none"
      sed 's/^/# /' "$corpus.out"; }
rm -f "$corpus.out"
