#!/usr/bin/python3
"""Relocatable files of every machine whose relocations we apply."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "symbols"))
import images
import objects
from tap import Tap, skip_all

# Target -> its instruction that does nothing.
TARGETS = {
    "x86_64-linux-gnu": "nop",
    "i386-linux-gnu": "nop",
    "aarch64-linux-gnu": "nop",
    "aarch64_be-linux-gnu": "nop",
    "armv7-linux-gnueabihf": "nop",
    "thumbv7-linux-gnueabihf": "nop",
    "powerpc64-linux-gnu": "nop",
    "powerpc64le-linux-gnu": "nop",
    "powerpc-linux-gnu": "nop",
    "s390x-linux-gnu": "bcr 0, %r0",
    "riscv64-linux-gnu": "nop",
    "riscv32-linux-gnu": "nop",
    "mips-linux-gnu": "nop",
    "mips64-linux-gnuabi64": "nop",
    "mips64el-linux-gnuabi64": "nop",
    "sparc64-linux-gnu": "nop",
}


def main():
    missing = [tool for tool in ("clang", "llvm-nm") if not shutil.which(tool)]
    if missing:
        skip_all(f"not installed: {' '.join(missing)}")
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "object.o")
        for target, nop in TARGETS.items():
            with open(os.path.join(folder, objects.FILE), "w", encoding="ascii") as file:
                file.write(objects.source(nop))
            for version in (4, 5):
                images.run("clang", "-target", target, "-O1", "-g", "-fintegrated-as", f"-gdwarf-{version}",
                           "-c", objects.FILE, "-o", path, cwd=folder)
                objects.check(tap, path, f"{target}, DWARF {version}", tool="llvm-nm")
    tap.finish()


if __name__ == "__main__":
    main()
