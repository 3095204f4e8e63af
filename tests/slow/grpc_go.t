#!/usr/bin/python3
"""The upload table, row by row, through a second real client: grpc-go, speaking as Parca Agent does.

What takes a quarter of an hour in life, a stale upload, is written into the server's catalog while
it runs.
"""
import json
import os
import sqlite3
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import go_module
import service


class Rows:
    """What the client asks of this script."""

    def __init__(self, server):
        self.server = server

    def change(self, statement, *values):
        path = os.path.join(self.server.data_directory, "catalog.sqlite")
        connection = sqlite3.connect(path, timeout=service.PATIENCE_S)
        try:
            with connection:
                return connection.execute(statement, values).rowcount
        finally:
            connection.close()

    def age(self, build_id, seconds):
        """The upload began so much earlier."""
        return self.change("UPDATE upload SET started_ms = started_ms - ? WHERE value = ?",
                           1000 * int(seconds), build_id)

    def purge(self, build_id):
        status, _, body = self.server.http("DELETE", f"/v1/debuginfo/{build_id}")
        if status // 100 != 2:
            raise AssertionError(f"{status} {body[:300]}")
        return "yes"

    def serves(self, build_id):
        """Fails unless the address of sample_leaf is answered."""
        body = {"modules": [{"build_id": build_id, "addresses": [self.address]}],
                "options": {"wait_ms": 60000}}
        status, _, text = self.server.http("POST", "/v1/symbolize", json.dumps(body),
                                           {"Content-Type": "application/json"})
        module = json.loads(text)["modules"][0] if status == 200 else {}
        if module.get("status") != "ok" or module["frames"][0][-1]["function"] != "sample_leaf":
            raise AssertionError(f"{status} {text[:300]}")
        return "yes"

    def restart(self):
        self.server.restart()
        return f"127.0.0.1:{self.server.ports['grpc']}"


def main():
    client, = go_module.build("client")
    with tempfile.TemporaryDirectory() as directory, service.Service() as server:
        program = service.compile_sample(directory, "program")
        poor = service.compile_sample(directory, "poor", flags=("-O1",))
        rows = Rows(server)
        rows.address = hex(service.symbol_address(program, "sample_leaf"))
        address = f"127.0.0.1:{server.ports['grpc']}"
        code = go_module.Program([client, "table", address, program, poor], {
            "age": rows.age, "purge": rows.purge, "serves": rows.serves, "restart": rows.restart,
        }).run()
        if code == 0:
            code = server.stop()
        os.remove(client)
    sys.exit(code)


main()
