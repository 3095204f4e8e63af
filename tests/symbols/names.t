#!/usr/bin/python3
"""The outermost function is named by the symbol that agrees with DWARF; docs/NAMES.md."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import images
from tap import Tap

# GCC specialises `scaled` for the constant, and hands `summed` the members it reads.
CLONES = """
struct pair { int a, b, c; };
static __attribute__((noinline)) int scaled(int x, int factor) {
    int sum = 0;
    for (int i = 0; i < x; i++)
        sum += (i ^ factor) * factor;
    return sum;
}
static __attribute__((noinline)) int summed(struct pair *pair) { return pair->a * pair->b; }
int main(int argc, char **argv) {
    struct pair pair = {argc, 2, 3};
    (void)argv;
    return scaled(argc, 7) + scaled(argc + 1, 7) + summed(&pair);
}
"""

# One piece of code under many names, as in glibc.
ALIASES = """
int plain(int x) { return x * 3 + 1; }
int weak_name(int x) __attribute__((weak, alias("plain")));
int __plain(int x) __attribute__((alias("plain")));
int labelled(int x) __asm__("__GI_labelled");
int labelled(int x) { return x * 5 + 2; }
__asm__(".globl labelled\\n.set labelled, __GI_labelled");
"""

# Two functions with one code; a linker may keep one of them under both names.
FOLDED = """
int first_name(int x) { return x * 3 + 1; }
int second_name(int x) __attribute__((alias("first_name")));
__asm__(".globl other_name\\n.set other_name, first_name\\n.type other_name, @function");
int main(void) { return first_name(3); }
"""

SIMPLE = """
namespace space { struct thing { int method(int x) const; }; template <class T> T twice(T x); }
int space::thing::method(int x) const { return x * 3; }
template <class T> T space::twice(T x) { return x + x; }
template int space::twice<int>(int);
int main() { return space::thing().method(4) + space::twice(3); }
"""


def symbols(path):
    """Name -> address."""
    return {match[2]: int(match[1], 16) for match in
            re.finditer(r"^([0-9a-f]+) \w (\S+)$", images.run("nm", path), re.M)}


def both(tap, path, address, want, what):
    """The file itself, and an index of it."""
    index = path + ".index"
    images.run(images.SYMBOLIZE, "index", path, "-o", index)
    got = images.names_at(path, [address]) + images.names_at(index, [address])
    tap.ok(got == [want, want], what, f"want {want}, got {got}")


def check_clones(tap, folder):
    path = images.compile_c(os.path.join(folder, "clones"), CLONES, "-O2", "-g",
                            "-fno-ipa-cp-clone")
    clones = [name for name in symbols(path) if re.match(r"(scaled|summed)\.", name)]
    tap.ok(len(clones) == 2, "the compiler made clones", str(symbols(path)))
    for name in clones:
        both(tap, path, symbols(path)[name], name, f"a clone is told by its symbol: {name}")


def check_aliases(tap, folder):
    path = images.compile_c(os.path.join(folder, "aliases"), ALIASES, "-O2", "-g", "-shared",
                            "-fPIC")
    table = symbols(path)
    both(tap, path, table["plain"], "plain", "of three names the one that DWARF has")
    both(tap, path, table["labelled"], "labelled",
         "of an assembler label and the source's name the global one")
    path = images.compile_c(os.path.join(folder, "folded"), FOLDED, "-O2", "-g",
                            "-Wl,--defsym=a_name=first_name")
    both(tap, path, symbols(path)["first_name"], "first_name",
         "no other name for the same code replaces DWARF's")


# GCC moves what is never reached to a part of its own, and then DWARF has no entry.
SPLIT = """
#include <stdlib.h>
int volatile sink;
__attribute__((cold, noinline)) void complain(int x) { sink = x; }
int labelled(int x) __asm__("__GI_labelled");
int labelled(int x) {
    if (__builtin_expect(x > 1000, 0)) {
        complain(x);
        abort();
    }
    return x * 5 + 2;
}
__asm__(".globl labelled\\n.set labelled, __GI_labelled");
int main(int argc, char **argv) { (void)argv; return labelled(argc); }
"""


def check_split(tap, folder):
    path = images.compile_c(os.path.join(folder, "split"), SPLIT, "-O2", "-g", "-fno-inline")
    table = symbols(path)
    cold = table.get("__GI_labelled.cold", table.get("labelled.cold"))
    if tap.ok(cold is not None, "the compiler split the function", str(table)):
        both(tap, path, table["labelled"], "labelled", "both parts of a split function: the hot one")
        both(tap, path, cold, "labelled", "both parts of a split function: the cold one")


def check_names_without_linkage(tap, folder):
    source = os.path.join(folder, "simple.cc")
    with open(source, "w", encoding="ascii") as file:
        file.write(SIMPLE)
    path = os.path.join(folder, "simple")
    images.run("g++", "-O1", "-g", "-o", path, source)
    # The linkage names go, as compilers leave them out for -g1: what is not read says nothing.
    stripped = path + ".unlinked"
    with open(path, "rb") as file:
        data = file.read()
    with open(stripped, "wb") as file:
        file.write(without_linkage_names(data, path))
    for name in ("_ZNK5space5thing6methodEi", "_ZN5space5twiceIiEET_S1_"):
        both(tap, stripped, symbols(path)[name], name,
             f"a mangled symbol names a function without linkage name: {name}")


def without_linkage_names(data, path):
    """Makes another attribute of each DW_AT_linkage_name in .debug_abbrev."""
    match = re.search(r" \.debug_abbrev +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)",
                      images.run("readelf", "-SW", path))
    offset, size = int(match[1], 16), int(match[2], 16)
    table = data[offset:offset + size]
    # DW_AT_linkage_name (0x6e) with DW_FORM_strp or line_strp, to DW_AT_description.
    changed = table.replace(b"\x6e\x0e", b"\x5a\x0e").replace(b"\x6e\x1f", b"\x5a\x1f")
    assert changed != table
    return data[:offset] + changed + data[offset + size:]


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        check_clones(tap, folder)
        check_aliases(tap, folder)
        check_split(tap, folder)
        check_names_without_linkage(tap, folder)
    tap.finish()


if __name__ == "__main__":
    main()
