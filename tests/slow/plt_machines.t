#!/usr/bin/python3
"""Stubs of other machines and linkers are named as llvm-objdump names them."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "symbols"))
import images
import plt
from tap import Tap, skip_all

TARGETS = {
    "x86-64 by lld": ("x86_64-linux-gnu", [], []),
    "i386 by lld": ("i386-linux-gnu", [], []),
    "AArch64": ("aarch64-linux-gnu", [], []),
    "AArch64, branch protection": ("aarch64-linux-gnu", ["-mbranch-protection=standard"],
                                   ["-z", "force-bti", "-z", "pac-plt"]),
}

# llvm-objdump does not name these; objdump does.
IBT = ("x86_64-linux-gnu", ["-fcf-protection=full"], ["-z", "force-ibt"])

# llvm-objdump names no stubs of these machines; the order of the calls is that of the stubs.
UNNAMED_TARGETS = {"ARM": ("armv7-linux-gnueabihf", 32, 16),
                   "Thumb": ("thumbv7-linux-gnueabihf", 32, 16),
                   "RISC-V": ("riscv64-linux-gnu", 32, 16)}


def build(folder, target, compile_flags, link_flags):
    obj, path = os.path.join(folder, "code.o"), os.path.join(folder, "library")
    images.compile_c(obj, plt.SOURCE, "-target", target, "-O1", "-fPIC", "-c", *compile_flags,
                     compiler="clang")
    images.run("ld.lld", "-shared", obj, "-o", path, *link_flags)
    return path


def plt_start(path):
    for line in images.run("llvm-readelf", "-S", "--wide", path).splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 3 and words[1] == ".plt":
            return int(words[3], 16)
    raise ValueError("no .plt")


def main():
    missing = [tool for tool in ("clang", "ld.lld", "llvm-objdump") if not shutil.which(tool)]
    if missing:
        skip_all(f"not installed: {' '.join(missing)}")
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, (target, compile_flags, link_flags) in TARGETS.items():
            path = build(folder, target, compile_flags, link_flags)
            plt.check(tap, path, "llvm-objdump", name, 3)
        plt.check(tap, build(folder, *IBT), "objdump", "x86-64 by lld, branch protection", 3)
        for name, (target, first_size, size) in UNNAMED_TARGETS.items():
            path = build(folder, target, [], [])
            start = plt_start(path)
            got = images.names_at(path, range(start, start + first_size + 3 * size, 4))
            want = ["??"] * (first_size // 4) + [f"ext_{letter}@plt" for letter in "abc"
                                                 for _ in range(size // 4)]
            tap.ok(got == want, f"{name}: each stub is named after what it calls", str(got))
    tap.finish()


if __name__ == "__main__":
    main()
