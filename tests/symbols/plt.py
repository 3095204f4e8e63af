"""Programs that call through stubs, and a disassembler's names for these."""
import os
import re

import images

# Enough functions for several stubs; one is called by its address too, which takes another slot.
SOURCE = """
int ext_a(int), ext_b(int), ext_c(int);
int (*address_of_a(void))(int) { return ext_a; }
int use_all(int x) { return ext_a(x) + ext_b(x) * ext_c(x); }
"""


def stubs(disassembler, path):
    """[(address, name)] of the stubs as the disassembler lists them, once each."""
    text = images.run(disassembler, "-d", path)
    return sorted({(int(match[1], 16), match[2])
                   for match in re.finditer(r"^([0-9a-f]+) <([^>]+@plt)>:$", text, re.M)})


def check(tap, path, disassembler, name, count):
    """Each stub has the disassembler's name from its first to its fourth byte, and no other
    address of those sections has one."""
    want = stubs(disassembler, path)
    got = images.names_at(path, [address for address, _ in want])
    tap.ok(len(want) == count and got == [stub for _, stub in want],
           f"{name}: the stubs are named as by {os.path.basename(disassembler)}",
           f"want {want}\ngot {got}")
    inside = images.names_at(path, [address + 3 for address, _ in want])
    tap.ok(inside == got, f"{name}: and so all of the stub", str(inside))
    before = images.names_at(path, [min(address for address, _ in want) - 1])
    tap.ok(before == ["??"], f"{name}: what stands before them is no function's stub", str(before))
