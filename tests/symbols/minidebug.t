#!/usr/bin/python3
"""MiniDebugInfo as distributions make it (GDB manual, "MiniDebugInfo"), in a stripped executable."""
import lzma
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import images
from tap import Tap

SOURCE = """
__attribute__((noinline)) static int hidden_one(int x) { return x * 3 + 1; }
__attribute__((noinline)) static int hidden_two(int x) { return hidden_one(x) * 5 + 2; }
int exported(int x) { return hidden_two(x) + hidden_one(x + 7); }
"""


def make(folder):
    """The library, and the library stripped but for the functions that .dynsym does not name."""
    whole = images.compile_c(os.path.join(folder, "whole"), SOURCE, "-O1", "-g", "-shared", "-fPIC")
    mini, keep = os.path.join(folder, "mini"), os.path.join(folder, "keep")
    dynamic = {name for _, _, name in images.functions(whole, "-D")}
    with open(keep, "w", encoding="ascii") as file:
        file.writelines(f"{name}\n" for _, _, name in images.functions(whole)
                        if name not in dynamic)
    images.run("objcopy", "--only-keep-debug", whole, mini)
    images.run("objcopy", "-S", "--remove-section", ".gdb_index", "--remove-section", ".comment",
               f"--keep-symbols={keep}", mini)
    with open(mini, "rb") as file:
        packed = lzma.compress(file.read())
    with open(mini + ".xz", "wb") as file:
        file.write(packed)
    stripped = os.path.join(folder, "stripped")
    images.run("strip", "--strip-all", "-o", stripped, whole)
    with_mini = stripped + ".mini"
    images.run("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", stripped, with_mini)
    return whole, stripped, with_mini


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        whole, stripped, with_mini = make(folder)
        table = {name: address for address, _, name in images.functions(whole)}
        names = ["hidden_one", "hidden_two", "exported"]
        addresses = [table[name] for name in names]
        tap.ok(images.names_at(stripped, addresses) == ["??", "??", "exported"],
               "without it only exported functions are named")
        tap.ok(images.names_at(with_mini, addresses) == names, "with it the others are too")
        shown = images.run(images.SYMBOLIZE, "inspect", with_mini)
        tap.ok("contents: symtab dynsym" in shown, "inspect counts it as a symbol table", shown)
        index = os.path.join(folder, "index")
        images.run(images.SYMBOLIZE, "index", with_mini, "-o", index)
        tap.ok(images.names_at(index, addresses) == names, "an index of it answers the same")
    tap.finish()


if __name__ == "__main__":
    main()
