#!/usr/bin/python3
"""Uploads to signed URLs, row by row, by grpc-go and Go's HTTP client, as Parca Agent and
parca-debuginfo send them."""
import os
import socket
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import go_module
import service


def main():
    client, = go_module.build("client")
    with socket.create_server(("127.0.0.1", 0)) as free:
        http = f"127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as directory, service.Service(
            ["--http-listen", http, "--upload-strategy", "signed_url",
             "--upload-public-url", f"http://{http}"]) as server:
        program = service.compile_sample(directory, "program")
        code = go_module.Program([client, "signed", f"127.0.0.1:{server.ports['grpc']}",
                                  program]).run()
    os.remove(client)
    sys.exit(code)


main()
