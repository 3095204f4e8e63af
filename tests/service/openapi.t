#!/usr/bin/python3
"""Holds the server to docs/openapi.yaml: every path, method and response in it is asked for and
its status, headers and body are checked against the schema; and every route of the server is in it.

The file may use only the part of OpenAPI that the validator below knows, so that nothing in it goes
unchecked without being seen."""
import json
import os
import re
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Overload and trouble with a disk: shown by other tests, and not at will.
NOT_AT_WILL = {"429", "500", "503"}

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float)}
SAYS_NOTHING = {"description", "example", "default", "format"}
KEYWORDS = {"type", "nullable", "enum", "pattern", "required", "properties", "additionalProperties",
            "items", "minimum", "maximum", "maxLength", "maxItems"}


class Specification:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.root = yaml.safe_load(file)

    def resolve(self, node):
        while "$ref" in node:
            place = self.root
            for part in node["$ref"].removeprefix("#/").split("/"):
                place = place[part]
            node = place
        return node

    def operations(self):
        for path, methods in self.root["paths"].items():
            for method, operation in methods.items():
                yield path, method, operation

    def unknown_keywords(self, node):
        """Of a schema and all below it; references are followed once, where they point."""
        if "$ref" in node:
            return set()
        found = set(node) - KEYWORDS - SAYS_NOTHING
        for child in [*node.get("properties", {}).values(), *filter(None, [node.get("items")])]:
            found |= self.unknown_keywords(child)
        if node.get("additionalProperties", False) is not False:
            found.add("additionalProperties other than false")
        return found

    def errors(self, schema, value, at="body"):
        schema = self.resolve(schema)
        if value is None and schema.get("nullable"):
            return []
        kind = schema.get("type")
        wrong_type = not isinstance(value, TYPES[kind]) or \
            (isinstance(value, bool) and kind != "boolean")
        if wrong_type:
            return [f"{at}: {value!r} is no {kind}"]
        found = []
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{at}: {value!r} is none of {schema['enum']}")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{at}: {value!r} does not match {schema['pattern']}")
        if "minimum" in schema and value < schema["minimum"] or \
                "maximum" in schema and value > schema["maximum"]:
            found.append(f"{at}: {value!r} is out of bounds")
        if len(value) > schema.get("maxLength", len(value)) if kind == "string" else False:
            found.append(f"{at}: too long")
        if kind == "array":
            if len(value) > schema.get("maxItems", len(value)):
                found.append(f"{at}: too many items")
            for place, item in enumerate(value):
                found += self.errors(schema["items"], item, f"{at}[{place}]")
        if kind == "object":
            known = schema.get("properties", {})
            found += [f"{at}: no {name}" for name in schema.get("required", []) if name not in value]
            if schema.get("additionalProperties") is False:
                found += [f"{at}: {name} is not in the schema" for name in value
                          if name not in known]
            for name, item in value.items():
                if name in known:
                    found += self.errors(known[name], item, f"{at}.{name}")
        return found

    def response_errors(self, operation, status, headers, body):
        response = self.resolve(operation["responses"][str(status)])
        found = []
        for name, header in response.get("headers", {}).items():
            if name.lower() not in headers:
                found.append(f"no header {name}")
                continue
            found += self.errors(self.resolve(header)["schema"], headers[name.lower()], name)
        content = response.get("content", {})
        media = headers.get("content-type", "").split(";")[0]
        if not content:
            return found + (["a body where none is declared"] if body else [])
        if media not in content:
            return found + [f"content type {media!r}"]
        schema = content[media]["schema"]
        value = json.loads(body) if media == "application/json" else body.decode("latin-1")
        return found + self.errors(schema, value)


class Cases:
    """What to ask for each response: (method, path, status) -> (concrete path, body, headers)."""

    def __init__(self, server, directory):
        self.server = server
        path = service.compile_sample(directory)
        self.data, self.id = service.read_bytes(path), service.gnu_build_id(path)
        other = service.compile_sample(directory, "other", salt=2)
        self.other, self.other_id = service.read_bytes(other), service.gnu_build_id(other)
        self.large = bytes((1 << 20) + 1)
        self.prepare()

    def prepare(self):
        server = self.server
        assert server.http("PUT", "/v1/debuginfo", self.data)[0] == 201
        wait_until(lambda: json.loads(server.http("GET", f"/v1/debuginfo/{self.id}")[2])["state"] ==
                   "ok", "the index")
        self.symbolize = json.dumps({"modules": [
            {"build_id": self.id, "addresses": [hex(self.address()), "0x1"]},
            {"build_id": "ab" * 20, "addresses": ["0x1"]}]})
        self.signed_url()

    def address(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.data)
            file.flush()
            return service.symbol_address(file.name, "main")

    def signed_url(self):
        stub, messages = self.server.debuginfo(), self.server.messages
        asked = messages.InitiateUploadRequest(build_id=self.other_id, build_id_type=1,
                                               hash="0" * 32, size=len(self.other))
        url = stub.InitiateUpload(asked).upload_instructions.signed_url
        self.signed = url[url.index("/v1/upload/"):]

    def table(self):
        this, file = f"/v1/debuginfo/{self.id}", f"/v1/debuginfo/{self.id}/file"
        more = self.data + b"\0"
        json_type = {"Content-Type": "application/json"}
        upload = "/v1/upload/{upload_id}"
        return [
            ("post", "/v1/symbolize", 200, ("/v1/symbolize", self.symbolize, json_type)),
            ("post", "/v1/symbolize", 400, ("/v1/symbolize", "{", json_type)),
            ("post", "/v1/symbolize", 413, ("/v1/symbolize", bytes((32 << 20) + 1), json_type)),
            ("post", "/v1/symbolize", 415, ("/v1/symbolize", "{}", {"Content-Type": "text/plain"})),
            ("get", "/v1/debuginfo", 200, ("/v1/debuginfo",)),
            ("get", "/v1/debuginfo", 400, ("/v1/debuginfo?limit=0",)),
            ("put", "/v1/debuginfo", 200, ("/v1/debuginfo", self.data)),
            ("put", "/v1/debuginfo", 400, ("/v1/debuginfo?type=sources", b"x")),
            ("put", "/v1/debuginfo", 409, ("/v1/debuginfo", more)),
            ("put", "/v1/debuginfo", 413, ("/v1/debuginfo", self.large)),
            ("put", "/v1/debuginfo", 422, ("/v1/debuginfo", b"no ELF")),
            ("put", "/v1/debuginfo", 201, ("/v1/debuginfo?force=true", more)),
            ("get", "/v1/debuginfo/{build_id}", 200, (this,)),
            ("get", "/v1/debuginfo/{build_id}", 400, ("/v1/debuginfo/zz",)),
            ("get", "/v1/debuginfo/{build_id}", 404, (f"/v1/debuginfo/{'cd' * 20}",)),
            ("put", "/v1/debuginfo/{build_id}", 200, (this, self.data)),
            ("put", "/v1/debuginfo/{build_id}", 400, (this, b"")),
            ("put", "/v1/debuginfo/{build_id}", 409, (this, more + b"\0")),
            ("put", "/v1/debuginfo/{build_id}", 413, (this, self.large)),
            ("put", "/v1/debuginfo/{build_id}", 422, (f"/v1/debuginfo/{'cd' * 20}", self.data)),
            ("put", "/v1/debuginfo/{build_id}", 201, (f"{this}?type=sources", b"sources")),
            ("get", "/v1/debuginfo/{build_id}/file", 200, (file,)),
            ("get", "/v1/debuginfo/{build_id}/file", 206, (file, None, {"Range": "bytes=1-2"})),
            ("get", "/v1/debuginfo/{build_id}/file", 304, (file, None, {"If-None-Match": "*"})),
            ("get", "/v1/debuginfo/{build_id}/file", 400, (f"{file}?type=x",)),
            ("get", "/v1/debuginfo/{build_id}/file", 404, (f"{file}?type=source_map",)),
            ("get", "/v1/debuginfo/{build_id}/file", 416,
             (file, None, {"Range": "bytes=999999999-"})),
            ("get", "/v1/missing", 200, ("/v1/missing",)),
            ("get", "/v1/missing", 400, ("/v1/missing?limit=x",)),
            ("put", upload, 400, (self.signed, self.other[:-1])),
            ("put", upload, 403, (self.signed[:-1] + "!", self.other)),
            ("put", upload, 413, (self.signed, self.other + b"x")),
            ("put", upload, 200, (self.signed, self.other)),
            ("put", upload, 409, (self.signed, self.other)),
            ("delete", "/v1/debuginfo/{build_id}", 200, (this,)),
            ("delete", "/v1/debuginfo/{build_id}", 404, (this,)),
            ("delete", "/v1/debuginfo/{build_id}", 400, (f"{this}?type=x",)),
            ("get", "/healthz", 200, ("/healthz",)),
            ("get", "/readyz", 200, ("/readyz",)),
            ("get", "/metrics", 200, ("/metrics",)),
        ]


SPEC = Specification(os.path.join(ROOT, "docs", "openapi.yaml"))


def validator(tap, spec):
    """That it can fail: each keyword refuses something."""
    for schema, value in [({"type": "integer"}, True), ({"type": "string"}, None),
                          ({"type": "string", "enum": ["a"]}, "b"),
                          ({"type": "string", "pattern": "^a$"}, "b"),
                          ({"type": "string", "maxLength": 1}, "ab"),
                          ({"type": "integer", "minimum": 1}, 0),
                          ({"type": "integer", "maximum": 1}, 2),
                          ({"type": "array", "maxItems": 1, "items": {"type": "string"}}, ["", ""]),
                          ({"type": "array", "items": {"type": "string"}}, [1]),
                          ({"type": "object", "required": ["a"]}, {}),
                          ({"type": "object", "additionalProperties": False}, {"a": 1}),
                          ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": 1})]:
        tap.ok(spec.errors(schema, value), f"the validator refuses {value!r} for {schema}")
    tap.ok(spec.unknown_keywords({"type": "object", "oneOf": []}) == {"oneOf"},
           "and sees keywords that it does not know")


def schemas_of(spec):
    yield from spec.root["components"]["schemas"].items()
    for path, method, operation in spec.operations():
        for status, response in operation["responses"].items():
            for media in spec.resolve(response).get("content", {}).values():
                yield f"{method} {path} {status}", media["schema"]


def routes():
    with open(os.path.join(ROOT, "api", "http_api.c"), encoding="utf-8") as file:
        return {(method.lower(), path) for method, path in
                re.findall(r'\.method = "(\w+)",\s*\.path = "([^"]+)"', file.read())}


def check(tap, server, documented, case):
    method, path, want, request = case
    operation = documented[method, path]
    status, headers, body = server.http(method.upper(), *request)
    errors = [f"status {status}: {body[:300]}"]
    if status == want and str(want) in operation["responses"]:
        errors = SPEC.response_errors(operation, status, headers, body)
    tap.ok(not errors, f"{method.upper()} {path} {want}", errors)


def main():
    tap = Tap()
    spec = SPEC
    validator(tap, spec)
    for name, schema in schemas_of(spec):
        unknown = spec.unknown_keywords(schema)
        if unknown:
            tap.ok(False, f"schema of {name} uses what the validator knows", str(unknown))
    documented = {(method, path): operation for path, method, operation in spec.operations()}
    tap.ok(set(documented) == routes(), "the file has the server's routes, and no others",
           str(set(documented) ^ routes()))
    arguments = ["--max-upload-size", "1MiB", "--upload-strategy", "signed_url",
                 "--upload-public-url", "http://localhost"]
    with tempfile.TemporaryDirectory(prefix="symbolizer-openapi-") as directory, \
            service.Service(arguments) as server:
        table = Cases(server, directory).table()
        wanted = {(method, path, int(status)) for (method, path), operation in documented.items()
                  for status in operation["responses"] if status not in NOT_AT_WILL}
        shown = {case[:3] for case in table}
        # A server that signs no URLs has nothing at them.
        with service.Service() as plain:
            check(tap, plain, documented, ("put", "/v1/upload/{upload_id}", 404,
                                           ("/v1/upload/x?token=y", b"x")))
        shown.add(("put", "/v1/upload/{upload_id}", 404))
        for case in table:
            check(tap, server, documented, case)
        tap.ok(wanted <= shown, "each response in the file was asked for", str(wanted - shown))
    tap.finish()


main()
