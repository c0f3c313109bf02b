"""JSON Schema as pydantic writes it, into the dialects that providers understand.

What a dialect has no word for is left out: answers are held against the form afterwards anyway.
"""

from collections.abc import Mapping
from typing import Any

_BEYOND_STRICT = frozenset({"default", "minLength", "maxLength", "uniqueItems", "$defs"})
"""What OpenAI's strict mode refuses."""
_BEYOND_ANTHROPIC = _BEYOND_STRICT | {
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
}
"""What Anthropic's structured outputs refuse."""
_OPENAPI = ("type", "description", "format", "nullable", "minItems", "maxItems", "required")
"""What is the same in the part of OpenAPI 3.0 that Gemini reads."""


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema for OpenAI's strict mode: every property required, no other allowed."""
    return _closed(schema, schema.get("$defs", {}), _BEYOND_STRICT)


def anthropic(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema for Anthropic's structured outputs, which know less than strict mode."""
    return _closed(schema, schema.get("$defs", {}), _BEYOND_ANTHROPIC)


def gemini(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema in the part of OpenAPI 3.0 that Gemini reads.

    Properties are named in their order too, or Gemini answers by the alphabet.
    """
    return _openapi(schema, schema.get("$defs", {}))


def _closed(
    schema: Mapping[str, Any], shared: Mapping[str, Any], beyond: frozenset[str]
) -> dict[str, Any]:
    whole = _whole(schema, shared)
    kept = {name: value for name, value in whole.items() if name not in beyond}
    if whole.get("type") == "object" or "properties" in whole:
        # A property may itself be called `default`.
        properties = whole.get("properties", {})
        kept["properties"] = {
            name: _closed(value, shared, beyond) for name, value in properties.items()
        }
        kept["required"] = list(properties)
        kept["additionalProperties"] = False
    if "items" in whole:
        kept["items"] = _closed(whole["items"], shared, beyond)
    if "anyOf" in whole:
        kept["anyOf"] = [_closed(option, shared, beyond) for option in whole["anyOf"]]
    return kept


def _openapi(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    whole = _whole(schema, shared)
    kept = {name: whole[name] for name in _OPENAPI if name in whole}
    choices = whole.get("enum", [whole["const"]] if "const" in whole else [])
    if choices and all(isinstance(choice, str) for choice in choices):
        kept["enum"] = choices
    if "properties" in whole:
        properties = whole["properties"].items()
        kept["properties"] = {name: _openapi(value, shared) for name, value in properties}
        kept["propertyOrdering"] = list(whole["properties"])
    if "items" in whole:
        kept["items"] = _openapi(whole["items"], shared)
    if "anyOf" in whole:
        kept |= _either(whole["anyOf"], shared)
    return kept


def _either(options: list[Mapping[str, Any]], shared: Mapping[str, Any]) -> dict[str, Any]:
    """OpenAPI 3.0 has no null type: an optional value is a nullable one."""
    real = [_openapi(option, shared) for option in options if option.get("type") != "null"]
    optional: dict[str, Any] = {"nullable": True} if len(real) < len(options) else {}
    return optional | (real[0] if len(real) == 1 else {"anyOf": real})


def _whole(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a reference means; no dialect takes one with words beside it."""
    if "$ref" not in schema:
        return schema
    beside = {name: value for name, value in schema.items() if name != "$ref"}
    meant: Mapping[str, Any] = shared[schema["$ref"].rsplit("/", 1)[-1]]
    return {**meant, **beside}
