#!/usr/bin/python3
"""Many uploads at once, many idle connections, a slow upload and a large one, sent by grpc-go as Parca
Agent sends them: all succeed, and what they cost the server in memory is told."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import go_module
import service
from service import Tap

UPLOADS = 200
CONNECTIONS = 1000
TRICKLE_S = 65
LARGE = 1 << 30
LARGE_MEMORY_KIB_MAX = 64 << 10
tap = Tap()


def memory_kib(server, field):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return int(re.search(rf"^{field}:\s+(\d+) kB", file.read(), re.M).group(1))


def forget_peak(server):
    """VmHWM starts again from what is resident now."""
    with open(f"/proc/{server.process.pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def metric(server, name):
    text = server.http("GET", "/metrics")[2].decode()
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M).group(1))


def drive(client, server, command, *words, **requests):
    address = f"127.0.0.1:{server.ports['grpc']}"
    return go_module.Program([client, command, address, *map(str, words)], requests).run()


def check_many(client, server, program):
    memory = [memory_kib(server, "VmRSS")]
    finished = 'symbolizer_uploads_total{outcome="finished"}'
    before = metric(server, finished)

    def half():
        service.wait_until(lambda: metric(server, "symbolizer_upload_streams_open") == UPLOADS,
                           f"{UPLOADS} open streams")
        memory.append(memory_kib(server, "VmRSS"))
        return "yes"

    code = drive(client, server, "many", program, UPLOADS, half=half)
    stored = metric(server, finished) - before
    tap.ok(code == 0 and stored == UPLOADS, f"{UPLOADS} uploads at once: all succeed",
           f"status {code}, {stored} finished")
    if len(memory) == 2:
        print(f"# {(memory[1] - memory[0]) / UPLOADS:.1f} KiB of the server's memory per upload "
              f"that is half sent; peak {memory_kib(server, 'VmHWM')} KiB")


def check_idle(client, server):
    memory = [memory_kib(server, "VmRSS")]

    def idle():
        memory.append(memory_kib(server, "VmRSS"))
        return "yes"

    code = drive(client, server, "idle", CONNECTIONS, idle=idle)
    tap.ok(code == 0, f"{CONNECTIONS} connections that have asked once are kept and asked again",
           f"status {code}")
    if len(memory) == 2:
        print(f"# {(memory[1] - memory[0]) / CONNECTIONS:.1f} KiB of the server's memory per idle "
              f"connection")


def check_large(client, server, program):
    forget_peak(server)
    idle = memory_kib(server, "VmRSS")
    code = drive(client, server, "large", program, LARGE)
    tap.ok(code == 0, "1 GiB over gRPC in chunks of 8 MiB is stored", f"status {code}")
    grown = memory_kib(server, "VmHWM") - idle
    tap.ok(grown < LARGE_MEMORY_KIB_MAX,
           f"and the server's peak stays under {LARGE_MEMORY_KIB_MAX >> 10} MiB above idle",
           f"{grown} KiB")
    print(f"# peak {grown} KiB above idle")


def main():
    client, = go_module.build("client")
    with tempfile.TemporaryDirectory() as directory:
        program = service.compile_sample(directory, "program")
        with service.Service(log_level="info") as server:
            check_large(client, server, program)
        with service.Service(log_level="info") as server:
            check_many(client, server, program)
        with service.Service(log_level="info") as server:
            check_idle(client, server)
            code = drive(client, server, "trickle", program, TRICKLE_S)
            tap.ok(code == 0, f"an upload with a chunk a second lives for {TRICKLE_S} s",
                   f"status {code}")
            code = server.stop()
            tap.ok(code == 0, "the server ends in order", server.output[-20:])
    os.remove(client)
    tap.finish()


main()
