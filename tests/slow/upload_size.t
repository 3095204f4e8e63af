#!/usr/bin/python3
"""A file of 1 GiB costs the server no more memory than its windows and buffers, whichever way it
comes: in messages of 8 MiB over gRPC, by PUT, or by PUT to a signed URL."""
import http.client
import os
import sys
import tempfile
from urllib.parse import urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../service"))
import service
from service import Tap
from uploads import Agent

SIZE = 1 << 30
PIECE = 8 << 20
MEMORY_MAX = 64 << 20


class BigAgent(Agent):
    """A program with zeros behind it, which are never all in memory."""

    def __init__(self, server, path):
        super().__init__(server, path)
        self.program = self.data
        self.data = range(SIZE)  # for its length

    def pieces(self):
        zeros = bytes(PIECE)
        left = SIZE - len(self.program)
        yield self.program
        while left > 0:
            yield zeros[:left]
            left -= min(left, PIECE)

    def send(self, data=None):
        def requests():
            yield self.messages.UploadRequest(info=self.messages.UploadInfo(
                upload_id=self.instructions.upload_id, build_id=self.build_id))
            for piece in self.pieces():
                yield self.messages.UploadRequest(chunk_data=piece)
        return self.stub.Upload(requests()).size == SIZE

    def put(self, server, target, chunked=False):
        connection = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=600)
        headers = {} if chunked else {"Content-Length": str(SIZE)}
        connection.request("PUT", target, self.pieces(), headers, encode_chunked=chunked)
        return connection.getresponse().status

    def put_signed(self, server, chunked=False):
        url = urlsplit(self.instructions.signed_url)
        return self.put(server, f"{url.path}?{url.query}", chunked) == 200


def memory_of(server, field):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) << 10


def forget_peak(server):
    with open(f"/proc/{server.process.pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def in_steps(send):
    def upload(agent):
        agent.initiate(force=True)
        taken = send(agent)
        agent.finish()
        return taken
    return upload


def measure(tap, server, path, way, upload):
    agent = BigAgent(server, path)
    agent.ask()
    forget_peak(server)
    idle = memory_of(server, "VmRSS")
    tap.ok(upload(agent), f"a file of 1 GiB is taken {way}")
    peak = memory_of(server, "VmHWM")
    tap.ok(peak - idle < MEMORY_MAX, f"and costs less than 64 MiB of memory",
           f"{idle >> 20} MiB idle, {peak >> 20} MiB at the peak")
    print(f"# {way}: {(peak - idle) / (1 << 20):.1f} MiB above idle")


def main():
    tap = Tap()
    signed = ["--upload-strategy", "signed_url", "--upload-public-url", "http://upload.test"]
    with tempfile.TemporaryDirectory() as directory:
        path = service.compile_sample(directory)
        with service.Service() as server:
            measure(tap, server, path, "over gRPC", in_steps(BigAgent.send))
            for chunked, way in ((False, "by PUT"), (True, "by PUT in chunks")):
                measure(tap, server, path, way, lambda agent, chunked=chunked: agent.put(
                    server, "/v1/debuginfo?force=true", chunked) in (200, 201))
        with service.Service(signed) as server:
            for chunked, way in ((False, "by signed URL"), (True, "by signed URL in chunks")):
                measure(tap, server, path, way, in_steps(
                    lambda agent, chunked=chunked: agent.put_signed(server, chunked)))
    tap.finish()


main()
