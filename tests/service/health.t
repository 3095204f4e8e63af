#!/usr/bin/python3
"""grpc.health.v1.Health, with a real gRPC client against the real server: what probes and load
balancers see of it, from start to shutdown."""
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap

import grpc
from grpc import StatusCode

DEBUGINFO = "parca.debuginfo.v1alpha1.DebuginfoService"
messages, services = service.grpc_modules("health")
SERVING, NOT_SERVING, SERVICE_UNKNOWN = 1, 2, 3


def stub(server):
    return services.HealthStub(server.channel())


def ask(server, name):
    """The status of Check, or the code of its refusal."""
    try:
        return stub(server).Check(messages.HealthCheckRequest(service=name),
                              timeout=service.PATIENCE_S).status
    except grpc.RpcError as error:
        return error.code()


def watch(server, name=""):
    return stub(server).Watch(messages.HealthCheckRequest(service=name))


def end_of(call):
    """What is still streamed, and the code at the end."""
    found = []
    try:
        for answer in call:
            found.append(answer.status)
    except grpc.RpcError as error:
        return found, error.code()
    return found, StatusCode.OK


def main():
    tap = Tap()

    def check(name, passed, detail=""):
        tap.ok(passed, name, detail)

    with service.Service() as server:
        check("the server as a whole and its services are serving",
              [ask(server, name) for name in ("", DEBUGINFO)] == [SERVING, SERVING])
        check("Check of an unknown service is NOT_FOUND",
              ask(server, "no.such.Service") == StatusCode.NOT_FOUND)
        check("a name over the limit is refused",
              ask(server, "x" * 2000) == StatusCode.RESOURCE_EXHAUSTED)
        call = watch(server, "no.such.Service")
        check("Watch of an unknown service answers SERVICE_UNKNOWN",
              next(call).status == SERVICE_UNKNOWN)
        call.cancel()
        check("a cancelled watch ends", end_of(call)[1] == StatusCode.CANCELLED)
        call = stub(server).Watch(messages.HealthCheckRequest(service=""), timeout=3)
        check("a watch stays until its deadline",
              end_of(call) == ([SERVING], StatusCode.DEADLINE_EXCEEDED))
        channel = service.grpc_channel(server.ports["grpc"])  # stays open while the server stops
        one = services.HealthStub(channel)
        many = [one.Watch(messages.HealthCheckRequest(service=DEBUGINFO)) for _ in range(50)]
        check("many watch over one connection",
              [next(call).status for call in many] == [SERVING] * 50)
        for call in many[:25]:
            call.cancel()
        ends = []
        readers = [threading.Thread(target=lambda call=call: ends.append(end_of(call)))
               for call in many[25:]]
        for reader in readers:
            reader.start()
        code = server.stop()
        for reader in readers:
            reader.join()
        channel.close()
        check("at shutdown each watcher is told NOT_SERVING and its call ends",
              ends == [([NOT_SERVING], StatusCode.UNAVAILABLE)] * 25, str(ends))
        check("the server ends in order", code == 0, f"status {code}")
    tap.finish()


if __name__ == "__main__":
    main()
