#!/usr/bin/python3
"""symbolize answers as llvm-symbolizer 19 and libdw do about real debug files, or says why not.

Two small files are asked 5,000 addresses each; with REAL_FILES=all in the environment, all files of
real_files.py, 100,000 each (some minutes, and a gigabyte of downloads). REAL_FILES_ADDRESSES and
REAL_FILES_SEED change the numbers.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import real_files
from tap import Tap, skip_all

ALL = os.environ.get("REAL_FILES") == "all"
ADDRESSES = int(os.environ.get("REAL_FILES_ADDRESSES", "100000" if ALL else "5000"))
SEED = int(os.environ.get("REAL_FILES_SEED", "1"))
SHOWN = 5


def check(tap, file, folder):
    try:
        path = real_files.obtain(file, folder)
    except real_files.Unavailable as reason:
        tap.skip(f"{file.name}: compared", f"{file.package} {file.version}: {reason}")
        return
    outcome = real_files.compare(path, ADDRESSES, SEED)
    lines = list(outcome.lines(SHOWN))
    print("\n".join(f"# {file.name}: {line}" for line in lines), flush=True)
    tap.ok(outcome.is_good(), f"{file.name}: every difference from llvm-symbolizer is explained")
    tap.ok(not outcome.direct, f"{file.name}: the file itself says what its index says")
    tap.ok(not outcome.libdw, f"{file.name}: our reader and libdw say the same")


def check_planted_faults(tap):
    """Whatever is changed in an answer, no class may take it for one of its own."""
    symbols = real_files.Symbols(real_files.SYMBOLIZE)
    address = symbols.by_name["main"][0].address
    right = [real_files.Frame("inlined", "src/a.c", 3, 4, 1),
             real_files.Frame("main", "src/a.c", 9, 1, 7)]
    taken = []
    for i, frame in enumerate(right):
        for field in frame._fields:
            for wrong in (["other", ""] if field in ("name", "file") else [2, 0]):
                answer = list(right)
                answer[i] = frame._replace(**{field: wrong})
                names, is_explained = real_files.explain(
                    real_files.Difference(address, answer, right, symbols))
                if is_explained:
                    taken.append(f"frame {i}, {field} {wrong!r}: {names}")
    for answer in (right[:1], right[1:], right + right):
        if real_files.explain(real_files.Difference(address, answer, right, symbols))[1]:
            taken.append(f"{len(answer)} frames")
    tap.ok(not taken, "a wrong name, file, line, column or depth is in no class", taken)


def main():
    if not shutil.which(real_files.LLVM):
        skip_all(f"{real_files.LLVM} is not installed")
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        skip_all("only Debian's tools can fetch the files")
    tap = Tap()
    missing = real_files.undocumented()
    tap.ok(not missing, "docs/DIFFERENCES.md explains every class of differences", missing)
    check_planted_faults(tap)
    print(f"# {ADDRESSES} addresses of each file, seed {SEED}", flush=True)
    with real_files.cache_folder() as folder:
        for file in real_files.FILES:
            if file.is_small or ALL:
                check(tap, file, folder)
    tap.finish()


main()
