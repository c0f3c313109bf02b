"""The tools as clients see them: what runs them takes seconds to import, a handshake must not."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from turnetl.base.control_characters import displayed_text
from turnetl.base.errors import BadUsage
from turnetl.index.conditions import CONDITIONS
from turnetl.mcp.answer import Answer, cut_to_tokens

_NAME_CHARS = 1_000
_TEXT_CHARS = 100_000
MIN_TOKENS, MAX_TOKENS = 500, 10_000
_SHOWN_TOKENS = 70
"""Tokens of a wrong argument that a message repeats."""


class BadArguments(BadUsage):
    """Arguments that a tool does not take. The message holds no text of an archive."""


def _stated(condition: str) -> Meta:
    return Meta(max_length=_NAME_CHARS, description=CONDITIONS[condition].brief)


_Project = Annotated[str, _stated("groups")]
_Since = Annotated[str, _stated("since")]
_Until = Annotated[str, _stated("until")]
_Session = Annotated[str, _stated("session")]
_File = Annotated[str, _stated("file")]
_Entity = Annotated[str, _stated("entity")]
_Offset = Annotated[int, Meta(ge=0, le=100_000, description="items to skip: for the next page")]
_MaxTokens = Annotated[int, Meta(ge=MIN_TOKENS, le=MAX_TOKENS, description="limit of the answer")]


class _Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every tool takes. An empty text stands for an argument that is not given."""

    offset: _Offset = 0
    max_tokens: _MaxTokens = 2_000


class SearchArguments(_Arguments, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(
            max_length=_TEXT_CHARS,
            description='words or a question; "quoted" words must occur; empty: newest turns',
        ),
    ] = ""
    project: _Project = ""
    since: _Since = ""
    until: _Until = ""
    as_of: Annotated[str, _stated("as_of")] = ""
    session: _Session = ""
    file: _File = ""
    entity: _Entity = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 8


class OpenArguments(_Arguments, frozen=True, kw_only=True):
    id: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=_NAME_CHARS,
            description="id (or its beginning) of a turn, session, entity or fact; name of an "
            "entity; path of a file; or lineage: archive.jsonl:12",
        ),
    ]


class TimelineArguments(_Arguments, frozen=True, kw_only=True):
    project: _Project = ""
    since: _Since = ""
    until: _Until = ""
    session: _Session = ""
    file: _File = ""
    entity: _Entity = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 30


class FixArguments(_Arguments, frozen=True, kw_only=True):
    error: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=_TEXT_CHARS,
            description="message, a part of it, or a log that contains it",
        ),
    ]
    project: _Project = ""
    limit: Annotated[int, Meta(ge=1, le=10)] = 3


class ListArguments(_Arguments, frozen=True, kw_only=True):
    what: Literal["projects", "sessions"] = "projects"
    project: _Project = ""
    since: _Since = ""
    until: _Until = ""


A = TypeVar("A", bound=_Arguments)


def input_schema(kind: type[_Arguments]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, without what a model does not need."""
    _, components = msgspec.json.schema_components([kind])
    schema = components[kind.__name__]
    names = sorted(schema["properties"], key=lambda name: name in _Arguments.__struct_fields__)
    required = {"required": schema["required"]} if schema["required"] else {}
    return {
        "type": "object",
        "properties": {name: _short(schema["properties"][name]) for name in names},
        **required,
        "additionalProperties": False,
    }


def _short(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in schema.items()
        if value != "" and name not in ("minLength", "maxLength")
    }


def read_arguments(kind: type[A], values: Mapping[str, Any]) -> A:
    """Return the arguments of a call; null stands for an argument that is not given."""
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        known = ", ".join(f"`{name}`" for name in kind.__struct_fields__)
        raise BadArguments(f"{shown(str(error))}; the arguments are {known}") from None


def shown(text: str) -> str:
    """Return a text of the client as a message repeats it."""
    return cut_to_tokens(displayed_text(text), _SHOWN_TOKENS)


ToolRunner = Callable[[str, Any], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    name: str
    description: str
    arguments: type[Any]


TOOLS = (
    ToolDefinition(
        "search",
        "Search past coding-agent sessions: what was asked, decided, tried, changed. Returns turns "
        "with dated facts and their lineage (turn id, archive:lines).",
        SearchArguments,
    ),
    ToolDefinition(
        "open",
        "Read one turn (prompt, answer, facts, steps), session, entity, file or fact in full, in "
        "pages.",
        OpenArguments,
    ),
    ToolDefinition(
        "timeline",
        "List what happened, newest first: turns of a project, time, session, file or entity.",
        TimelineArguments,
    ),
    ToolDefinition(
        "fix", "Find where an error occurred before and what resolved it.", FixArguments
    ),
    ToolDefinition(
        "list", "List projects or sessions with their times, newest first.", ListArguments
    ),
)
