"""Translation of pydantic's JSON Schema into the dialects that providers support.

Keywords that a dialect lacks are omitted: every response is validated afterwards anyway.
"""

from collections.abc import Mapping
from typing import Any

_UNSUPPORTED_STRICT = frozenset({"default", "minLength", "maxLength", "uniqueItems", "$defs"})
"""Keywords that OpenAI's strict mode rejects."""
_UNSUPPORTED_ANTHROPIC = _UNSUPPORTED_STRICT | {
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
}
"""Keywords that Anthropic's structured outputs reject."""
_OPENAPI = ("type", "description", "format", "nullable", "minItems", "maxItems", "required")
"""Keywords with the same meaning in the subset of OpenAPI 3.0 that Gemini supports."""


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema for OpenAI's strict mode: all properties required, no others allowed."""
    return _closed(schema, schema.get("$defs", {}), _UNSUPPORTED_STRICT)


def bounded(schema: Mapping[str, Any], items: int) -> dict[str, Any]:
    """Return the schema with a limit of each list: a server that enforces it ends a loop there."""
    limited: dict[str, Any] = _limited(schema, items)
    return limited


def _limited(value: Any, items: int) -> Any:
    if isinstance(value, list):
        return [_limited(one, items) for one in value]
    if not isinstance(value, Mapping):
        return value
    limited = {name: _limited(one, items) for name, one in value.items()}
    return limited | {"maxItems": items} if value.get("type") == "array" else limited


def anthropic(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema for Anthropic's structured outputs, a smaller subset than strict mode."""
    return _closed(schema, schema.get("$defs", {}), _UNSUPPORTED_ANTHROPIC)


def gemini(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema in the subset of OpenAPI 3.0 that Gemini supports.

    `propertyOrdering` is set, because Gemini sorts properties alphabetically otherwise.
    """
    return _openapi(schema, schema.get("$defs", {}))


def _closed(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], unsupported: frozenset[str]
) -> dict[str, Any]:
    resolved = _resolved(schema, definitions)
    supported = {name: value for name, value in resolved.items() if name not in unsupported}
    if resolved.get("type") == "object" or "properties" in resolved:
        # A property may itself be called `default`.
        properties = resolved.get("properties", {})
        supported["properties"] = {
            name: _closed(value, definitions, unsupported) for name, value in properties.items()
        }
        supported["required"] = list(properties)
        supported["additionalProperties"] = False
    if "items" in resolved:
        supported["items"] = _closed(resolved["items"], definitions, unsupported)
    if "anyOf" in resolved:
        supported["anyOf"] = [
            _closed(option, definitions, unsupported) for option in resolved["anyOf"]
        ]
    return supported


def _openapi(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    resolved = _resolved(schema, definitions)
    supported = {name: resolved[name] for name in _OPENAPI if name in resolved}
    choices = resolved.get("enum", [resolved["const"]] if "const" in resolved else [])
    if choices and all(isinstance(choice, str) for choice in choices):
        supported["enum"] = choices
    if "properties" in resolved:
        properties = resolved["properties"].items()
        supported["properties"] = {name: _openapi(value, definitions) for name, value in properties}
        supported["propertyOrdering"] = list(resolved["properties"])
    if "items" in resolved:
        supported["items"] = _openapi(resolved["items"], definitions)
    if "anyOf" in resolved:
        supported |= _union(resolved["anyOf"], definitions)
    return supported


def _union(options: list[Mapping[str, Any]], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a union. OpenAPI 3.0 has no null type: an optional value is nullable."""
    types = [_openapi(option, definitions) for option in options if option.get("type") != "null"]
    optional: dict[str, Any] = {"nullable": True} if len(types) < len(options) else {}
    return optional | (types[0] if len(types) == 1 else {"anyOf": types})


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema with its reference resolved; no dialect allows keywords beside `$ref`."""
    if "$ref" not in schema:
        return schema
    siblings = {name: value for name, value in schema.items() if name != "$ref"}
    target: Mapping[str, Any] = definitions[schema["$ref"].rsplit("/", 1)[-1]]
    return {**target, **siblings}
