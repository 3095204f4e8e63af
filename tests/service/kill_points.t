#!/usr/bin/python3
"""kill -9 at every named point of the sources (base/fault.h), and at random passings of them.

Whatever the instant: an upload whose MarkUploadFinished was answered is there after a restart and
resolves; one that was not finished is either wholly there or not at all, and can be sent again;
one that was deleted is gone, or untouched if nobody was told so, and its files do not stay; tmp/ is
empty; interrupted builds are made. One data directory goes through all the kills, so that
what survived the first must survive the last.

SEED=number repeats the random part, ROUNDS=number makes it longer.
"""
import glob
import hashlib
import http.client
import json
import os
import random
import re
import sqlite3
import struct
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service  # noqa: E402
from service import Tap, wait_until  # noqa: E402

import grpc  # noqa: E402

SAMPLES_PER_KILL = 3
PIECE_SIZE = 16 << 10
PADDING_SIZE = 100 << 10  # several pieces, so that a kill can fall between them

# Points that an upload passes before its commit: killed at the first passing, nothing may be seen.
BEFORE_COMMIT = ("upload.after_initiate", "upload.after_stream_open", "upload.after_first_bytes",
                 "upload.after_complete", "upload.after_identify", "upload.after_publish",
                 "blob.after_open", "blob.after_write", "blob.after_fsync", "blob.after_publish")


def fault_points():
    points = set()
    for path in glob.glob(os.path.join(service.ROOT, "*/**/*.c"), recursive=True):
        if not os.path.relpath(path, service.ROOT).startswith(("tests/", "build")):
            with open(path, encoding="utf-8") as file:
                points.update(re.findall(r'FAULT_POINT\("([a-z_.]+)"\)', file.read()))
    return sorted(points)


class Sample:
    """One program under many build IDs: each is another file with the same code."""
    program = None
    made = 0

    def __init__(self):
        Sample.made += 1
        seed = hashlib.sha1(b"sample %d" % Sample.made)
        old = bytes.fromhex(Sample.program["build_id"])
        assert Sample.program["bytes"].count(old) == 1
        # Text, so that there is something to compress when the blob is old.
        padding = random.Random(Sample.made).randbytes(PADDING_SIZE // 2).hex().encode()
        self.data = Sample.program["bytes"].replace(old, seed.digest()) + padding
        self.build_id = seed.hexdigest()
        self.hash = hashlib.sha256(self.data[:4096] + self.data[-4096:] +
                                   struct.pack(">Q", len(self.data))).hexdigest()[:32]
        self.digest = hashlib.sha256(self.data).hexdigest()
        self.upload_id = None
        self.finished = False
        self.deletion = None  # "begun", then "answered"


def upload(server, sample):
    """The agents' sequence; leaves in the sample how far it came."""
    sample.upload_id = None
    try:
        stub, messages = server.debuginfo(), server.messages
        should = stub.ShouldInitiateUpload(messages.ShouldInitiateUploadRequest(
            build_id=sample.build_id, build_id_type=1))
        if not should.should_initiate_upload:
            return should.reason
        instructions = stub.InitiateUpload(messages.InitiateUploadRequest(
            build_id=sample.build_id, build_id_type=1, hash=sample.hash,
            size=len(sample.data))).upload_instructions
        sample.upload_id = instructions.upload_id
        stub.Upload(service.upload_requests(messages, instructions, sample.data, PIECE_SIZE))
        stub.MarkUploadFinished(messages.MarkUploadFinishedRequest(
            build_id=sample.build_id, upload_id=sample.upload_id))
        sample.finished = True
    except grpc.RpcError as error:
        return f"{error.code()}: {error.details()}"
    except RuntimeError as error:
        return str(error)
    return None


def delete(server, sample):
    """As far as it comes: the server may die of it."""
    sample.deletion = "begun"
    try:
        status, _, body = server.http("DELETE", f"/v1/debuginfo/{sample.build_id}")
    except (OSError, http.client.HTTPException):
        server.process.wait(service.PATIENCE_S)
        return
    assert status == 200, body
    sample.deletion = "answered"


def finish_again(server, sample):
    try:
        server.debuginfo().MarkUploadFinished(server.messages.MarkUploadFinishedRequest(
            build_id=sample.build_id, upload_id=sample.upload_id))
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def describe(server, sample):
    """The report on the sample's build ID, {} when nothing is known of it."""
    status, _, body = server.http("GET", f"/v1/debuginfo/{sample.build_id}")
    return json.loads(body) if status == 200 else {}


def resolves(server, samples):
    """What is wrong with the answers for these samples."""
    if not samples:
        return []
    question = {"modules": [{"build_id": sample.build_id,
                             "addresses": [hex(Sample.program["address"])]} for sample in samples],
                "options": {"wait_ms": 60000}}
    status, _, body = server.http("POST", "/v1/symbolize", json.dumps(question).encode(),
                                  {"Content-Type": "application/json"})
    if status != 200:
        return [f"/v1/symbolize answers {status}: {body[:300]}"]
    problems = []
    for sample, module in zip(samples, json.loads(body)["modules"]):
        frames = module["frames"][0] if module["status"] == "ok" else []
        if not frames or frames[0]["function"] != "sample_leaf" or frames[0]["origin"] != "dwarf":
            problems.append(f"{sample.build_id} does not resolve: {json.dumps(module)[:300]}")
    return problems


def age_blobs(server):
    """Makes the stored blobs old enough to be compressed at the next start."""
    for path in glob.glob(os.path.join(server.data_directory, "blobs/*/*")):
        os.utime(path, (0, 0))


def plant_orphan(server):
    """A stored file that no row names."""
    data = b"orphan %d" % Sample.made
    digest = hashlib.sha256(data).hexdigest()
    folder = os.path.join(server.data_directory, "blobs", digest[:2])
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, digest[2:]), "wb") as file:
        file.write(data)


def orphans(server):
    """Stored files and indexes that no row names."""
    with sqlite3.connect(f"file:{server.data_directory}/catalog.sqlite?mode=ro",
                         uri=True) as catalog:
        named = {row[0].hex() for row in catalog.execute(
            "SELECT digest FROM object UNION SELECT key FROM build")}
    paths = [path for folder in ("blobs", "index") for path in
             glob.glob(os.path.join(server.data_directory, folder, "[0-9a-f][0-9a-f]", "*"))]
    return [path for path in paths
            if os.path.basename(os.path.dirname(path)) + os.path.basename(path)[:62] not in named]


def kill_at(server, fault, samples):
    """Starts the server with the fault, uploads, and deletes, until it is dead. True if the fault
    killed it."""
    if "compress" in fault:
        age_blobs(server)
    if "set_aside" in fault:
        plant_orphan(server)
    server.environment = {"SYMBOLIZER_FAULT": fault}
    try:
        server.start()
    except RuntimeError:  # the point is passed at start too
        return server.kill() == -9
    threads = [threading.Thread(target=upload, args=(server, sample)) for sample in samples]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    def is_over():
        if server.process.poll() is not None:
            return True
        try:
            return all(describe(server, sample).get("state") == "ok" for sample in samples)
        except OSError:
            return False
    wait_until(is_over, f"the server to die at {fault}, or everything to be built")
    if server.process.poll() is None:
        delete(server, samples[-1])
    if "set_aside" in fault:  # it takes until the orphan is old enough
        try:
            server.wait_for_event("orphans_swept")
        except RuntimeError:  # the log has ended
            server.process.wait(service.PATIENCE_S)
    died = server.process.poll() is not None
    return server.kill() == -9 and died


def files_in(server, folder):
    """Names in that folder of the data directory."""
    return set(os.listdir(os.path.join(server.data_directory, folder)))


def check_after_restart(server, samples, nothing_visible):
    """After the restart: what is wrong with these samples. Ends with all of them uploaded."""
    problems = []
    for sample in samples:
        report = describe(server, sample)
        visible = bool(report.get("objects"))
        if sample.deletion and not visible:
            if report["upload"]["state"] != "purged":
                problems.append(f"{sample.build_id} was deleted by halves: {report}")
            continue
        if sample.deletion == "answered":
            problems.append(f"{sample.build_id} was deleted and is there: {report}")
        sample.deletion = None
        if sample.finished and not visible:
            problems.append(f"{sample.build_id} was finished and is gone: {report}")
        if visible and nothing_visible:
            problems.append(f"{sample.build_id} can be seen before its commit: {report}")
        if visible and report["upload"]["state"] != "uploaded":
            problems.append(f"{sample.build_id} can be seen unfinished: {report}")
        if not visible and report.get("state") == "ok":
            problems.append(f"{sample.build_id} is ok without an object: {report}")
        if sample.upload_id and visible != (finish_again(server, sample) == grpc.StatusCode.OK):
            problems.append(f"finishing {sample.build_id} again does not agree: {report}")
        if not visible:
            failure = upload(server, sample)
            if failure:
                problems.append(f"{sample.build_id} cannot be sent again: {failure}")
    problems += resolves(server, [sample for sample in samples if not sample.deletion])
    # Not before: until then the builds that were interrupted may be running again.
    return problems + [f"left behind: index/tmp/{name}" for name in files_in(server, "index/tmp")]


def kill_once(server, fault, nothing_visible, must_die):
    samples = [Sample() for _ in range(SAMPLES_PER_KILL)]
    problems = []
    if not kill_at(server, fault, samples) and must_die:
        problems.append(f"the server did not die at {fault}")
    if fault.startswith("purge.") and must_die and not samples[-1].deletion:
        problems.append(f"the server died at {fault} of something else than a deletion")
    temporary = files_in(server, "tmp")
    server.environment = {}
    server.start()
    problems += [f"left behind: tmp/{name}" for name in temporary & files_in(server, "tmp")]
    problems += check_after_restart(server, samples, nothing_visible)
    if any(sample.deletion for sample in samples):
        wait_until(lambda: not orphans(server), "the files of what was deleted to go")
    server.kill()
    return [sample for sample in samples if not sample.deletion], problems


def damage(server):
    """What is wrong with the catalog and the raw blobs of a server that is down."""
    problems = []
    with sqlite3.connect(f"file:{server.data_directory}/catalog.sqlite?mode=rw",
                         uri=True) as catalog:
        problems += [f"catalog: {row}" for row in catalog.execute("PRAGMA integrity_check")
                     if row != ("ok",)]
        problems += [f"catalog: {row}" for row in catalog.execute("PRAGMA foreign_key_check")]
        digests = [row[0].hex() for row in catalog.execute("SELECT digest FROM object")]
    for digest in digests:
        path = os.path.join(server.data_directory, "blobs", digest[:2], digest[2:])
        if not os.path.exists(path):
            path += ".zst"
        if not os.path.exists(path):
            problems.append(f"blob {digest} is gone")
        elif not path.endswith(".zst") and (
                hashlib.sha256(service.read_bytes(path)).hexdigest() != digest):
            problems.append(f"blob {digest} is damaged")
    return problems


def forget_indexes(server):
    """They are then built again from the blobs, whose digests are checked on the way."""
    for path in glob.glob(os.path.join(server.data_directory, "index/*/*")):
        os.unlink(path)


def main():
    tap = Tap()
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
    rounds = int(os.environ.get("ROUNDS", 6))
    chance = random.Random(seed)
    print(f"# SEED={seed}", flush=True)
    points = fault_points()
    tap.ok(set(BEFORE_COMMIT) <= set(points), "the points of an upload are in the sources",
           str(points))
    tap.ok(any(point.startswith("purge.") for point in points),
           "the points of a deletion are in the sources", str(points))
    with service.Service(["--blob-sweep-after", "1s"], faults=True) as server:
        path = service.compile_sample(server.directory)
        Sample.program = {"bytes": service.read_bytes(path),
                          "build_id": service.gnu_build_id(path),
                          "address": service.symbol_address(path, "sample_leaf")}
        server.stop()
        everything = []
        for point in points:
            samples, problems = kill_once(server, point, point in BEFORE_COMMIT, must_die=True)
            everything += samples
            tap.ok(not problems, f"kill -9 at {point} loses and halves nothing", problems)
        for _ in range(rounds):
            fault = f"{chance.choice(points)}:{chance.randint(2, 9)}"
            samples, problems = kill_once(server, fault, nothing_visible=False, must_die=False)
            everything += samples
            tap.ok(not problems, f"kill -9 at {fault} loses and halves nothing",
                   [f"SEED={seed}", *problems])
        problems = damage(server)
        tap.ok(not problems, "catalog and blobs are whole after all the kills", problems)
        server.start()
        problems = resolves(server, everything)
        tap.ok(not problems, f"all {len(everything)} uploads resolve after all the kills", problems)
        server.stop()
        forget_indexes(server)
        server.start()
        problems = resolves(server, everything)
        tap.ok(not problems, "and again when their indexes are built anew from the blobs", problems)
    tap.finish()


if __name__ == "__main__":
    main()
