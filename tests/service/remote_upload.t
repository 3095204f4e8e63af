#!/usr/bin/python3
"""`symbolize upload`'s network part against the real server: outcomes, reasons, exit statuses."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap

PROGRAM = os.path.join(service.BUILD, "symbolize-remote")
tap = Tap()


def run(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True,
                          timeout=service.PATIENCE_S)
    return done.returncode, done.stdout, done.stderr


def check(name, words, code, out=(), err=""):
    """Each line of the output matches its pattern, and so does the whole of stderr."""
    got = run(*words)
    lines = got[1].splitlines()
    tap.ok(got[0] == code and len(lines) == len(out) and re.search(err, got[2]) is not None
           and all(re.fullmatch(pattern, line) for pattern, line in zip(out, lines)), name,
           [f"status {got[0]}, want {code}", *lines, got[2]])


def check_outcomes(directory, server):
    path = service.compile_sample(directory, "program")
    build_id = service.gnu_build_id(path)
    size = os.path.getsize(path)
    url = f"http://127.0.0.1:{server.ports['grpc']}"
    up = ("upload", "--server", url)
    there = rf"{path}: already there, gnu {build_id}: Debuginfo already exists and .*"

    check("a new binary is uploaded", (*up, path), 0,
          [rf"{path}: uploaded, {size} bytes, gnu {build_id}"])
    answer = server.debuginfo().ShouldInitiateUpload(
        server.messages.ShouldInitiateUploadRequest(build_id=build_id))
    tap.ok(not answer.should_initiate_upload, "the server has it then", answer.reason)
    check("the same again is already there", (*up, path), 0, [there])
    check("by force it is uploaded again", (*up, "--force", path), 0, [rf"{path}: uploaded, .*"])
    check("another type is another upload", (*up, "--type", "executable", path), 0,
          [rf"{path}: uploaded, .*"])

    bare = service.compile_sample(directory, "bare", flags=("-g", "-Wl,--build-id=none"))
    check("a binary without a build ID goes by its htlhash", (*up, bare), 0,
          [rf"{bare}: uploaded, \d+ bytes, htlhash {service.htlhash(bare)}"])

    large = service.compile_sample(directory, "large", salt=2)
    with open(large, "ab") as file:
        file.write(os.urandom(9 << 20))
    check("a large binary goes in many chunks", (*up, large), 0,
          [rf"{large}: uploaded, {os.path.getsize(large)} bytes, .*"])

    text = os.path.join(directory, "notes.txt")
    with open(text, "w", encoding="utf-8") as file:
        file.write("no ELF file\n")
    other = service.compile_sample(directory, "other", salt=3)
    check("what cannot be uploaded fails alone, and the status says so",
          (*up, "--jobs=1", text, other, directory + "/none", path), 1,
          [rf"{text}: failed: .*ELF.*", rf"{other}: uploaded, .*",
           rf"{directory}/none: failed: cannot open it: No such file or directory", there])

    taken = service.compile_sample(directory, "taken", salt=4)
    stub, messages = server.debuginfo(), server.messages
    stub.InitiateUpload(messages.InitiateUploadRequest(
        build_id=service.gnu_build_id(taken), hash="h", size=1))
    check("an upload of somebody else that is not finished is for later", (*up, taken), 3,
          [rf"{taken}: failed, gnu [0-9a-f]+: A previous upload is still in-progress .*"])
    return path


def check_connections(path, server):
    http = f"http://127.0.0.1:{server.ports['http']}"
    check("an HTTP port is told from a gRPC one", ("upload", "--retries=0", "--server", http, path),
          3, [r".*: failed, .*is this its gRPC address\? .*"])
    grpc = f"https://127.0.0.1:{server.ports['grpc']}"
    check("https to a server without TLS fails for good", ("upload", "--insecure", "--server", grpc,
                                                           path), 1,
          [r".*: failed, .*the peer does not speak TLS 1\.3.*"])
    check("a URL of no use is refused", ("upload", "--server", "localhost:7070", path), 1,
          [r".*: failed, .*want http://host:port or .*"])
    server.stop()
    url = f"http://127.0.0.1:{server.ports['grpc']}"
    check("a server that is not there may be there later",
          ("upload", "--retries=0", "--server", url, path), 3,
          [r".*: failed, .*cannot connect: Connection refused"])


def check_usage(path):
    check("no file is wrong usage", ("upload",), 2, err="no file given")
    check("an unknown option is wrong usage", ("upload", "--nope", path), 2, err="--nope")
    check("an unknown type is wrong usage", ("upload", "--type", "source", path), 2,
          err="not a type: source")
    check("an unknown command is wrong usage", ("download",), 2, err="upload")
    code, out, _ = run("upload", "--help")
    tap.ok(code == 0 and "Exit status:" in out, "the help tells the exit statuses", out)


def main():
    with tempfile.TemporaryDirectory() as directory, service.Service() as server:
        path = check_outcomes(directory, server)
        check_connections(path, server)
        check_usage(path)
    tap.finish()


main()
