#!/usr/bin/python3
"""What gold and lld leave of code that they drop does not show: each has tombstones of its own."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dwarf"))
import corpus
from tap import Tap, skip_all

LINKERS = [name for name in ("gold", "lld") if shutil.which(f"ld.{name}")]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


def variants(linker):
    return {
        f"{linker}, DWARF {version} {pie.split()[0]}": corpus.Variant(
            {"CFLAGS": f"-O2 -g -gdwarf-{version} -ffunction-sections {pie}",
             "LDFLAGS": f"-fuse-ld={linker} -Wl,--gc-sections"}, None, True)
        for version in (4, 5) for pie in ("-fpie -pie", "-fno-pie -no-pie")
    }


if not LINKERS:
    skip_all("neither gold nor lld is installed")
tap = Tap()
for compiler in COMPILERS:
    for linker in LINKERS:
        corpus.check_variants(tap, variants(linker), compiler)
tap.finish()
