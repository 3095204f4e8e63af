#!/usr/bin/python3
"""Parca Agent's own uploader against the server: extraction, questions, streams and PUTs are its own.

The agent's module is fetched at a fixed version and its uploader's files are compiled as they are,
but for their imports: modules that no Go proxy has (the stubs, generated here from our own proto
file, and two types of the profiler) are replaced.
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import go_module
import service
from service import Tap, skip_all

AGENT = "github.com/parca-dev/parca-agent@v0.49.0"
OURS = "symbolizer.test/parca_agent"
IMPORTS = {
    r"buf\.build/gen/go/parca-dev/parca/[a-z/]*/debuginfo/v1alpha1(/debuginfov1alpha1grpc)?":
        f"{OURS}/debuginfo",
    r"go\.opentelemetry\.io/ebpf-profiler": f"{OURS}/profiler",
    r"github\.com/parca-dev/parca-agent": OURS,
}
FILES = ("reporter/parca_uploader.go", "reporter/grpc_upload_client.go",
         *(f"reporter/elfwriter/{name}.go" for name in (
             "elfwriter", "extract", "helpers", "nullifying_elfwriter", "options")))
FLEET = 20
tap = Tap()


def take_uploader(directory, module):
    """The uploader's files, with their imports changed, into the copy of our module."""
    done = subprocess.run(["go", "mod", "download", "-json", AGENT], cwd=directory,
                          env=go_module.environment(directory), capture_output=True, text=True)
    if done.returncode != 0:
        skip_all(f"{AGENT} cannot be fetched")
    source = json.loads(done.stdout)["Dir"]
    for name in FILES:
        text = service.read_bytes(os.path.join(source, name)).decode()
        for theirs, ours in IMPORTS.items():
            text = re.sub(f'"{theirs}', f'"{ours}', text)
        path = os.path.join(module, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class Agent:
    """One agent process that has met these files."""

    def __init__(self, program, server, directory, strip, paths):
        self.process = subprocess.Popen(
            [program, f"127.0.0.1:{server.ports['grpc']}", directory, strip, *paths],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.errors = self.process.communicate()[1].decode()


def answer(server, build_id, address):
    body = {"modules": [{"build_id": build_id, "addresses": [hex(address)]}],
            "options": {"wait_ms": 60000}}
    text = server.http("POST", "/v1/symbolize", json.dumps(body),
                       {"Content-Type": "application/json"})[2]
    frames = json.loads(text)["modules"][0]["frames"]
    return (frames[0][-1]["function"], frames[0][-1]["line"]) if frames and frames[0] else text


def check_upload(name, program, server, directory, strip, path):
    build_id = service.gnu_build_id(path)
    with Agent(program, server, directory, strip, [path]):
        event = server.wait_for_event("rpc", method="MarkUploadFinished", build_id=build_id)
    tap.ok(event["code"] == "OK", f"{name}: the agent's upload is taken", str(event))
    got = answer(server, build_id, service.symbol_address(path, "sample_leaf"))
    tap.ok(got == ("sample_leaf", 2), f"{name}: and answers with function and line", str(got))


def check_not_again(program, server, directory, path):
    build_id = service.gnu_build_id(path)
    before = len(server.events_of("rpc", method="InitiateUpload", build_id=build_id))
    asked = len(server.events_of("rpc", method="ShouldInitiateUpload", build_id=build_id))
    with Agent(program, server, directory, "true", [path]):
        event = server.wait_for_event("rpc", count=asked + 1, method="ShouldInitiateUpload",
                                      build_id=build_id)
    tap.ok("already exists" in event.get("reason", "") and before == len(
        server.events_of("rpc", method="InitiateUpload", build_id=build_id)),
        "another agent with the same file asks, and sends nothing", str(event))


def check_without_build_id(program, server, directory):
    path = service.compile_sample(directory, "bare", flags=("-g", "-Wl,--build-id=none"))
    with Agent(program, server, directory, "false", [path]):
        event = server.wait_for_event("rpc", method="MarkUploadFinished",
                                      build_id=service.htlhash(path))
    tap.ok(event["code"] == "OK", "a whole file without a build ID goes by its FileID", str(event))


def check_fleet(program, server, directory):
    """Two agents that meet the same new files at the same time."""
    paths = [service.compile_sample(directory, f"fleet{salt}", salt) for salt in
             range(100, 100 + FLEET)]
    ids = [service.gnu_build_id(path) for path in paths]
    with Agent(program, server, directory, "true", paths), \
            Agent(program, server, os.path.join(directory, "other"), "true", paths):
        events = [server.wait_for_event("rpc", method="MarkUploadFinished", build_id=build_id)
                  for build_id in ids]
    won = [len(server.events_of("rpc", method="InitiateUpload", build_id=build_id, code="OK"))
           for build_id in ids]
    tap.ok(all(event["code"] == "OK" for event in events) and won == [1] * FLEET,
           f"of two agents that meet {FLEET} files at once, one uploads each",
           [str(won), *map(str, events)])


def check_signed(program, directory):
    with socket.create_server(("127.0.0.1", 0)) as free:
        http = f"127.0.0.1:{free.getsockname()[1]}"
    path = service.compile_sample(directory, "signed", salt=7)
    with service.Service(["--http-listen", http, "--upload-strategy", "signed_url",
                          "--upload-public-url", f"http://{http}"]) as server:
        check_upload("signed URL", program, server, directory, "true", path)


def main():
    program, = go_module.build("parca_agent", name="parca_agent", prepare=take_uploader)
    with tempfile.TemporaryDirectory() as directory:
        with service.Service() as server:
            path = service.compile_sample(directory, "stripped", salt=5)
            check_upload("extracted", program, server, directory, "true", path)
            check_not_again(program, server, directory, path)
            check_upload("whole", program, server, directory, "false",
                         service.compile_sample(directory, "whole", salt=6))
            check_without_build_id(program, server, directory)
            check_fleet(program, server, directory)
        check_signed(program, directory)
    os.remove(program)
    tap.finish()


main()
