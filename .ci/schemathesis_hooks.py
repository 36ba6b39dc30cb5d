"""What Schemathesis cannot know about bodies and headers of this service."""

import json
import re
import uuid

import schemathesis

LINES = "application/x-ndjson"
KEY = re.compile('"?[A-Za-z0-9._~:+/=-]{1,128}"?')


def with_integers(value):
    """JSON Schema takes 4.0 for an integer, this service for a float: integers are sent as integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [with_integers(each) for each in value]
    if isinstance(value, dict):
        return {name: with_integers(each) for name, each in value.items()}
    return value


@schemathesis.hook
def map_body(context, body):
    return with_integers(body)


def with_slashes(parameters):
    """It leaves slashes out of paths; a name may have them, raw and encoded."""
    name = parameters.get("name")
    if isinstance(name, str):
        parameters["name"] = name + ("", "/x", "%2Fx")[len(name) % 3]


@schemathesis.hook
def before_call(context, case, kwargs):
    with_slashes(case.path_parameters or {})
    headers = case.headers or {}
    # A key belongs to one body, but Schemathesis makes up the same short keys again.
    key = headers.get("idempotency-key", "")
    if KEY.fullmatch(key):
        headers["idempotency-key"] = key.strip('"')[:90] + f"-{uuid.uuid4()}"
    # In its phase "coverage", it puts no quotes into headers and sends 0 as a valid entity tag.
    for name in ("if-match", "if-none-match"):
        if case.meta.phase.name.value == "coverage" and headers.get(name) == "0":
            headers[name] = '"0"'


@schemathesis.serializer(LINES)
def write_lines(context, value):
    lines = value if isinstance(value, list) else [value]
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


@schemathesis.deserializer(LINES)
def read_lines(context, response):
    return [json.loads(line) for line in response.content.splitlines()]


@schemathesis.serializer("text/markdown", "text/plain")
def write_text(context, value):
    # Every string is a text, so that something else must not even be UTF-8.
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b"\xff"
