"""Parses the list of tools as the interfaces of models do: the schema type that Google publishes for
Gemini, and the strict mode of OpenAI. Usage: schemas.py URL"""

import json
import sys
import urllib.request

from agents.strict_schema import ensure_strict_json_schema
from google.genai import types
from openai.types.shared_params import FunctionDefinition
from pydantic import TypeAdapter

message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
request = urllib.request.Request(
    f"{sys.argv[1]}/mcp",
    json.dumps(message).encode(),
    {"content-type": "application/json"},
)
with urllib.request.urlopen(request) as answer:
    text = answer.read()
tools = json.loads(text)["result"]["tools"]
assert len(tools) >= 14, f"there are only {len(tools)} tools"
size = len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")).encode())
assert size <= 14 * 1024, f"the list has {size} bytes"


def keywords(schema):
    """Yields the keywords of a schema and of those in it."""
    yield from schema
    for each in [*schema.get("properties", {}).values(), schema.get("items")]:
        if each is not None:
            yield from keywords(each)


def assert_strict(schema, at):
    """Asserts what OpenAI demands of each object in strict mode."""
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False, at
        assert sorted(schema["required"]) == sorted(schema["properties"]), at
    for name, each in schema.get("properties", {}).items():
        assert_strict(each, f"{at}.{name}")


known = set()
for field, info in types.Schema.model_fields.items():
    known.update([field, info.alias or field])
for tool in tools:
    name, schema = tool["name"], tool["inputSchema"]
    # Unknown keywords are refused, as by the service; `extra` is forbidden in this type.
    parsed = types.Schema.model_validate(schema)
    assert parsed.type == types.Type.OBJECT, name
    assert set(parsed.properties) == set(schema["properties"]), name
    unknown = set(keywords(schema)) - known
    assert not unknown, f"{name} has {unknown}, which Gemini does not know"
    declared = types.FunctionDeclaration(
        name=name, description=tool["description"], parameters=parsed
    )
    # As it is sent, and read back.
    sent = declared.model_dump(exclude_none=True, by_alias=True, mode="json")
    assert types.FunctionDeclaration.model_validate(sent) == declared, name

    strict = ensure_strict_json_schema(json.loads(json.dumps(schema)))
    assert_strict(strict, name)
    function = {"name": name, "parameters": strict, "strict": True}
    TypeAdapter(FunctionDefinition).validate_python(function)

print(f"{len(tools)} tools, {size} bytes: Gemini and OpenAI read all schemas.")
