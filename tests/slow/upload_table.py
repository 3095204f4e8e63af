"""The upload table of grpc_go/client: what it asks of the script that runs it.

What takes a quarter of an hour in life, a stale upload, is written into the server's catalog while
it runs.
"""
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import go_module
import service


class Rows:
    """`address` is of sample_leaf."""

    def __init__(self, server, address):
        self.server = server
        self.address = address

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


def run_table(client, directory, server, **options):
    """The exit status; options are of go_module.Program."""
    program = service.compile_sample(directory, "program")
    poor = service.compile_sample(directory, "poor", flags=("-O1",))
    rows = Rows(server, hex(service.symbol_address(program, "sample_leaf")))
    return go_module.Program(
        [client, "table", f"127.0.0.1:{server.ports['grpc']}", program, poor],
        {"age": rows.age, "purge": rows.purge, "serves": rows.serves, "restart": rows.restart},
        **options).run()
