"""A `Selection` as a query over the catalog's tables."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from turnetl.index.selection import Selection

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_BY_RELATION = """key IN (
    SELECT ft.turn FROM fact_turns ft JOIN facts f ON f.key = ft.fact
    WHERE f.relation = :relation)"""
_BY_ENTITY = """key IN (
    SELECT ft.turn FROM fact_turns ft JOIN facts f ON f.key = ft.fact
    WHERE f.source IN ({entities}) OR f.target IN ({entities}))"""


def select_turns(selection: Selection) -> tuple[str, dict[str, Any]]:
    """Return the query for the keys of the turns that meet all conditions, ascending."""
    conditions = dict(_conditions(selection))
    where = " AND ".join(conditions) or "TRUE"
    parameters = {name: value for values in conditions.values() for name, value in values.items()}
    return f"SELECT key FROM turns WHERE {where} ORDER BY key", parameters  # noqa: S608 - constants


def microseconds(time: datetime) -> int:
    """Return the microseconds since 1970, as the catalog stores a time."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def _conditions(selection: Selection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each condition with its parameters."""
    if selection.groups:
        names = {f"group{number}": group for number, group in enumerate(selection.groups)}
        yield f"group_id IN ({', '.join(f':{name}' for name in names)})", names
    if selection.since is not None:
        yield "started_at >= :since", {"since": microseconds(selection.since)}
    if selection.until is not None:
        yield "started_at < :until", {"until": microseconds(selection.until)}
    if selection.session is not None:
        yield "substr(session_id, 1, length(:session)) = :session", {"session": selection.session}
    if selection.format is not None:
        yield "format = :format", {"format": selection.format}
    if selection.branch is not None:
        yield "git_branch = :branch", {"branch": selection.branch}
    if selection.tool is not None:
        yield "key IN (SELECT turn FROM turn_tools WHERE tool = :tool)", {"tool": selection.tool}
    if selection.relation is not None:
        yield _BY_RELATION, {"relation": selection.relation}
    yield from _entity_conditions(selection)


def _entity_conditions(selection: Selection) -> Iterator[tuple[str, dict[str, Any]]]:
    if selection.entity is not None:
        entities = "SELECT key FROM entities WHERE name = :entity"
        yield _BY_ENTITY.format(entities=entities), {"entity": selection.entity}
    if selection.label is not None:
        entities = "SELECT entity FROM entity_labels WHERE label = :label"
        yield _BY_ENTITY.format(entities=entities), {"label": selection.label}
    if selection.file is not None:
        entities = (
            "SELECT l.entity FROM entity_labels l JOIN entities e ON e.key = l.entity "
            "WHERE l.label = 'File' AND (e.name = :file "
            "OR substr('/' || e.name, -length('/' || :file)) = '/' || :file)"
        )
        yield _BY_ENTITY.format(entities=entities), {"file": selection.file.strip("/")}
