#!/bin/bash
# Replays the .gnu_debugdata fuzz target over freshly made streams and damaged copies of them.
set -u
cd "$(dirname "$0")/../.." || exit 1
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
target=${BUILD:-build}/fuzz/fuzz_minidebug
failed=0
tests/fuzz/corpus-minidebug "$corpus" 400
seeds=$(find "$corpus" -type f -name 'seed-*' | wc -l)
echo 1..2

[ "$seeds" -eq 6 ] && echo "ok 1 - the corpus has streams of every kind" ||
    { echo "not ok 1 - only $seeds streams"; failed=1; }

"$target" "$corpus"/* >"$corpus.out" 2>&1 &&
    echo "ok 2 - every property holds on whole and damaged streams" ||
    { echo "not ok 2 - every property holds on whole and damaged streams"
      sed 's/^/# /' "$corpus.out"; failed=1; }
rm -f "$corpus.out"
exit "$failed"
