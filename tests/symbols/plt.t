#!/usr/bin/python3
"""Stubs for calls of imported functions are `name@plt`, as objdump names them."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import images
import plt
from tap import Tap

VARIANTS = {
    "x86-64": ["-fPIC"],
    "x86-64, bound at start": ["-fPIC", "-Wl,-z,now"],
    "x86-64, branch protection": ["-fPIC", "-fcf-protection=full", "-Wl,-z,ibtplt"],
    "x86-64, branch protection, bound at start": ["-fPIC", "-fcf-protection=full", "-Wl,-z,ibtplt",
                                                  "-Wl,-z,now"],
    "i386, position-independent": ["-m32", "-fPIC"],
    "i386, position-independent, bound at start": ["-m32", "-fPIC", "-Wl,-z,now"],
    "i386, position-independent, branch protection": ["-m32", "-fPIC", "-fcf-protection=full",
                                                      "-Wl,-z,ibtplt"],
}


def compiles(folder, *flags):
    """i386 may be more than this compiler was built for."""
    return subprocess.run(["gcc", "-x", "c", "-", "-nostdlib", "-shared", "-o",
                           os.path.join(folder, "probe"), *flags], input=b"int x;", check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def check_program(tap, folder, name, *flags):
    """An executable at fixed addresses, whose stubs jump through absolute ones on i386."""
    library = os.path.join(folder, "library.so")
    images.compile_c(library, "int ext_a(int x) { return x; } int ext_b(int x) { return x; }"
                     "int ext_c(int x) { return x; }", "-shared", "-fPIC", "-nostdlib", *flags)
    program = images.compile_c(os.path.join(folder, "program"), plt.SOURCE +
                               "void _start(void) { use_all(address_of_a() == ext_b); }",
                               "-O1", "-no-pie", "-fno-pie", "-nostdlib", library, *flags)
    plt.check(tap, program, "objdump", name, 3)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in VARIANTS.items():
            if "-m32" in flags and not compiles(folder, "-m32"):
                tap.skip(name, "the compiler does not make i386 code")
                continue
            path = images.compile_c(os.path.join(folder, "library"), plt.SOURCE, "-O1", "-shared",
                                    "-nostdlib", *flags)
            plt.check(tap, path, "objdump", name, 3)
        check_program(tap, folder, "x86-64, fixed addresses")
        if compiles(folder, "-m32"):
            check_program(tap, folder, "i386, fixed addresses", "-m32")
        path = images.compile_c(os.path.join(folder, "cxx"),
                                "int _ZN1a1bEi(int); int use(int x) { return _ZN1a1bEi(x) + 1; }",
                                "-O1", "-fPIC", "-shared", "-nostdlib")
        address = plt.stubs("objdump", path)[0][0]
        answer = images.run(images.SYMBOLIZE, "-e", path, "--no-inlines", f"{address:#x}")
        tap.ok(answer.startswith("a::b(int)@plt\n"), "a mangled name is shown readable", answer)
        stripped = path + ".stripped"
        images.run("strip", "-o", stripped, path)
        tap.ok(images.names_at(stripped, [address]) == ["_ZN1a1bEi@plt"],
               "stripping changes nothing about them")
    tap.finish()


if __name__ == "__main__":
    main()
