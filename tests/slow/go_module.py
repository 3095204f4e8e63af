"""Builds the Go programs of the slow tests, with stubs generated from the repository's own proto
file by exact versions of the generators. Everything is made in $BUILD; nothing generated is kept in
the tree. And runs them: see grpc_go/control."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "service"))
import service
from service import skip_all

HERE = os.path.dirname(os.path.abspath(__file__))
SEARCHED = os.environ.get("PATH", "") + ":/usr/local/go/bin"
GENERATORS = ("google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11",
              "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0")


def environment(directory):
    return {**os.environ, "PATH": f"{directory}/bin:{SEARCHED}", "GOBIN": f"{directory}/bin",
            "GOFLAGS": "-buildvcs=false -mod=readonly"}


def run(words, directory, cwd=None):
    done = subprocess.run(words, cwd=cwd, env=environment(directory),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print("\n".join("# " + line for line in done.stdout.splitlines()[-20:]))
    return done.returncode == 0


def generate(directory, module, name):
    package = f"debuginfo.proto=symbolizer.test/{name}/debuginfo"
    out = os.path.join(module, "debuginfo")
    os.makedirs(out)
    words = ["protoc", f"-I{service.ROOT}/rpc/proto"]
    for plugin in ("go", "go-grpc"):
        words += [f"--{plugin}_out={out}", f"--{plugin}_opt=M{package}",
                  f"--{plugin}_opt=paths=source_relative"]
    return run([*words, "debuginfo.proto"], directory)


def build(*programs, name="grpc_go", prepare=None):
    """Paths of the programs of a module beside this file; ends the script as skipped where Go is
    missing or has no way to its modules. `prepare`, if given, completes the copy of the module: it
    gets the directory to run Go in and the copy."""
    for needed in ("go", "protoc"):
        if not shutil.which(needed, path=SEARCHED):
            skip_all(f"{needed} is not installed")
    directory = os.path.join(os.path.abspath(service.BUILD), "slow-go")
    os.makedirs(directory, exist_ok=True)
    for generator in GENERATORS:
        if not run(["go", "install", generator], directory):
            skip_all(f"cannot install {generator}")
    module = os.path.join(directory, f"module-{os.getpid()}")
    shutil.copytree(os.path.join(HERE, name), module)
    try:
        if prepare:
            prepare(directory, module)
        if not generate(directory, module, name):
            sys.exit("the stubs cannot be generated")
        if not run(["go", "mod", "download"], directory, module):
            skip_all("the Go modules cannot be fetched")
        paths = [os.path.join(directory, f"{program}-{os.getpid()}") for program in programs]
        for program, path in zip(programs, paths):
            package = f"./{program}" if program != name else "."
            if not run(["go", "build", "-trimpath", "-o", path, package], directory, module):
                sys.exit(f"{program} does not build")
    finally:
        shutil.rmtree(module)
    return paths


class Program:
    """A Go program of ours; `requests` maps the words it may ask for to functions of the words that
    follow; one that returns None answers nothing. `environment` is added to its own. Its other
    lines are TAP of this script; `take`, if given, gets them instead."""

    def __init__(self, words, requests=None, environment=None, take=None):
        self.requests = requests or {}
        self.take = take or (lambda line: print(line, end="", flush=True))
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **(environment or {})})

    def run(self):
        """Until its end; returns the exit status."""
        for line in self.process.stdout:
            if line.startswith("!"):
                self.answer(*line[1:].split())
            else:
                self.take(line)
        return self.process.wait()

    def answer(self, word, *rest):
        try:
            text = str(self.requests[word](*rest))
        except Exception as error:  # the program reports it as a failed test
            text = f"failed {type(error).__name__}: {error}".replace("\n", " ")
        if text == "None":  # it was told, not asked
            return
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
