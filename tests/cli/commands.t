#!/usr/bin/python3
"""Errors, exit codes, inspect, upload, and what the program loads."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import samples
from samples import symbolize
from tap import Tap


def check_errors(tap, sample, folder):
    missing = symbolize("-e", os.path.join(folder, "missing"), "0x10", "0x20")
    tap.ok(missing.returncode == 1 and missing.stdout == "" and
           missing.stderr.count("No such file") == 1 and "missing" in missing.stderr,
           "a missing file is named with the reason, and the exit code is 1", missing.stderr)
    named = symbolize(stdin="missing 0x10\nmissing 0x20\n")
    tap.ok(named.returncode == 1 and named.stdout == "??\n??:0:0\n\n" * 2 and
           named.stderr.count("No such file") == 1,
           "one that lines name is answered as unknown and complained of once", named.stderr)
    text = symbolize("-e", sample.source, "0x10")
    tap.ok(text.returncode == 1 and "sample.c" in text.stderr and "ELF" in text.stderr,
           "a file of another kind is named with the reason", text.stderr)
    folder_result = symbolize("-e", folder, "0x10")
    tap.ok(folder_result.returncode == 1 and folder in folder_result.stderr,
           "a folder is refused", folder_result.stderr)
    as_json = symbolize("--output-style=JSON", "-e", os.path.join(folder, "missing"), "0x10")
    tap.ok(as_json.returncode == 1 and '"Message":"No such file or directory"' in as_json.stdout,
           "JSON carries the reason", as_json.stdout)
    for arguments in (["-q"], ["--output-style=XML"], ["-e"], ["inspect"]):
        usage = symbolize(*arguments)
        tap.ok(usage.returncode == 2 and usage.stdout == "" and "symbolize: " in usage.stderr,
               f"wrong usage ({' '.join(arguments)}) is exit code 2", usage.stderr)
    usage = symbolize("--help")
    tap.ok(usage.returncode == 0 and "Exit codes: 0" in usage.stdout,
           "--help tells the exit codes")
    tap.ok(re.fullmatch(r"symbolize \d[\w.]*\n", symbolize("--version").stdout),
           "--version tells the version")
    with open("/dev/full", "w", encoding="ascii") as full:
        process = subprocess.run([samples.SYMBOLIZE, "-e", sample.path, "0x10"], stdout=full,
                                 stderr=subprocess.PIPE, text=True, check=False)
    tap.ok(process.returncode == 1 and "standard output" in process.stderr,
           "a full disk is an error", process.stderr)


def check_other_forms(tap, sample, folder):
    """The same program compressed, or in two files, answers the same."""
    lines = "".join(f"0x{address:x}\n" for address in sample.addresses())
    whole = symbolize("-e", sample.path, stdin=lines).stdout
    for kind in ("zlib-gabi", "zlib-gnu", "zstd"):
        path = os.path.join(folder, kind)
        samples.run("objcopy", f"--compress-debug-sections={kind}", sample.path, path)
        tap.ok(symbolize("-e", path, stdin=lines).stdout == whole,
               f"sections compressed by {kind} answer the same")
    debug, stripped = os.path.join(folder, "debug"), os.path.join(folder, "stripped")
    samples.run("objcopy", "--only-keep-debug", sample.path, debug)
    samples.run("objcopy", "--strip-all", sample.path, stripped)
    tap.ok(symbolize("-e", debug, stdin=lines).stdout == whole,
           "a debug file answers the same")
    tap.ok(symbolize("-e", stripped, f"--debug-file={debug}", stdin=lines).stdout == whole,
           "a stripped file with --debug-file answers the same")
    tap.ok(symbolize("-e", sample.path, "--adjust-vma=0x1000", hex(sample.address() + 0x1000))
           .stdout == symbolize("-e", sample.path, hex(sample.address())).stdout,
           "--adjust-vma is subtracted")


def build_index(sample, folder):
    path = os.path.join(folder, "index")
    source = os.open(sample.path, os.O_RDONLY)
    out = os.open(path, os.O_RDWR | os.O_CREAT)
    report = os.open(os.path.join(folder, "report"), os.O_RDWR | os.O_CREAT)
    subprocess.run([samples.WORKER, "build", f"--report={report}", f"--out={out}",
                    f"main={source}"], pass_fds=(source, out, report), check=True,
                   stderr=subprocess.PIPE)
    for fd in (source, out, report):
        os.close(fd)
    return path


def check_inspect(tap, sample, folder):
    build_id = re.search(r"Build ID: (\w+)", samples.run("readelf", "-n", sample.path))[1]
    elf = symbolize("inspect", sample.path)
    tap.ok(elf.returncode == 0 and f"id gnu: {build_id}\n" in elf.stdout and
           "contents: dwarf symtab" in elf.stdout and
           re.search(r"^id htlhash: [0-9a-f]{32}$", elf.stdout, re.M) and
           re.search(r"^executable: 0x", elf.stdout, re.M),
           "inspect shows ids, contents and extents of an ELF file", elf.stdout)
    path = build_index(sample, folder)
    index = symbolize("inspect", path)
    tap.ok(index.returncode == 0 and f"id gnu: {build_id}\n" in index.stdout and
           "verified: " in index.stdout and re.search(r"^functions: [1-9]", index.stdout, re.M),
           "inspect shows and verifies an index", index.stdout + index.stderr)
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        file.seek(size // 2)
        byte = file.read(1)
        file.seek(size // 2)
        file.write(bytes([byte[0] ^ 0xff]))
    broken = symbolize("inspect", path)
    tap.ok(broken.returncode == 1 and path in broken.stderr and "verified" not in broken.stdout,
           "a damaged index is said to be one", broken.stdout + broken.stderr)
    both = symbolize("inspect", sample.source, sample.path)
    tap.ok(both.returncode == 1 and "sample.c" in both.stderr and f"{build_id}" in both.stdout,
           "a file that cannot be inspected does not hide the next one", both.stderr)


def check_upload(tap, folder):
    """The helper program is found beside this one and gets the command line."""
    program = os.path.join(folder, "symbolize")
    shutil.copy(samples.SYMBOLIZE, program)
    alone = subprocess.run([program, "upload", "x"], capture_output=True, text=True, check=False)
    tap.ok(alone.returncode == 1 and os.path.join(folder, "symbolize-remote") in alone.stderr,
           "without the helper program upload says what is missing", alone.stderr)
    helper = os.path.join(folder, "symbolize-remote")
    with open(helper, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 7\n")
    os.chmod(helper, 0o755)
    run = subprocess.run([program, "upload", "a b", "--server", "http://x"], capture_output=True,
                         text=True, check=False)
    tap.ok(run.stdout == "<upload><a b><--server><http://x>" and run.returncode == 7,
           "upload becomes the helper program with the same arguments", run.stdout + run.stderr)


def check_libraries(tap):
    network = re.compile(r"lib(curl|gnutls|ssl|crypto|nghttp2|microhttpd|protobuf|sqlite3)")
    loaded = samples.run("ldd", samples.SYMBOLIZE)
    tap.ok("libelf" in loaded and not network.search(loaded),
           "the offline program loads no network library", loaded)
    with_network = samples.run("ldd", os.path.join(samples.BUILD, "symbolize-remote"))
    tap.ok(network.search(with_network), "which the remote one does, so the check can fail")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        sample = samples.Sample(folder)
        check_errors(tap, sample, folder)
        check_other_forms(tap, sample, folder)
        check_inspect(tap, sample, folder)
        check_upload(tap, folder)
    check_libraries(tap)
    tap.finish()


main()
