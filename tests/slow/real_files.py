#!/usr/bin/python3
"""Asks symbolize, llvm-symbolizer 19 and a walk over libdw about real debug files.

    tests/slow/real_files.py [--all] [--addresses=N] [--seed=N] [--show=N] [NAME...]

The files are those of Debian packages, by exact version: downloaded with apt-get into the folder
$REAL_FILES_CACHE, or one that is removed again. Every answer is the whole chain: of each frame the
name, file, line, column and the line its function starts at. Three things are held against
llvm-symbolizer's answers: an index that our reader made; for a tenth of the addresses, the file
itself; and an index that the libdw backend made. The first and the second must be equal, and so
must the first and the third.

Where we and llvm-symbolizer differ, one of the classes below must say why: docs/DIFFERENCES.md
explains each, under the same name. What none explains is printed, and may be one of 10,000.
"""
import argparse
import bisect
import collections
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD", os.path.join(os.getcwd(), "build"))
SYMBOLIZE = os.path.join(BUILD, "symbolize")
WORKER = os.path.join(BUILD, "symbolizer-worker")
LLVM = "llvm-symbolizer-19"
DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/DIFFERENCES.md")
UNEXPLAINED_SHARE_MAX = 0.0001
DIRECT_SHARE = 10  # one of so many addresses is also asked of the file itself

File = collections.namedtuple("File", "name package version path is_small")
BUILD_IDS = "usr/lib/debug/.build-id/"
FILES = (
    File("libc", "libc6-dbg", "2.36-9+deb12u14",
         BUILD_IDS + "93/ac61ec5a8eb1396f9fbd350e3169a558528a40.debug", True),
    File("libpython", "libpython3.11-dbg", "3.11.2-6+deb12u9",
         "usr/lib/x86_64-linux-gnu/libpython3.11d.so.1.0", True),
    File("libstdc++", "libstdc++6-12-dbg", "12.2.0-14+deb12u1",
         "usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6.0.30", False),
    File("libipopt", "coinor-libipopt1v5-dbg", "3.11.9-2.3+b1",
         "usr/lib/debug/usr/lib/libipopt.so.1.9.9", False),
    File("libpetsc", "libpetsc-real3.18-dbg", "3.18.5+dfsg1-1",
         "usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real-debug/lib/libpetsc_real.so.3.18.5",
         False),
    File("libjvm", "openjdk-17-dbg", "17.0.21.1+2-1~deb12u1",
         BUILD_IDS + "45/183927463c526d5b9c9d456494ad816a7e3fee.debug", False),
    File("ceph-osd", "ceph-osd-dbg", "16.2.15+ds-0+deb12u2",
         BUILD_IDS + "fb/66b3cec5f264a2f863d96fa875eb4ae39bb0bf.debug", False),
    File("vmlinux-6.12", "linux-image-6.12.117+deb12-cloud-amd64-dbg", "6.12.117-1~deb12u1",
         "usr/lib/debug/boot/vmlinux-6.12.117+deb12-cloud-amd64", False),
    File("vmlinux-6.1", "linux-image-6.1.0-57-cloud-amd64-dbg", "6.1.192-3",
         "usr/lib/debug/boot/vmlinux-6.1.0-57-cloud-amd64", False),
)

Frame = collections.namedtuple("Frame", "name file line column start_line")
Symbol = collections.namedtuple("Symbol", "address size type")


class Unavailable(Exception):
    """A package that cannot be had here, with the reason."""


def run(*command, stdin=None, cwd=None):
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True,
                          errors="surrogateescape", cwd=cwd).stdout


# --- files -----------------------------------------------------------------------------------


def download(file, folder):
    """The path of the .deb, which is not loaded again if it lies there already."""
    names = f"{file.package}_{file.version.replace(':', '%3a')}_"
    held = [name for name in os.listdir(folder) if name.startswith(names)]
    if not held:
        try:
            run("apt-get", "download", "-q", f"{file.package}={file.version}", cwd=folder)
        except (OSError, subprocess.CalledProcessError) as error:
            said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            raise Unavailable(said[-1] if said else "apt-get download failed") from error
        held = [name for name in os.listdir(folder) if name.startswith(names)]
    if not held:
        raise Unavailable("apt-get download left no file")
    return os.path.join(folder, held[0])


def obtain(file, folder):
    """The path of the debug file, unpacked to `folder` if it does not lie there already."""
    path = os.path.join(folder, file.package + "-" + file.version, file.path)
    if not os.path.exists(path):
        unpacked = os.path.dirname(path)
        os.makedirs(unpacked, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as whole:
            run("dpkg-deb", "-x", download(file, folder), whole)
            if not os.path.exists(os.path.join(whole, file.path)):
                raise Unavailable(f"{file.package} does not hold {file.path}")
            os.rename(os.path.join(whole, file.path), path)
    return path


@contextlib.contextmanager
def cache_folder():
    kept = os.environ.get("REAL_FILES_CACHE")
    if kept:
        os.makedirs(kept, exist_ok=True)
        yield os.path.abspath(kept)
    else:
        with tempfile.TemporaryDirectory(prefix="real-files-") as folder:
            yield folder


class Symbols:
    """What .symtab and the section headers say, as readelf prints them."""

    def __init__(self, path):
        self.by_name = collections.defaultdict(list)
        self.sections = []
        for line in run("readelf", "-SW", path).splitlines():
            found = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)"
                             r"\s+\S+\s+(\S+)\s", line)
            if found and "A" in found[4] and "X" in found[4]:
                self.sections.append((int(found[2], 16), int(found[3], 16), found[1]))
        for line in run("readelf", "-sW", path).splitlines():
            found = re.match(r"\s*\d+: ([0-9a-f]+)\s+(\S+)\s+(<OS specific>: 10|\S+)\s+\S+\s+\S+"
                             r"\s+(?:\[.*?\]\s+)?\d+\s+(\S+)", line)
            if found:
                kind = "IFUNC" if found[3].startswith("<") else found[3]
                symbol = Symbol(int(found[1], 16), int(found[2], 0), kind)
                self.by_name[without_version(found[4])].append(symbol)
        functions = [symbol for symbols in self.by_name.values() for symbol in symbols
                     if symbol.type in ("FUNC", "IFUNC") and symbol.size]
        functions.sort()
        self.starts = [symbol.address for symbol in functions]
        self.ends = []
        for symbol in functions:
            last = self.ends[-1] if self.ends else 0
            self.ends.append(max(last, symbol.address + symbol.size))

    def addresses(self, count, seed):
        """Random bytes of the executable sections."""
        chance = random.Random(seed)
        total = sum(size for _, size, _ in self.sections)
        places = sorted(chance.randrange(total) for _ in range(count))
        result, done = [], 0
        for start, size, _ in self.sections:
            while places and places[0] < done + size:
                result.append(start + places.pop(0) - done)
            done += size
        return result

    def section_of(self, address):
        return next((name for start, size, name in self.sections
                     if start <= address < start + size), "")

    def share_an_address(self, one, other):
        return bool({symbol.address for symbol in self.by_name.get(one, ())} &
                    {symbol.address for symbol in self.by_name.get(other, ())})

    def is_label(self, name):
        """True if it is a symbol without type and size."""
        symbols = self.by_name.get(name, ())
        return bool(symbols) and all(symbol.type == "NOTYPE" and not symbol.size
                                     for symbol in symbols)

    def covers(self, name, address):
        return any(symbol.address <= address < symbol.address + symbol.size
                   for symbol in self.by_name.get(name, ()))

    def function_covers(self, address):
        i = bisect.bisect_right(self.starts, address)
        return i > 0 and self.ends[i - 1] > address


# --- answers ---------------------------------------------------------------------------------


def frames_of(line):
    return [Frame(symbol["FunctionName"], symbol["FileName"], symbol["Line"], symbol["Column"],
                  symbol["StartLine"]) for symbol in json.loads(line)["Symbol"]]


def ask(program, path, addresses):
    """One chain per address, leaf first."""
    stdin = "".join(f"0x{address:x}\n" for address in addresses)
    out = run(program, "-e", path, "--output-style=JSON", "--no-demangle", stdin=stdin)
    answers = [frames_of(line) for line in out.splitlines()]
    if len(answers) != len(addresses):
        raise RuntimeError(f"{program} gave {len(answers)} answers for {len(addresses)} addresses")
    return answers


def build_libdw_index(path, index):
    """An index of the same file, read with libdw."""
    with open(path, "rb") as main, open(index, "w+b") as out, tempfile.TemporaryFile() as report:
        subprocess.run([WORKER, "build", f"--report={report.fileno()}", f"--out={out.fileno()}",
                        "--dwarf-backend=libdw", f"--memory-max={8 << 30}",
                        f"main={main.fileno()}"], check=True,
                       pass_fds=(main.fileno(), out.fileno(), report.fileno()))
        report.seek(0)
        if b"status ok\n" not in report.read():
            raise RuntimeError("the libdw backend could not read the file")


# --- classes of differences ------------------------------------------------------------------


def without_version(name):
    return name if name.startswith("..@") else name.split("@")[0]


class Difference:
    """The answers to one address, ours and llvm-symbolizer's, and where they are not the same."""

    def __init__(self, address, ours, theirs, symbols):
        self.address = address
        self.ours = ours
        self.theirs = theirs
        self.symbols = symbols
        self.places = set()  # (frame, field)
        if len(ours) != len(theirs):
            self.places.add((0, "depth"))
            return
        for i, (our, their) in enumerate(zip(ours, theirs)):
            self.places |= {(i, field) for field in Frame._fields
                            if getattr(our, field) != getattr(their, field)}

    def outer_names(self):
        """Both names of the outermost frame, if they differ: the place, ours, theirs."""
        place = (len(self.ours) - 1, "name")
        if place in self.places:
            yield place, self.ours[-1].name, without_version(self.theirs[-1].name)


# Each class yields the places that it explains.


def version(it):
    for place, ours, theirs in it.outer_names():
        if ours == theirs:
            yield place


def alias(it):
    for place, ours, theirs in it.outer_names():
        if ours != theirs and it.symbols.share_an_address(ours, theirs):
            yield place


def cold_part(it):
    for place, ours, theirs in it.outer_names():
        whole = re.sub(r"\.cold(\.\d+)?$", "", theirs)
        if whole != theirs and (whole == ours or it.symbols.share_an_address(ours, whole)):
            yield place


def resolver(it):
    for place, ours, theirs in it.outer_names():
        if ours.endswith("_ifunc") and any(symbol.type == "IFUNC" for symbol in
                                           it.symbols.by_name.get(theirs, ())):
            yield place


def stub(it):
    if it.symbols.section_of(it.address).startswith(".plt"):
        for place, ours, _ in it.outer_names():
            if ours == "" or ours.endswith("@plt"):
                yield place


def label(it):
    for place, ours, theirs in it.outer_names():
        if theirs.startswith("..@") or (it.symbols.is_label(theirs) and
                                        it.symbols.covers(ours, it.address)):
            yield place


def beyond_its_size(it):
    if not it.symbols.function_covers(it.address) and it.ours[-1].name == "":
        for place, _, theirs in it.outer_names():
            if theirs in it.symbols.by_name and not it.symbols.covers(theirs, it.address):
                yield place


def covering_symbol(it):
    for place, ours, theirs in it.outer_names():
        if theirs == "" and it.symbols.covers(ours, it.address):
            yield place


def file_symbol(it):
    for i, field in it.places:
        if field == "file" and it.ours[i].file == "" and it.theirs[i].line == 0:
            yield i, field


def padding(it):
    if len(it.ours) == 1 and len(it.theirs) == 1 and it.ours[0].start_line == 0 and \
            it.theirs[0].line == 0 and it.theirs[0].start_line == 0 and \
            it.ours[0].name == it.theirs[0].name and \
            (it.ours[0].name == "" or it.ours[0].name.startswith("__pfx_")):
        yield from it.places


def thunk(it):
    if len(it.theirs) == 1 and it.theirs[0].start_line == 0 and \
            re.match("_ZT[hv]", it.theirs[0].name) and it.ours[-1].start_line > 0:
        yield from it.places


def plain_path(path):
    return re.sub(r"(?<![^/])(\./|/+)", "", "/" + path) if path else path


def path_spelling(it):
    for i, field in it.places:
        if field == "file" and plain_path(it.ours[i].file) == plain_path(it.theirs[i].file):
            yield i, field


def scopes(it):
    for i, field in it.places:
        if field == "name" and it.theirs[i].name and \
                it.ours[i].name.endswith("::" + it.theirs[i].name):
            yield i, field


CLASSES = {"version": version, "alias": alias, "cold part": cold_part, "resolver": resolver,
           "stub": stub, "label": label, "beyond its size": beyond_its_size,
           "covering symbol": covering_symbol, "file symbol": file_symbol, "padding": padding,
           "thunk": thunk, "path spelling": path_spelling, "scopes": scopes}


def empty_last_row(ours, libdw, theirs):
    """Only the leaf's place is another, and llvm-symbolizer has ours."""
    places = [(chain[0].file, chain[0].line, chain[0].column) for chain in (ours, theirs)]
    return (places[0] == places[1] and ours[0].name == libdw[0].name and ours[1:] == libdw[1:] and
            ours[0].start_line == libdw[0].start_line)


def explain(it):
    """The names of the classes that apply, and whether they leave nothing over."""
    left, names = set(it.places), []
    for name, places in CLASSES.items():
        explained = set(places(it))
        if explained:
            names.append(name)
            left -= explained
    return names, not left


def undocumented():
    with open(DOCUMENT, encoding="utf-8") as document:
        headings = re.findall(r"^### (.*)$", document.read(), re.MULTILINE)
    return sorted((set(CLASSES) | {"empty last row"}) - set(headings))


# --- comparing -------------------------------------------------------------------------------


class Outcome:
    def __init__(self):
        self.count = 0
        self.same = 0
        self.classes = collections.Counter()
        self.unexplained = []
        self.direct = []  # index and file itself
        self.libdw = []   # our reader and libdw

    def is_good(self):
        return len(self.unexplained) <= self.count * UNEXPLAINED_SHARE_MAX

    def lines(self, show):
        yield f"{self.same} of {self.count} equal ({100 * self.same / self.count:.2f} %)"
        for name, count in self.classes.most_common():
            yield f"{count:8} {100 * count / self.count:8.3f} %  {name}"
        yield f"{len(self.unexplained):8} unexplained"
        for name, cases in (("unexplained", self.unexplained), ("index, file", self.direct),
                            ("our reader, libdw", self.libdw)):
            for address, one, other in cases[:show]:
                yield f"{name}: {address:#x}"
                yield from (f"  {frame}" for frame in map(tuple, one))
                yield "  --"
                yield from (f"  {frame}" for frame in map(tuple, other))


def unequal(addresses, some, others):
    return [case for case in zip(addresses, some, others) if case[1] != case[2]]


def single_slashes(answers):
    """libdw joins a directory that ends in a slash with a second one."""
    return [[frame._replace(file=re.sub("//+", "/", frame.file)) for frame in answer]
            for answer in answers]


def compare(path, count, seed):
    """Asks all about the file at `path`."""
    symbols = Symbols(path)
    addresses = symbols.addresses(count, seed)
    outcome = Outcome()
    outcome.count = len(addresses)
    with tempfile.TemporaryDirectory(prefix="real-files-") as folder:
        index = os.path.join(folder, "index")
        run(SYMBOLIZE, "index", path, "-o", index)
        ours = ask(SYMBOLIZE, index, addresses)
        build_libdw_index(path, index)
        libdw = single_slashes(ask(SYMBOLIZE, index, addresses))
    few = addresses[::DIRECT_SHARE]
    outcome.direct = unequal(few, ours[::DIRECT_SHARE], ask(SYMBOLIZE, path, few))
    theirs = ask(LLVM, path, addresses)
    for address, our, other, their in zip(addresses, single_slashes(ours), libdw,
                                          single_slashes(theirs)):
        if our != other and empty_last_row(our, other, their):
            outcome.classes["empty last row"] += 1
        elif our != other:
            outcome.libdw.append((address, our, other))
    for address, our, their in zip(addresses, ours, theirs):
        if our == their:
            outcome.same += 1
            continue
        names, is_explained = explain(Difference(address, our, their, symbols))
        outcome.classes.update(names)
        if not is_explained:
            outcome.unexplained.append((address, our, their))
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="of " + ", ".join(file.name for file in FILES))
    parser.add_argument("--all", action="store_true", help="the large files too")
    parser.add_argument("--addresses", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10, help="so many cases of each kind")
    options = parser.parse_args()
    if not shutil.which(LLVM):
        sys.exit(f"{LLVM} is not installed")
    good = True
    with cache_folder() as folder:
        for file in FILES:
            if file.name not in options.names and (options.names or
                                                   not (file.is_small or options.all)):
                continue
            try:
                path = obtain(file, folder)
            except Unavailable as reason:
                print(f"{file.name}: left out: {reason}")
                continue
            outcome = compare(path, options.addresses, options.seed)
            print(f"{file.name} ({file.package} {file.version}), seed {options.seed}")
            print("\n".join("  " + line for line in outcome.lines(options.show)), flush=True)
            good = good and outcome.is_good() and not outcome.direct and not outcome.libdw
    sys.exit(not good)


if __name__ == "__main__":
    main()
