#!/usr/bin/python3
"""symbolize answers in the shapes of llvm-symbolizer, and its JSON is what JSON readers read."""
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import tty

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import samples
from samples import line_of, symbolize
from tap import Tap


def chain(sample):
    return [("inner", line_of("inner line"), line_of("inner starts")),
            ("middle", line_of("middle line"), line_of("middle starts")),
            ("outer", line_of("outer line"), line_of("outer starts"))]


def places(answer):
    """An LLVM answer without its columns."""
    return [line.rsplit(":", 1)[0] if line.startswith("/") or line.startswith("??:") else line
            for line in answer.splitlines()]


def check_llvm(tap, sample):
    address = hex(sample.address())
    want = [word for name, line, _ in chain(sample) for word in (name, f"{sample.source}:{line}")]
    answer = symbolize("-e", sample.path, address)
    tap.ok(places(answer.stdout) == want + [""] and answer.returncode == 0,
           "an address has its whole chain of inlined calls, then a blank line", answer.stdout)
    same = symbolize(f"--obj={sample.path}", str(sample.address()))
    tap.ok(same.stdout == answer.stdout, "decimal addresses and --obj mean the same", same.stdout)
    pretty = symbolize("-e", sample.path, "-p", "-a", "-s", address).stdout.splitlines()
    tap.ok(len(pretty) == 4 and pretty[3] == "" and
           pretty[0].startswith(f"{address}: inner at sample.c:{line_of('inner line')}:") and
           pretty[2].startswith(f" (inlined by) outer at sample.c:{line_of('outer line')}:"),
           "--pretty-print, --addresses and --basenames shape it", pretty)
    one = symbolize("-e", sample.path, "--no-inlines", address)
    tap.ok(places(one.stdout) == ["outer", f"{sample.source}:{line_of('inner line')}", ""],
           "--no-inlines leaves the function and the line that executes", one.stdout)
    lines = symbolize("-e", sample.path, "--functions=none", address)
    tap.ok(places(lines.stdout) == want[1::2] + [""], "--functions=none leaves the lines",
           lines.stdout)
    unknown = symbolize("-e", sample.path, "0x10")
    tap.ok(unknown.stdout == "??\n??:0:0\n\n" and unknown.returncode == 0,
           "an address that nobody knows is answered with question marks", unknown.stdout)


def check_standard_input(tap, sample):
    address = hex(sample.address())
    answer = symbolize("-e", sample.path, address).stdout
    lines = f"{address}\nfoo\n\n  {address} words\r\nCODE {address}\n-1\n9z"
    echoed = symbolize("-e", sample.path, stdin=lines)
    unknown = "??\n??:0:0\n\n"
    tap.ok(echoed.stdout == answer + unknown + unknown + answer + answer + unknown + unknown and
           echoed.returncode == 0 and "'9z'" in echoed.stderr,
           "lines that are no question are answered as unknown", echoed.stdout)
    named = symbolize(stdin=f"{sample.path} {address}\nCODE \"{sample.path}\" {address}\nfoo\n")
    tap.ok(named.stdout == answer + answer + unknown,
           "without -e each line names its file", named.stdout)
    argument = symbolize(f"{sample.path} {address}")
    tap.ok(argument.stdout == answer, "and so can an argument", argument.stdout)
    start, size = sample.table["outer"]
    data = symbolize(stdin=f"DATA {sample.path} {start:#x}\nDATA {sample.path} 0x10\n")
    tap.ok(data.stdout == f"outer\n{start} {size}\n??:?\n\n??\n0 0\n??:?\n\n" and
           data.returncode == 0, "DATA is answered from the symbol table", data.stdout)
    frame = symbolize(stdin=f"FRAME {sample.path} {address}\n")
    tap.ok(frame.returncode == 1 and "FRAME" in frame.stderr and frame.stdout == "??\n\n",
           "FRAME is refused aloud", frame.stderr)
    symbol = symbolize("-e", sample.path, "outer", f"outer+{size - 1}", "nothing")
    tap.ok(places(symbol.stdout)[:2] == ["outer", f"{sample.source}:{line_of('outer starts')}"] and
           symbol.stdout.count("outer\n") == 2 and symbol.stdout.endswith(unknown),
           "a symbol may stand for an address", symbol.stdout)


def check_context(tap, sample):
    address = hex(sample.address())
    answer = symbolize("-e", sample.path, "--print-source-context-lines=3", "--no-inlines",
                       address).stdout.splitlines()
    line = line_of("inner line")
    tap.ok(len(answer) == 6 and answer[3].startswith(f"{line} >:") and "inner line" in answer[3],
           "--print-source-context-lines shows the lines around", answer)
    relative = symbolize("-e", sample.path, "--relativenames", "--functions=none", address)
    tap.ok(relative.stdout.startswith(f"sample.c:{line}:"),
           "--relativenames leaves out the compilation directory", relative.stdout)


def check_build_id(tap, sample, folder):
    """The debug file of a build ID, in a tree of its own."""
    build_id = re.search(r"Build ID: (\w+)", samples.run("readelf", "-n", sample.path))[1]
    tree = os.path.join(folder, "tree", ".build-id", build_id[:2])
    os.makedirs(tree)
    samples.run("objcopy", "--only-keep-debug", sample.path,
                os.path.join(tree, build_id[2:] + ".debug"))
    address = hex(sample.address())
    answer = symbolize("-e", sample.path, address).stdout
    where = f"--debug-file-directory={folder}/tree"
    by_id = symbolize(f"--build-id={build_id}", where, address)
    tap.ok(by_id.stdout == answer and by_id.returncode == 0, "--build-id finds a debug file",
           by_id.stderr)
    by_line = symbolize(where, f"BUILDID:{build_id.upper()} {address}")
    tap.ok(by_line.stdout == answer, "and so does BUILDID: in a line", by_line.stderr)
    unknown = symbolize("--build-id=abcdef", where, address)
    tap.ok(unknown.stdout == "??\n??:0:0\n\n" and unknown.returncode == 1 and
           "ABCDEF" in unknown.stderr, "an ID without a file is complained of", unknown.stderr)
    stripped = os.path.join(folder, "stripped")
    samples.run("objcopy", "--strip-all", sample.path, stripped)
    for option in (where, f"--debug-dir={folder}/tree", f"--fallback-debug-path={folder}/tree"):
        found = symbolize("-e", stripped, option, address)
        tap.ok(found.stdout == answer, f"{option.split('=')[0]} is searched", found.stdout)


def check_dialogue(tap, sample):
    """A peer that waits for each answer before it asks again gets all of them."""
    address = hex(sample.address())
    for style, last in (("LLVM", ""), ("GNU", None), ("JSON", None)):
        process = subprocess.Popen([samples.SYMBOLIZE, "-e", sample.path,
                                    f"--output-style={style}"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        answers = []
        for _ in range(3):
            process.stdin.write(address + "\n")
            process.stdin.flush()
            answer = [process.stdout.readline()]
            while last is not None and answer[-1].strip() != last:
                answer.append(process.stdout.readline())
            answers.append("".join(answer))
        rest, _ = process.communicate()
        tap.ok(len(set(answers)) == 1 and answers[0].strip() and rest == "",
               f"style {style}: each answer can be read before the next question is asked")


def check_terminal(tap, sample):
    """Typed at a terminal, odd lines too: each answer ends with a blank line before the next."""
    control, terminal = pty.openpty()
    tty.setraw(terminal)
    process = subprocess.Popen([samples.SYMBOLIZE, "-e", sample.path], stdin=terminal,
                               stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    answers = []
    for question in (hex(sample.address()), "", "9z", "outer", "nothing", "DATA 0x10"):
        os.write(control, question.encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n\n"):
            answer += os.read(control, 4096)
        answers.append(answer.decode())
    process.kill()
    process.wait()
    os.close(control)
    tap.ok(answers[0] == symbolize("-e", sample.path, hex(sample.address())).stdout and
           answers[1] == answers[2] == answers[4] == "??\n??:0:0\n\n" and
           answers[3].startswith("outer\n") and answers[5] == "??\n0 0\n??:?\n\n",
           "at a terminal every line is answered at once", answers)


def check_names(tap, sample, folder):
    """Under the names of LLVM's tools, with the variables that give them options."""
    address = sample.address()
    place = f"sample.c:{line_of('inner line')}"
    runs = {}
    for name, *arguments in (("llvm-symbolizer", "--output-style=GNU", str(address)),
                             ("llvm-addr2line", f"{address:x}")):
        link = os.path.join(folder, name)
        os.symlink(os.path.abspath(samples.SYMBOLIZE), link)
        options = {"LLVM_SYMBOLIZER_OPTS": "-a '-p' --no-inlines", "LLVM_ADDR2LINE_OPTS": "-s"}
        runs[name] = subprocess.run([link, "-e", sample.path, *arguments], text=True, check=True,
                                    capture_output=True, env=os.environ | options).stdout
    tap.ok(runs["llvm-symbolizer"] == f"{address:#x}: inner at {sample.source}"
           f":{line_of('inner line')}\n", "llvm-symbolizer's GNU shape keeps LLVM's addresses",
           runs["llvm-symbolizer"])
    tap.ok(runs["llvm-addr2line"] == place + "\n", "llvm-addr2line reads hexadecimal addresses",
           runs["llvm-addr2line"])


def check_json(tap, sample):
    address = hex(sample.address())
    answer = symbolize("-e", sample.path, "--output-style=JSON", address, "0x10")
    both = json.loads(answer.stdout)
    frames = [(frame["FunctionName"], frame["Line"], frame["StartLine"])
              for frame in both[0]["Symbol"]]
    tap.ok(frames == chain(sample) and answer.stdout.count("\n") == 1,
           "JSON for arguments is one array on one line", answer.stdout)
    keys = ["Column", "Discriminator", "FileName", "FunctionName", "Line", "StartAddress",
            "StartFileName", "StartLine"]
    tap.ok(all(list(frame) == keys for one in both for frame in one["Symbol"]),
           "every frame has llvm-symbolizer's keys in its order")
    tap.ok(both[0]["ModuleName"] == sample.path and both[0]["Address"] == address and
           both[0]["Symbol"][-1]["StartAddress"] == hex(sample.address("outer")),
           "module, address and start address are there")
    tap.ok(both[1]["Symbol"] == [dict(zip(keys, [0, 0, "", "", 0, "", "", 0]))],
           "an unknown address is one empty frame")
    lines = symbolize("-e", sample.path, "--output-style=JSON", stdin=f"{address}\n9z\n0x10\n")
    objects = [json.loads(line) for line in lines.stdout.splitlines()]
    tap.ok(objects[0] == both[0] and objects[2] == both[1] and
           objects[1] == {"ModuleName": sample.path, "Symbol": both[1]["Symbol"]},
           "JSON for standard input is one object a line", lines.stdout)
    pretty = symbolize("-e", sample.path, "--output-style=JSON", "-p", address, "0x10")
    tap.ok(json.loads(pretty.stdout) == both and
           pretty.stdout == json.dumps(both, indent=2) + "\n",
           "--pretty-print indents it by two", pretty.stdout)


def check_odd_names(tap, folder):
    """Symbol names may hold any byte but NUL."""
    source = os.path.join(folder, "odd.s")
    names = ["quote", "high", "control"]
    with open(source, "w", encoding="ascii") as file:
        file.write(".text\n" + "".join(f".globl {name}\n.type {name},@function\n{name}: nop\n"
                                       f".size {name},1\n" for name in names))
    path = os.path.join(folder, "odd.o")
    samples.run("as", "-o", path, source)
    with open(path, "rb") as file:
        data = file.read()
    for name, odd in ((b"quote\0", b"q\"\\\n'\0"), (b"high\0", b"\xff\xc3\xa9\xad\0"),
                      (b"control\0", b"\x01\x02\t\x1b\x7f\r\n\0")):
        assert data.count(name) == 1 and len(odd) == len(name), name
        data = data.replace(name, odd)
    with open(path, "wb") as file:
        file.write(data)
    answer = subprocess.run([samples.SYMBOLIZE, "-e", path, "--output-style=JSON", "0", "1", "2"],
                            capture_output=True, check=True)
    found = [one["Symbol"][0]["FunctionName"] for one in json.loads(answer.stdout.decode("utf-8"))]
    tap.ok(found == ["q\"\\\n'", "\ufffd\u00e9\ufffd", "\x01\x02\t\x1b\x7f\r\n"],
           "JSON with odd bytes in names is valid UTF-8 and JSON", repr(found))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="shapes-") as folder:
        sample = samples.Sample(folder)
        check_llvm(tap, sample)
        check_standard_input(tap, sample)
        check_dialogue(tap, sample)
        check_terminal(tap, sample)
        check_names(tap, sample, folder)
        check_context(tap, sample)
        check_build_id(tap, sample, folder)
        check_json(tap, sample)
        check_odd_names(tap, folder)
    tap.finish()


main()
