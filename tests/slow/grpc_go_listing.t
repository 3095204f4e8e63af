#!/usr/bin/python3
"""Reflection v1 and v1alpha and the health service, asked by grpc-go: a tool that knows nothing but
the address finds the services, describes them and calls them, and clients follow the server's
health to its end."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import go_module
import service


def main():
    listing, = go_module.build("listing")
    with service.Service() as server:
        def terminate():
            server.process.send_signal(signal.SIGTERM)

        code = go_module.Program([listing, f"127.0.0.1:{server.ports['grpc']}"],
                                 {"terminate": terminate}).run()
    os.remove(listing)
    sys.exit(code)


main()
