#!/usr/bin/python3
"""grpc.health.v1.Health, with a real gRPC client against the real server: what probes and load
balancers see of it, from start to shutdown."""
import os
import sqlite3
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


# Whatever writes loses its transaction.
NO_WRITES = "".join(f"CREATE TRIGGER no_{what}_of_{table} BEFORE {what} ON {table} "
                    "BEGIN SELECT RAISE(ROLLBACK, 'no writes'); END;"
                    for what, table in (("INSERT", "upload"), ("UPDATE", "tenant")))
WRITES_AGAIN = "DROP TRIGGER no_INSERT_of_upload; DROP TRIGGER no_UPDATE_of_tenant;"


def others(server, sql, end):
    """Another process at the catalog: begins with `sql`, and ends when it is told to."""
    catalog = sqlite3.connect(os.path.join(server.data_directory, "catalog.sqlite"),
                              isolation_level=None, timeout=service.PATIENCE_S)
    catalog.executescript(sql)

    def finish():
        catalog.executescript(end)
        catalog.close()
    return finish


def catalog_trouble(check):
    debuginfo, _ = service.grpc_modules()
    with service.Service() as server:
        watched = []
        channel = service.grpc_channel(server.ports["grpc"])  # stays open while the server stops
        call = services.HealthStub(channel).Watch(messages.HealthCheckRequest(service=DEBUGINFO))
        reader = threading.Thread(target=lambda: watched.extend(end_of(call)[0]))
        reader.start()
        finish = others(server, NO_WRITES, WRITES_AGAIN)
        try:
            server.debuginfo().InitiateUpload(debuginfo.InitiateUploadRequest(
                build_id="c0ffee", build_id_type=1, hash="h", size=1))
        except grpc.RpcError as error:
            check("a catalog that takes no rows puts an upload off",
                  error.code() == StatusCode.UNAVAILABLE, error.details())
        service.wait_until(lambda: ask(server, DEBUGINFO) == NOT_SERVING, "NOT_SERVING")
        check("while the catalog cannot be written nothing is serving, but questions are answered",
              ask(server, "") == NOT_SERVING and server.http("GET", "/readyz")[0] == 200)
        finish()
        service.wait_until(lambda: ask(server, "") == SERVING, "SERVING")
        check("and when it can be again, without anybody's asking, all is", True)
        finish = others(server, "ALTER TABLE tenant RENAME TO away",
                        "ALTER TABLE away RENAME TO tenant")
        service.wait_until(lambda: ask(server, "") == NOT_SERVING, "NOT_SERVING")
        check("while the catalog cannot be read nothing is serving nor ready",
              server.http("GET", "/readyz")[0] == 503)
        finish()
        service.wait_until(lambda: ask(server, "") == SERVING, "SERVING")
        check("nor after that is it otherwise", server.http("GET", "/readyz")[0] == 200)
        check("the log says when it began and ended", [
            (event["event"], event.get("readable"), event.get("writable"))
            for event in server.events if event.get("event", "").startswith("catalog_")] == [
                ("catalog_trouble", "1", "0"), ("catalog_recovered", None, None),
                ("catalog_trouble", "0", "1"), ("catalog_recovered", None, None)],
              str(server.events_of("catalog_trouble")))
        code = server.stop()
        reader.join()
        channel.close()
        check("who watches is told of each change",
              watched == [SERVING, NOT_SERVING, SERVING, NOT_SERVING, SERVING, NOT_SERVING],
              str(watched))
        check("the server ends in order, too", code == 0, f"status {code}")


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
    catalog_trouble(check)
    tap.finish()


if __name__ == "__main__":
    main()
