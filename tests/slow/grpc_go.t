#!/usr/bin/python3
"""The upload table, row by row, through a second real client: grpc-go, speaking as Parca Agent does."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import go_module
import service
import upload_table


def main():
    client, = go_module.build("client")
    with tempfile.TemporaryDirectory() as directory, service.Service() as server:
        code = upload_table.run_table(client, directory, server)
        if code == 0:
            code = server.stop()
        os.remove(client)
    sys.exit(code)


main()
