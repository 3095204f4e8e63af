#!/usr/bin/python3
"""`symbolize upload` against a DebuginfoService that is not ours: grpc_go/server, written with grpc-go
from the facts of Parca's protocol, with what can go wrong on the way."""
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import go_module
import service
from service import Tap

SYMBOLIZE = os.path.join(service.BUILD, "symbolize")
ID_TAIL = "5a" * 19
tap = Tap()


class OtherServer:
    """The Go server; `seen` is what it told."""

    def __init__(self, program, strategy):
        self.seen = []
        self.address = None
        self.listens = threading.Event()
        self.program = go_module.Program([program, strategy],
                                         {"listening": self.listening, "saw": self.saw})
        self.thread = threading.Thread(target=self.program.run)
        self.thread.start()
        if not self.listens.wait(service.PATIENCE_S):
            raise TimeoutError("the other server does not listen")

    def saw(self, *words):
        self.seen.append(" ".join(words))

    def listening(self, address):
        self.address = address
        self.listens.set()

    def close(self):
        self.program.process.stdin.close()
        self.thread.join(service.PATIENCE_S)


def binary(directory, fault, size=0):
    """A program whose build ID begins with `fault`, made at least `size` bytes large."""
    path = os.path.join(directory, f"program-{fault}")
    service.compile_sample(directory, f"program-{fault}", salt=int(fault, 16),
                           flags=("-g", f"-Wl,--build-id=0x{fault}{ID_TAIL}"))
    if os.path.getsize(path) < size:
        os.truncate(path, size)
    return path


def upload(server, *words):
    done = subprocess.run([SYMBOLIZE, "upload", "--server", f"http://{server.address}", *words],
                          capture_output=True, text=True, timeout=4 * service.PATIENCE_S)
    return done.returncode, done.stdout, done.stderr


def check(name, server, words, code, pattern):
    got, out, errors = upload(server, *words)
    tap.ok(got == code and re.search(pattern, out) is not None, name,
           [f"status {got}, want {code}; want {pattern}", *out.splitlines(), *errors.splitlines()])


def arrived(name, server, path, way):
    """The bytes that the other server has are those of the file."""
    digest = hashlib.sha256(service.read_bytes(path)).hexdigest()
    wanted = f"{way} {service.gnu_build_id(path)} {digest}"
    tap.ok(wanted in server.seen, name, [f"want {wanted}", *server.seen[-20:]])


def check_good_ways(directory, server, way):
    path = binary(directory, "00")
    large = binary(directory, "10", 40_000_001)
    check(f"{way}: a file is uploaded", server, [path], 0, r": uploaded, \d+ bytes, gnu 00")
    arrived(f"{way}: and its bytes arrive", server, path, way)
    check(f"{way}: again: already there", server, [path], 0, r": already there")
    check(f"{way}: forced: uploaded", server, ["--force", path], 0, r": uploaded")
    check(f"{way}: another type: uploaded", server, ["--type", "executable", path], 0, r": uploaded")
    check(f"{way}: 40 MB are uploaded", server, [large], 0, r": uploaded, 40000001 bytes")
    arrived(f"{way}: and their bytes arrive", server, large, way)
    bare = service.compile_sample(directory, f"bare{way}", flags=("-g", "-Wl,--build-id=none"))
    check(f"{way}: no build ID: uploaded under the htlhash", server, [bare], 0,
          rf": uploaded, .*{service.htlhash(bare)}")
    tap.ok(any(f"should {service.htlhash(bare)} kind=2 type=0" in line for line in server.seen),
           f"{way}: and said to be one", server.seen[-20:])
    check(f"{way}: Unavailable from each call, then well: uploaded", server,
          [binary(directory, "01", 5_000_000)], 0, r": uploaded, 5000000 bytes")
    arrived(f"{way}: and the bytes arrive whole", server, binary(directory, "01", 5_000_000), way)


def check_refusals(directory, server):
    refused = {
        "02": ("AlreadyExists from InitiateUpload: already there", 0, r": already there"),
        "06": ("no instructions: a failure that says so", 1, r": failed, .*no upload instructions"),
        "07": ("an unknown strategy: a failure that says so", 1, r": failed, .*strategy"),
        "09": ("refused at the end: a failure with the reason", 1,
               r": failed, .*not what was claimed"),
        "0b": ("Internal: a failure with the reason", 1, r": failed, .*a bug of this server"),
    }
    for fault, (name, code, pattern) in refused.items():
        check(name, server, [binary(directory, fault)], code, pattern)
    check("FailedPrecondition from InitiateUpload: a failure, and try again later", server,
          [binary(directory, "03")], 3, r": failed, .*in-progress")
    check("refused in mid-stream of 100 MB: a failure with the reason", server,
          [binary(directory, "04", 100_000_000)], 1, r": failed, .*I have seen enough")
    check("a reason of 4 KiB with odd bytes, a space at its end, is shown on one line", server,
          [binary(directory, "0a", 50_000_000)], 1, r"\A[^\n]*: failed, [^\n]*zu groß 太大[^\n]*\n\Z")
    check("Unavailable in mid-stream of 100 MB, then well: uploaded", server,
          [binary(directory, "05", 100_000_000)], 0, r": uploaded, 100000000 bytes")
    arrived("and the bytes arrive once", server, binary(directory, "05", 100_000_000), "upload")
    check("ResourceExhausted, then well: uploaded", server, [binary(directory, "08")], 0,
          r": uploaded")


def main():
    program, = go_module.build("server")
    with tempfile.TemporaryDirectory() as directory:
        for strategy, way in (("GRPC", "upload"), ("SIGNED_URL", "put")):
            server = OtherServer(program, strategy)
            try:
                check_good_ways(directory, server, way)
                if strategy == "GRPC":
                    check_refusals(directory, server)
            finally:
                server.close()
    os.remove(program)
    tap.finish()


main()
