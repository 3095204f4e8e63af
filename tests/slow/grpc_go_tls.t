#!/usr/bin/python3
"""The upload table and signed URLs by grpc-go and Go's HTTP client over TLS, with and without client
certificates, as Parca Agent connects."""
import os
import re
import socket
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import go_module
import service
import upload_table
from certificates import Authority
from service import Tap, Trust


class Lines:
    """Passes on each test of a program as one of this script."""

    def __init__(self, tap, prefix):
        self.tap = tap
        self.prefix = prefix
        self.count = 0
        self.plan = None

    def take(self, line):
        if test := re.match(r"(not )?ok \d+ - (.*)", line):
            self.tap.ok(not test[1], f"{self.prefix}: {test[2]}")
            self.count += 1
        elif plan := re.match(r"1\.\.(\d+)", line):
            self.plan = int(plan[1])
        else:
            print(line, end="", flush=True)

    def end(self, code):
        self.tap.ok(code == 0 and self.count == self.plan, f"{self.prefix}: all were run",
                    f"status {code}, {self.count} of {self.plan}")


def environment(trust):
    names = {"AGENT_CA": trust.authority}
    if trust.pair:
        names |= {"AGENT_CERT": trust.pair.certificate, "AGENT_KEY": trust.pair.key}
    return names


def check_table(tap, client, prefix, arguments, trust):
    lines = Lines(tap, prefix)
    with tempfile.TemporaryDirectory() as directory, service.Service(
            arguments, trust=trust) as server:
        lines.end(upload_table.run_table(client, directory, server, take=lines.take,
                                         environment=environment(trust)))
        tap.ok(server.stop() == 0, f"{prefix}: the server ends in order", server.output[-20:])


def check_signed(tap, client, prefix, arguments, trust):
    lines = Lines(tap, prefix)
    with socket.create_server(("127.0.0.1", 0)) as free:
        http = f"127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as directory, service.Service(
            [*arguments, "--http-listen", http, "--upload-strategy", "signed_url",
             "--upload-public-url", f"https://{http}"], trust=trust) as server:
        program = service.compile_sample(directory, "program")
        lines.end(go_module.Program(
            [client, "signed", f"127.0.0.1:{server.ports['grpc']}", program], take=lines.take,
            environment=environment(trust)).run())


def main():
    client, = go_module.build("client")
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        authority = Authority(directory)
        pair = authority.issue_server()
        agent = authority.issue("agent", "client")
        plain = ["--tls-certificate", pair.certificate, "--tls-key", pair.key]
        mutual = [*plain, "--tls-client-ca", authority.path]
        check_table(tap, client, "TLS", plain, Trust(authority.path))
        check_table(tap, client, "mTLS", mutual, Trust(authority.path, agent))
        check_signed(tap, client, "mTLS, signed", mutual, Trust(authority.path, agent))
    os.remove(client)
    tap.finish()


main()
