#!/usr/bin/python3
"""Relocatable files answer by SECTION+OFFSET; linked files that kept relocations are left alone."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import images
import objects
from tap import Tap

VARIANTS = {
    "DWARF 5": ["-gdwarf-5"],
    "DWARF 4": ["-gdwarf-4"],
    "DWARF 3": ["-gdwarf-3", "-gstrict-dwarf"],
    "zlib": ["-g", "-gz=zlib"],
    "type units": ["-g", "-fdebug-types-section"],
    "function sections": ["-g", "-fno-function-sections", "-fdata-sections"],
    "i386": ["-g", "-m32"],
}


def compile_object(folder, name, *flags):
    path = os.path.join(folder, name)
    with open(os.path.join(folder, objects.FILE), "w", encoding="ascii") as file:
        file.write(objects.source())
    images.run("gcc", "-O1", "-c", *flags, objects.FILE, "-o", path, cwd=folder)
    return path


def check_module(tap, folder):
    """A kernel module is several objects linked into one that is still relocatable."""
    one = compile_object(folder, "one.o", "-g")
    two = images.compile_c(os.path.join(folder, "two.o"),
                           "int filler(int x) { return x * 77; }\n"
                           "__attribute__((section(\".init.text\"))) int init(void) "
                           "{ return filler(3); }\n", "-O1", "-g", "-c")
    module, debug = os.path.join(folder, "module.ko"), os.path.join(folder, "module.debug")
    images.run("ld", "-r", two, one, "-o", module)
    objects.check(tap, module, "a module of two objects")
    images.run("objcopy", "--only-keep-debug", module, debug)
    images.run("strip", "-g", module)
    objects.check(tap, module, "a module and its debug file", f"--debug-file={debug}")
    objects.check(tap, debug, "the debug file alone")
    tap.ok(objects.frames(module, ".init.text+0")[0][0] == "init",
           "a stripped module answers by its symbols")


def check_plain_offsets(tap, folder):
    path = compile_object(folder, "plain.o", "-g")
    here = objects.labels(path)["here"]
    tap.ok(objects.frames(path, f"{here:#x}") == objects.frames(path, f".text+{here:#x}"),
           "a plain number is an offset in the first code section")
    as_gnu = images.run("addr2line", "-fi", "-s", "-e", path, f"{here:x}")
    ours = images.run(images.SYMBOLIZE, "--output-style=GNU", "-fi", "-s", "-e", path, f"{here:x}")
    tap.ok(ours == as_gnu, "as addr2line takes it", f"want {as_gnu}\ngot {ours}")
    shown = images.run(images.SYMBOLIZE, "inspect", path)
    place = next(line.split()[2] for line in shown.splitlines()
                 if line.startswith("placed .text.other: "))
    index = os.path.join(folder, "index")
    images.run(images.SYMBOLIZE, "index", path, "-o", index)
    there = objects.labels(path)["there"]
    address = int(place.split("-")[0], 16) + there
    tap.ok(objects.frames(index, f"{address:#x}") == objects.frames(path, f".text.other+{there:#x}"),
           "an index is asked by the places that inspect shows", shown)
    for unknown in (".text+0x1000", ".nowhere+0", ".data+0"):
        tap.ok(objects.frames(path, unknown) == [("??", "??:0")], f"{unknown} has no answer")


def check_kept_relocations(tap, folder):
    """As a vmlinux has them: .rela.debug_* beside debug sections that were relocated before."""
    obj = compile_object(folder, "kept.o", "-g", "-fno-pie")
    with open(os.path.join(folder, "start.s"), "w", encoding="ascii") as file:
        file.write(".globl _start\n_start: ret\n")
    start = os.path.join(folder, "start.o")
    images.run("as", os.path.join(folder, "start.s"), "-o", start)
    answers = []
    for name, flags in (("without", []), ("with", ["--emit-relocs"])):
        path = os.path.join(folder, name)
        images.run("ld", "-static", "-no-pie", *flags, start, obj, "-o", path)
        answers.append(objects.frames(path, f"{objects.labels(path)['here']:#x}"))
    sections = images.run("readelf", "-SW", os.path.join(folder, "with"))
    tap.ok(".rela.debug_info" in sections and len(answers[0]) == 2 and answers[0] == answers[1],
           "a linked file that kept .rela.debug_* answers as one that did not", str(answers))
    path = os.path.join(folder, "without")
    tap.ok(objects.frames(path, ".text+0")[0][0] == "_start",
           "SECTION+OFFSET works in linked files too")


def check_many_sections(tap, folder):
    count = 66000
    with open(os.path.join(folder, "many.s"), "w", encoding="ascii") as file:
        for number in range(count):
            file.write(f'.section .text.f{number},"ax"\n.globl f{number}\n'
                       f".type f{number},@function\nf{number}: nop\n.size f{number},1\n")
    path = os.path.join(folder, "many.o")
    images.run("as", os.path.join(folder, "many.s"), "-o", path)
    for number in (0, 65270, 65535, count - 1):
        got = objects.frames(path, f".text.f{number}+0")
        tap.ok(got[0][0] == f"f{number}", f"function {number} of {count} sections", str(got))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in VARIANTS.items():
            try:
                path = compile_object(folder, "object.o", *flags)
            except subprocess.CalledProcessError:
                tap.skip(name, "the compiler does not make it")
                continue
            objects.check(tap, path, name)
        check_module(tap, folder)
        check_plain_offsets(tap, folder)
        check_kept_relocations(tap, folder)
        check_many_sections(tap, folder)
    tap.finish()


if __name__ == "__main__":
    main()
