"""The corpus of tests/fixtures/dwarf: builds it, reads its truth and asks readers about it.

An answer is a list of frames, leaf first; a frame is (function, file's base name, line). What is
compared is the whole list.
"""
import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections import namedtuple

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import elf64

BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
SOURCES = os.path.join(ROOT, "tests", "fixtures", "dwarf")
EXTRACT = os.path.join(ROOT, "tests", "fixtures", "agent_extract")

Mark = namedtuple("Mark", "address id line")
Truth = namedtuple("Truth", "id chain collected compilers")

# A name that only the symbol table knows stands in parentheses.
SYMBOL_ONLY = re.compile(r"\((\w+)\)")


def run(command, **options):
    """The command's output; an exception that shows its errors when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def read_tags():
    """Tag -> (file, line), from the comments of the sources."""
    tags = {}
    for name in sorted(os.listdir(SOURCES)):
        with open(os.path.join(SOURCES, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                for tag in re.findall(r"/\* @(\w+) \*/", line):
                    if tag in tags:
                        raise ValueError(f"tag {tag} stands twice")
                    tags[tag] = (name, number)
    return tags


def expand(text):
    """{1..16: f<#> @t} becomes f<1> @t < f<2> @t < ..."""
    match = re.search(r"\{(\d+)\.\.(\d+): ([^}]*)\}", text)
    if not match:
        return text
    first, last, pattern = int(match[1]), int(match[2]), match[3]
    links = " < ".join(pattern.replace("#", str(i)) for i in range(first, last + 1))
    return text[:match.start()] + links + text[match.end():]


def read_truth():
    """The hand-written file `truth`, tags resolved."""
    tags = read_tags()
    truths = []
    with open(os.path.join(SOURCES, "truth"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    for line in lines:
        number, flags, text = re.fullmatch(r"(\d+)([!?^]*): (.*)", line).groups()
        links = [link.rsplit(" @", 1) for link in expand(text).split(" < ")]
        chain = tuple((name, *tags[tag]) for name, tag in links)
        compilers = {"gcc"} if "?" in flags else {"clang"} if "^" in flags else {"gcc", "clang"}
        truths.append(Truth(int(number), chain, "!" in flags, compilers))
    return truths


def read_marks(path):
    """The section .debug_marks: addresses from the linker, lines from the compiler's __LINE__."""
    content = elf64.read(path).contents(".debug_marks")
    return [Mark(*fields) for fields in struct.iter_unpack("<QII", content)]


def build(path, **settings):
    run([os.path.join(SOURCES, "build"), path] +
        [f"{name}={value}" for name, value in settings.items()])


def demangle(names):
    """Linkage names as c++filt shows them; other names as they are."""
    if not names:
        return []
    return run(["c++filt"], input="\n".join(names) + "\n").split("\n")[:len(names)]


def plain(name):
    """A demangled name without parameters, qualifiers and return type; every way to write a lambda
    as {lambda}. What remains is in the debug data of every compiler: gcc gives functions that no
    other unit can see no linkage name, and so no parameters."""
    name = name.replace("(anonymous namespace)", "{anonymous namespace}")
    name = name.replace("operator()", "operator{}")
    name = re.sub(r"\{lambda\([^)]*\)#\d+\}|\$_\d+|\(anonymous\)", "{lambda}", name)
    name = re.sub(r"\([^()]*\)", "", name).removesuffix(" const")
    name = re.sub(r"^[\w ]+ (?=\w+<)", "", name)
    return name.replace("{anonymous namespace}", "(anonymous namespace)").replace(
        "operator{}", "operator()")


def ask_driver_raw(path, addresses, how, *options):
    """What the driver prints for each address, all fields."""
    text = run([os.path.join(BUILD, "drivers", "dwarf_query"), *options, path, how],
               input="".join(f"{address:x}\n" for address in addresses))
    return split_blocks(text)


def parse_blocks(blocks):
    """The drivers' lines as chains of (plain name, file, line)."""
    rows = [[line.split("\t") for line in block.splitlines()] for block in blocks]
    names = iter(demangle([row[0] for block in rows for row in block]))
    return [[(plain(next(names)), os.path.basename(row[2]), int(row[3])) for row in block]
            for block in rows]


def ask_driver(path, addresses, how, *options):
    """A DWARF source alone, by `pull` or `push`."""
    return parse_blocks(ask_driver_raw(path, addresses, how, *options))


def build_index(path, index, *options, others=()):
    """What the service does with an upload: the worker makes the index, of other files with their
    roles too. Its report."""
    report = os.path.join(os.path.dirname(index), "report")
    with contextlib.ExitStack() as files:
        told, out = (files.enter_context(open(name, "wb")) for name in (report, index))
        inputs = [(role, files.enter_context(open(name, "rb")))
                  for role, name in [("main", path), *others]]
        fds = [file.fileno() for file in (told, out, *(file for _, file in inputs))]
        run([os.path.join(BUILD, "symbolizer-worker"), "build", f"--report={told.fileno()}",
             f"--out={out.fileno()}", *options,
             *(f"{role}={file.fileno()}" for role, file in inputs)], pass_fds=fds)
    with open(report, encoding="utf-8") as told:
        text = told.read()
    if not text.startswith("status ok\n"):
        raise RuntimeError(f"the worker reports:\n{text}")
    return text


def ask_index_raw(path, addresses, *options, others=()):
    """What index_query prints for each address about an index made of the file."""
    with tempfile.TemporaryDirectory(prefix="dwarf-index-") as directory:
        index = os.path.join(directory, "index")
        build_index(path, index, *options, others=others)
        return split_blocks(run([os.path.join(BUILD, "drivers", "index_query"), index],
                                input="".join(f"{address:x}\n" for address in addresses)))


def ask_index(path, addresses, *options, others=()):
    return parse_blocks(ask_index_raw(path, addresses, *options, others=others))


def ask_symbolize(path, addresses, *options):
    """The offline CLI."""
    lines = run([os.path.join(BUILD, "symbolize"), "-e", path, "--output-style=JSON", *options],
                input="".join(f"{address:#x}\n" for address in addresses)).splitlines()
    answers = [[(plain(frame["FunctionName"]), os.path.basename(frame["FileName"]), frame["Line"])
                for frame in json.loads(line)["Symbol"]] for line in lines]
    # A miss is a frame without anything in it, as llvm-symbolizer has it.
    return [[] if answer == [("", "", 0)] else answer for answer in answers]


# Who is asked, and whether the symbol table names what DWARF does not.
READERS = {
    "the source's pull": (lambda path, addresses: ask_driver(path, addresses, "pull"), False),
    "the source's push": (lambda path, addresses: ask_driver(path, addresses, "push"), False),
    "symbolize": (ask_symbolize, True),
    "the index": (ask_index, True),
    "libdw's pull": (lambda path, addresses: ask_driver(path, addresses, "pull", "--libdw"), False),
    "an index by libdw": (
        lambda path, addresses: ask_index(path, addresses, "--dwarf-backend=libdw"), True),
}


def split_blocks(text):
    """One block an address, each ended by an empty line; a block may be empty."""
    blocks = [[]]
    for line in text.split("\n")[:-1]:
        if line:
            blocks[-1].append(line)
        else:
            blocks.append([])
    return ["\n".join(block) for block in blocks[:-1]]


def expected_chains(truths, collected, compiler):
    """Mark id -> the chains its copies must show, all of them and no others."""
    chains = {}
    for truth in truths:
        if not (truth.collected and collected) and compiler in truth.compilers:
            chains.setdefault(truth.id, set()).add(truth.chain)
    return chains


def as_seen(chain, by_symbols):
    """A chain as DWARF alone shows it, or together with the symbol table."""
    name = r"\1" if by_symbols else ""
    return tuple((SYMBOL_ONLY.sub(name, f, 1) if SYMBOL_ONLY.fullmatch(f) else f, file, line)
                 for f, file, line in chain)


CLONE = re.compile(r"(\.[a-z_]+(\.\d+)*)+$")


def without_clone(answer, by_symbols):
    """The outermost function without the suffix that the symbol table has for a clone."""
    if not by_symbols or not answer:
        return tuple(answer)
    function, *place = answer[-1]
    return (*answer[:-1], (CLONE.sub("", function), *place))


def show(chain):
    return " < ".join(f"{function} {file}:{line}" for function, file, line in chain) or "(nothing)"


def differences(marks, answers, chains, by_symbols):
    """What is wrong, one line each. Every copy must show one of its mark's chains, line for line,
    and every chain of every mark must be shown."""
    problems = []
    missing = {(id_, as_seen(chain, by_symbols)) for id_, all_ in chains.items() for chain in all_}
    allowed = set(missing)
    for mark, answer in zip(marks, answers):
        key = (mark.id, without_clone(answer, by_symbols))
        if key not in allowed:
            problems.append(f"mark {mark.id} at {mark.address:#x}: {show(answer)}")
        missing.discard(key)
    problems += [f"mark {id_}: no copy shows {show(chain)}" for id_, chain in sorted(missing)]
    return problems


def live_marks(path):
    """Without those whose code the linker dropped: it leaves 0 or an offset as their address."""
    code = [s for s in elf64.read(path).sections if s.flags & elf64.SHF_EXECINSTR]
    return [mark for mark in read_marks(path)
            if any(s.address <= mark.address < s.address + s.size for s in code)]


# What a program is made with, how it is treated afterwards (a command with {} for the file, in
# place), and whether the linker drops what is not called.
Variant = namedtuple("Variant", "settings then collected", defaults=(None, False))

COLLECT = {"CFLAGS": "-O2 -g -ffunction-sections", "LDFLAGS": "-Wl,--gc-sections"}


def common_variants():
    """Those that every compiler can make."""
    variants = {}
    for version in (4, 5):
        for level in (0, 2):
            for pie in ("-fpie -pie", "-fno-pie -no-pie"):
                kind, _, _ = pie.partition(" ")
                variants[f"DWARF {version} -O{level} {kind}"] = Variant(
                    {"CFLAGS": f"-O{level} -g -gdwarf-{version} {pie}"})
    variants["DWARF 2"] = Variant({"CFLAGS": "-O2 -g -gdwarf-2"})
    variants["DWARF 3"] = Variant({"CFLAGS": "-O2 -g -gdwarf-3"})
    variants["64-bit DWARF"] = Variant({"CFLAGS": "-O2 -g -gdwarf64"})
    variants["type units"] = Variant({"CFLAGS": "-O2 -g -fdebug-types-section"})
    variants["type units of DWARF 4"] = Variant(
        {"CFLAGS": "-O2 -g -gdwarf-4 -fdebug-types-section"})
    variants["zlib"] = Variant({"CFLAGS": "-O2 -g -gz=zlib"})
    variants["old-style zlib"] = Variant(
        {}, "objcopy --compress-debug-sections=zlib-gnu {}")
    variants["zstd"] = Variant({}, "objcopy --compress-debug-sections=zstd {}")
    variants["a debug file of its own"] = Variant({}, "objcopy --only-keep-debug {}")
    variants["--gc-sections in a PIE"] = Variant(COLLECT, None, True)
    variants["--gc-sections at a fixed address"] = Variant(
        COLLECT | {"LDFLAGS": "-Wl,--gc-sections -no-pie"}, None, True)
    variants["--gc-sections and DWARF 4"] = Variant(
        COLLECT | {"CFLAGS": "-O2 -gdwarf-4 -ffunction-sections"}, None, True)
    return variants


def make_variant(path, variant, compiler):
    """Builds the program; returns its live marks, which `then` may remove from the file."""
    compilers = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}[compiler]
    build(path, CC=compilers[0], CXX=compilers[1], **variant.settings)
    marks = live_marks(path)
    if variant.then:
        run(variant.then.format(path).split())
    return marks


def check_the_check(tap):
    """differences() sees a wrong line, a missing frame and a missing copy."""
    marks = [Mark(16, 1, 0), Mark(32, 1, 0)]
    right = [[("f", "a.c", 1), ("g", "a.c", 9)], [("h", "b.c", 2)]]
    chains = {1: {tuple(answer) for answer in right}}
    line = [[("f", "a.c", 1), ("g", "a.c", 8)], right[1]]
    frame = [right[0][:1], right[1]]
    copy = [right[0], right[0]]
    tap.ok(not differences(marks, right, chains, False) and
           all(differences(marks, wrong, chains, False) for wrong in (line, frame, copy)),
           "a wrong line, a missing frame and a missing copy are noticed")


def text_addresses(path, step=1):
    """Every step-th address of .text, and a few on both sides."""
    text = elf64.read(path).section(".text")
    return list(range(text.address - 8, text.address + text.size + 8, step))


def check_readers(tap, name, path, marks, chains):
    """Every reader shows every chain of every mark."""
    for reader, (ask, by_symbols) in READERS.items():
        answers = ask(path, [mark.address for mark in marks])
        wrong = differences(marks, answers, chains, by_symbols)
        tap.ok(not wrong, f"{name}: {reader} shows every chain", wrong)


def check_variants(tap, variants, compiler):
    """Every reader against the truth, with every variant."""
    truths = read_truth()
    with tempfile.TemporaryDirectory(prefix="dwarf-corpus-") as directory:
        path = os.path.join(directory, "program")
        for name, variant in variants.items():
            marks = make_variant(path, variant, compiler)
            assert len(marks) >= 30, "the program has lost its marks"
            chains = expected_chains(truths, variant.collected, compiler)
            check_readers(tap, f"{compiler}, {name}", path, marks, chains)
