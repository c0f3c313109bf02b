"""An ontology's file: what it says, and what is wrong with it."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from turnetl.extraction.diagnostics import Diagnostic, error, warning

PROTECTED = frozenset(
    {
        *("uuid", "name", "group_id", "labels", "created_at", "name_embedding", "summary"),
        *("attributes", "source_node_uuid", "target_node_uuid", "fact", "fact_embedding"),
        *("episodes", "expired_at", "valid_at", "invalid_at", "reference_time"),
    }
)
"""Names of what Graphiti's own nodes and edges have: as fields they kill every turn."""
TAKEN = frozenset({"Entity", "Episodic", "Community", "Saga", "TurnCommit", "TurnGroup"})
"""Labels that mean something else in the graph."""
LONGEST_NAME = 60
"""Characters of a name, which every answer says again."""
LONGEST, LONG = 500, 200
"""Characters of a meaning: more is refused, is told of."""
MOST = 25
"""Kinds of things, or of facts, that a model can be expected to keep apart."""

_TABLES = ("things", "facts")
_KEYS = ("meaning", "fields")
_FORM = '`Name = "what it means"`, or a table with `meaning` and `fields`'


@dataclass(frozen=True, slots=True)
class Said:
    """What a file says, as far as it can be read, and all that is wrong with it."""

    things: Mapping[str, str]
    facts: Mapping[str, str]
    fields: Mapping[str, Mapping[str, str]]
    findings: tuple[Diagnostic, ...]


def read(text: str) -> Said:
    """Return what a file says; of what is no TOML, nothing but why."""
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as broken:
        return Said({}, {}, {}, (error(f"is no TOML: {_first_line(broken)}"),))
    kinds = {name: _kinds(tables.get(name)) for name in _TABLES}
    things, facts = ({n: _meaning(k) for n, k in kinds[table].items()} for table in _TABLES)
    both = {**kinds["things"], **kinds["facts"]}
    fields = {name: found for name, kind in both.items() if (found := _fields(kind))}
    return Said(things, facts, fields, tuple(_findings(tables, kinds)))


def _kinds(table: Any) -> Mapping[str, Any]:
    return table if isinstance(table, dict) else {}


def _meaning(kind: Any) -> str:
    meaning = kind.get("meaning") if isinstance(kind, dict) else kind
    return meaning.strip() if isinstance(meaning, str) else ""


def _fields(kind: Any) -> Mapping[str, str]:
    fields = kind.get("fields") if isinstance(kind, dict) else None
    if not isinstance(fields, dict):
        return {}
    return {name: line for name, line in fields.items() if isinstance(line, str)}


def _findings(
    tables: Mapping[str, Any], kinds: Mapping[str, Mapping[str, Any]]
) -> Iterator[Diagnostic]:
    for name, table in tables.items():
        if name not in _TABLES:
            yield error(f"`{name}` means nothing; known are [things] and [facts]")
        elif not isinstance(table, dict):
            yield error(f"`{name}` must be a table of {_FORM}")
    if not any(kinds.values()):
        yield error("names no kind of thing or fact; for Graphiti's own, set `ontology` to null")
    for table, named in kinds.items():
        for name, kind in named.items():
            yield from _of_kind(table, name, kind)
        if len(named) > MOST:
            yield warning(f"[{table}] has {len(named)} kinds; a model keeps some {MOST} apart")
    yield from _alike(kinds)


def _of_kind(table: str, name: str, kind: Any) -> Iterator[Diagnostic]:
    where = f"`{table}.{name}`"
    if not (name.isascii() and name.isidentifier()):
        yield error(f"{where}: a name has letters, digits and underscores, no digit first")
    if len(name) > LONGEST_NAME:
        yield error(f"{where[:LONGEST_NAME]}...: a name has {LONGEST_NAME} letters at most")
    if name in TAKEN or name.upper() == "ENTITY":
        yield error(f"{where}: that name means something else in the graph; take another")
    if table == "facts" and name != name.upper():
        yield warning(f"{where}: facts are named in capitals, as those that a model makes up")
    if not isinstance(kind, str | dict):
        yield error(f"{where} must be {_FORM}")
        return
    if isinstance(kind, dict):
        yield from _of_table(where, name, kind)
    meaning = _meaning(kind)
    if not meaning:
        yield error(f"{where} says nothing; say in a sentence what it means")
    yield from _length(where, meaning)


def _of_table(where: str, name: str, kind: Mapping[str, Any]) -> Iterator[Diagnostic]:
    for key in kind:
        if key not in _KEYS:
            yield error(f"{where}: `{key}` means nothing; known are {' and '.join(_KEYS)}")
    fields = kind.get("fields", {})
    if not isinstance(fields, dict):
        yield error(f'{where}: `fields` must be a table of `name = "what it means"`')
        return
    for field, line in fields.items():
        yield from _of_field(where, field, line)
    if fields:
        yield warning(f"{where} has fields: every {name} of every turn costs a call of its own")


def _of_field(where: str, field: str, line: Any) -> Iterator[Diagnostic]:
    if field in PROTECTED:
        yield error(f"{where}: Graphiti has a `{field}` of its own; give the field another name")
    elif not (field.isascii() and field.isidentifier()) or field.startswith("_"):
        yield error(f"{where}: field `{field}`: letters, digits and underscores, a letter first")
    elif field.startswith("model_") or hasattr(BaseModel, field):
        yield error(f"{where}: field `{field}` means something to pydantic; take another name")
    if not isinstance(line, str) or not line.strip():
        yield error(f"{where}: field `{field}` says nothing; say what it means")
    else:
        yield from _length(f"{where}: field `{field}`", line)


def _length(where: str, text: str) -> Iterator[Diagnostic]:
    long = f"{where} has {len(text):,} characters, and stands in a prompt of every turn"
    if len(text) > LONGEST:
        yield error(f"{long}; say it in {LONGEST}")
    elif len(text) > LONG:
        yield warning(f"{long}; {LONG} are enough")


def _alike(kinds: Mapping[str, Mapping[str, Any]]) -> Iterator[Diagnostic]:
    """Yield what is said twice: names that differ in case only, and meanings."""
    names = [name for named in kinds.values() for name in named]
    for name, count in Counter(name.lower() for name in names).items():
        if count > 1:
            same = "`, `".join(one for one in names if one.lower() == name)
            yield error(f"`{same}` are one name to a model; take others")
    lines = [_meaning(kind).lower() for named in kinds.values() for kind in named.values()]
    for line, count in Counter(line for line in lines if line).items():
        if count > 1:
            yield warning(f"{count} kinds mean the same: {line[:60]}")


def _first_line(broken: Exception) -> str:
    return (str(broken).splitlines() or [""])[0]
