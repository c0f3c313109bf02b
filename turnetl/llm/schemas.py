"""JSON Schema as pydantic writes it, into the dialects that providers understand."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from turnetl.llm.chat import Schema


@cache
def of(model: type[BaseModel]) -> Schema:
    """Return the model's schema, built once."""
    return Schema(model.__name__, model.model_json_schema(), model)


def strict(schema: Any) -> Any:
    """Return the schema with every property required and no other allowed: OpenAI's strict mode."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {name: strict(value) for name, value in schema.items() if name != "default"}
    if isinstance(properties := schema.get("properties"), Mapping):
        # A property may itself be called `default`.
        kept["properties"] = {name: strict(value) for name, value in properties.items()}
        kept["required"] = list(properties)
        kept["additionalProperties"] = False
    return kept


_KNOWN = ("type", "description", "enum", "format", "nullable", "minItems", "maxItems", "required")


def openapi(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without references, in the part of OpenAPI 3.0 that Gemini reads."""
    return _openapi(schema, schema.get("$defs", {}))


def _openapi(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        meant = shared[schema["$ref"].rsplit("/", 1)[-1]]
        return _openapi(meant | {k: v for k, v in schema.items() if k != "$ref"}, shared)
    kept = {name: schema[name] for name in _KNOWN if name in schema}
    if "properties" in schema:
        properties = schema["properties"].items()
        kept["properties"] = {name: _openapi(value, shared) for name, value in properties}
    if "items" in schema:
        kept["items"] = _openapi(schema["items"], shared)
    if "anyOf" in schema:
        kept |= _either(schema["anyOf"], shared)
    return kept


def _either(options: list[Mapping[str, Any]], shared: Mapping[str, Any]) -> dict[str, Any]:
    """OpenAPI 3.0 has no null type: an optional value is a nullable one."""
    real = [_openapi(option, shared) for option in options if option.get("type") != "null"]
    optional: dict[str, Any] = {"nullable": True} if len(real) < len(options) else {}
    return optional | (real[0] if len(real) == 1 else {"anyOf": real})
