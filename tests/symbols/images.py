"""ELF files changed for tests, and what `symbolize` says about them."""
import os
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
BUILD = os.environ.get("BUILD", os.path.abspath("build"))
SYMBOLIZE = os.path.join(BUILD, "symbolize")


def run(*command, **options):
    """Runs a tool that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def compile_c(path, source, *flags, compiler="gcc"):
    subprocess.run([compiler, "-o", path, "-x", "c", "-", "-x", "none", *flags],
                   input=source.encode(), check=True)
    return path


def names_at(path, addresses):
    """The function name at each address, as `symbolize` gives it ("??": none)."""
    lines = "".join(f"0x{address:x}\n" for address in addresses)
    result = subprocess.run([SYMBOLIZE, "-e", path, "--no-inlines", "--no-demangle"], input=lines,
                            capture_output=True, text=True, check=True, timeout=120)
    return [answer.split("\n")[0] for answer in result.stdout.split("\n\n") if answer]


def functions(path, *flags):
    """[(address, size, name)] of the functions that nm lists; versions cut off."""
    found = []
    for line in run("nm", "-S", *flags, path).splitlines():
        match = re.match(r"([0-9a-f]+) (?:([0-9a-f]+) )?[tTiW] (\S+)$", line)
        if match:
            found.append((int(match[1], 16), int(match[2] or "0", 16), match[3].split("@")[0]))
    return sorted(found)


def without_section_headers(path, target):
    """A copy of a 64-bit little-endian file whose section headers are gone."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    offset = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 64, 0, 0)
    with open(target, "wb") as file:
        file.write(data[:offset])
    os.chmod(target, 0o755)
    return target
