#!/usr/bin/python3
"""Files whose section headers are gone answer by the symbols that PT_DYNAMIC names."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import images
from tap import Tap

SOURCE = "".join(f"int exported_{number}(int x) {{ return x * {number + 3}; }}\n"
                 for number in range(40)) + "int caller(int x) { return exported_7(x) + 1; }\n"


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for style in ("gnu", "sysv", "both"):
            whole = images.compile_c(os.path.join(folder, style), SOURCE, "-shared", "-fPIC", "-O1",
                                     f"-Wl,--hash-style={style}")
            bare = images.without_section_headers(whole, whole + ".bare")
            functions = [function for function in images.functions(whole, "-D") if function[1]]
            want = [name for _, _, name in functions]
            got = images.names_at(bare, [address + size - 1 for address, size, _ in functions])
            tap.ok(len(want) == 41 and got == want,
                   f"all functions are named through the hash table of --hash-style={style}",
                   f"want {want}\ngot {got}")
    tap.finish()


if __name__ == "__main__":
    main()
