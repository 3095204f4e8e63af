#!/usr/bin/python3
"""A file of 1 GiB costs the server no more memory than its windows and buffers, whichever way it
comes: in messages of 8 MiB over gRPC, or by PUT to a signed URL."""
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

    def put(self, server, chunked):
        url = urlsplit(self.instructions.signed_url)
        connection = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=600)
        headers = {} if chunked else {"Content-Length": str(SIZE)}
        connection.request("PUT", f"{url.path}?{url.query}", self.pieces(), headers,
                           encode_chunked=chunked)
        return connection.getresponse().status == 200


def memory_of(server, field):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) << 10


def forget_peak(server):
    with open(f"/proc/{server.process.pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def measure(tap, server, path, way, send):
    agent = BigAgent(server, path)
    agent.ask()
    forget_peak(server)
    idle = memory_of(server, "VmRSS")
    agent.initiate(force=True)
    tap.ok(send(agent), f"a file of 1 GiB is taken {way}")
    agent.finish()
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
            measure(tap, server, path, "over gRPC", BigAgent.send)
        with service.Service(signed) as server:
            measure(tap, server, path, "by signed URL",
                    lambda agent: agent.put(server, chunked=False))
            measure(tap, server, path, "by signed URL in chunks",
                    lambda agent: agent.put(server, chunked=True))
    tap.finish()


main()
