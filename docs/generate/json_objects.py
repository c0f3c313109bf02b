"""The reference of all `--json` objects, docs/json.md, from their JSON Schemas."""

from collections.abc import Mapping
from typing import Any

from turnetl.base.reason import Reason, SkipReason
from turnetl.base.result_schema import encoded_type
from turnetl.extraction.port import DiscardReason
from turnetl.ingestion.reasons import PendingReason, StaleReason
from turnetl.json_output.schemas import OUTPUTS, json_schema
from turnetl.summaries.reasons import GateReason

_REASONS: tuple[type[Reason], ...] = (
    PendingReason,
    StaleReason,
    SkipReason,
    DiscardReason,
    GateReason,
)
_REASON_NAMES = [reason.__name__ for reason in _REASONS]
_HEAD = (
    "# JSON output\n\n"
    "Every command that has a result prints it with `--json` as one object on standard output; "
    "messages and the log go to standard error.\n"
    "`turnetl schema COMMAND` prints the JSON Schema (draft 2020-12) of a command. All keys are "
    "always present, and there are no others.\n"
    "Times are ISO 8601 in UTC and sort as text.\n\n"
    "A command that has a result prints its object with any exit code: `parse`, `backfill`, "
    "`ingest`, `retry`, `redo`, `undo`, `forget`, `verify`, `migrate plan`, `migrate run`, "
    "`migrate cutover`, `migrate rollback`, `migrate finish`, "
    "`model check`, `templates check`, `templates compare` and `evaluate` exit with 1, 3 or 4 if "
    "they report something that failed.\n"
    "A command that ends without a result prints an [ErrorOutput](#erroroutput) instead: its "
    "arguments or settings are invalid (2), it was interrupted (130), or an error ended it (1), "
    "for example a graph that `search` cannot open.\n\n"
    "This page is generated from the schemas: `make docs`.\n"
)
_COMMANDS = "## Commands\n\n| command | prints |\n|---|---|\n"
_KEYS = "| key | type | meaning |\n|---|---|---|\n"
_VALUES = "| value | meaning |\n|---|---|\n"


def reference() -> str:
    """Return the page: a table of commands, a table of keys per object, a table per reason."""
    definitions: dict[str, Mapping[str, Any]] = {}
    for command in OUTPUTS:
        definitions |= json_schema(command)["$defs"]
    commands = "".join(f"{_command_row(command)}\n" for command in OUTPUTS)
    names = sorted(name for name in definitions if "properties" in definitions[name])
    objects = "\n".join(_object(name, definitions) for name in names)
    reasons = "\n".join(_reason(reason) for reason in _REASONS)
    return f"{_HEAD}\n{_COMMANDS}{commands}\n## Objects\n\n{objects}\n## Reasons\n\n{reasons}"


def _command_row(command: str) -> str:
    outputs = " or ".join(_link(encoded_type(output).__name__) for output in OUTPUTS[command])
    return f"| `turnetl {command}` | {outputs} |"


def _object(name: str, definitions: Mapping[str, Mapping[str, Any]]) -> str:
    definition = definitions[name]
    rows = "".join(
        f"| `{key}` | {_type(value, definitions)} | {value['description']} |\n"
        for key, value in definition["properties"].items()
    )
    return f"### {name}\n\n{definition['description']}\n\n{_KEYS}{rows}"


def _reason(reason: type[Reason]) -> str:
    rows = "".join(f"| `{member.value}` | {member.sentence} |\n" for member in reason)
    return f"### {reason.__name__}\n\n{_VALUES}{rows}"


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the type of a value in words, with links to objects."""

    def inner(part: Mapping[str, Any]) -> str:
        return _type(part, definitions)

    match schema:
        case {"$ref": path}:
            name = path.rpartition("/")[2]
            definition = definitions[name]
            is_linked = "properties" in definition or name in _REASON_NAMES
            text = _link(name) if is_linked else inner(definition)
        case {"anyOf": members}:
            text = " or ".join(inner(member) for member in members)
        case {"enum": values}:
            text = ", ".join(f"`{value}`" for value in values)
        case {"type": "array", "items": items}:
            text = f"list of {inner(items)}"
        case {"type": "object", "additionalProperties": dict(values)} if values:
            text = f"object: {_key_type(schema)} to {inner(values)}"
        case {"format": "date-time"}:
            text = "time"
        case _:
            text = str(schema.get("type", "any"))
    return text


def _key_type(schema: Mapping[str, Any]) -> str:
    names = schema.get("propertyNames")
    if names is None:
        return "string"
    if names["title"] in _REASON_NAMES:
        return _link(names["title"])
    return ", ".join(f"`{name}`" for name in names["enum"])


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"
