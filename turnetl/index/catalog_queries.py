"""A `Selection` as queries over the catalog's tables."""

import json
import sqlite3
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from turnetl.base.model import SessionId
from turnetl.index.conditions import Selection, fold
from turnetl.index.port import Condition, Keys

LAST_CHARACTER = "\U0010ffff"
"""Greater than every other one: an id that starts with a text is less than the text with it."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_HELD = "(f.valid_at IS NULL OR f.valid_at < :as_of)"
_HELD_STILL = "(f.invalid_at IS NULL OR f.invalid_at >= :as_of)"
_ABOUT = "(f.source IN ({entities}) OR f.target IN ({entities}))"
_NAMED = "SELECT entity FROM entity_names WHERE folded = :entity"
_LABELLED = "SELECT entity FROM entity_labels WHERE folded = :label"
_FILES = """
    SELECT {} FROM entity_labels l JOIN entity_names n ON n.entity = l.entity
    WHERE l.folded = 'file'"""
_FILES_THAT_END_SO = f"""{_FILES.format("n.entity")}
    AND substr('/' || n.folded, -length('/' || :file)) = '/' || :file"""
_AT_THE_END = "AND substr(:file, -length('/' || n.folded)) = '/' || n.folded"
_FILE_AT = f"""{_FILES.format("n.entity")} {_AT_THE_END} AND length(n.folded) = (
    {_FILES.format("max(length(n.folded))")} {_AT_THE_END})"""

# The index on sessions starts with the group.
_IN_SESSION = """key IN (
    SELECT key FROM turns WHERE group_id IN (SELECT group_id FROM groups)
    AND session_id >= :session AND session_id < :session || :last_character)"""
_VALUES = {
    Condition.FORMAT: "SELECT DISTINCT format FROM turns WHERE format IS NOT NULL",
    Condition.BRANCH: "SELECT DISTINCT git_branch FROM turns WHERE git_branch IS NOT NULL",
    Condition.TOOL: "SELECT min(tool) FROM turn_tools GROUP BY folded",
    Condition.LABEL: "SELECT min(label) FROM entity_labels GROUP BY folded",
    Condition.RELATION: "SELECT min(relation) FROM facts GROUP BY folded",
}
# Times first, by their index: of 100,000 turns a page takes 19 ms; ordering newer rows took 155.
_TIMES = """
SELECT started_at FROM turns WHERE {where} ORDER BY started_at DESC LIMIT :limit OFFSET :skip"""
_NEWER = "SELECT count(*) FROM turns WHERE {where} AND started_at > :newest"
_NEWEST = """
SELECT key FROM turns WHERE {where}
ORDER BY started_at DESC, turn_id DESC LIMIT :limit OFFSET :skip"""
_NEWEST_SESSIONS = """
SELECT session_id FROM turns WHERE {where}
GROUP BY session_id ORDER BY max(started_at) DESC, session_id LIMIT :limit"""
_SESSION_COUNT = "SELECT count(DISTINCT session_id) FROM turns WHERE {where}"


class Selector:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def newest_sessions(self, selection: Selection, limit: int) -> tuple[list[SessionId], int]:
        """Return the sessions of the newest turns that meet all conditions, and their number."""
        where, parameters = _turn_conditions(selection)
        rows = self._query(_NEWEST_SESSIONS.format(where=where), parameters | {"limit": limit})
        ((count,),) = self._query(_SESSION_COUNT.format(where=where), parameters)
        return [SessionId(session) for (session,) in rows], count

    def select(self, selection: Selection) -> Keys:
        where, parameters = _turn_conditions(selection)
        rows = self._query(f"SELECT key FROM turns WHERE {where} ORDER BY key", parameters)
        return np.array([key for (key,) in rows], dtype=np.int64)

    def newest(self, selection: Selection, limit: int, skip: int = 0) -> list[int]:
        where, parameters = _turn_conditions(selection)
        page = {**parameters, "limit": limit, "skip": skip}
        if not selection.selects_facts:
            # Only the order of equal times needs the rows, which are all over the file: first the
            # times of the page are found, mostly in an index alone.
            times = self._query(_TIMES.format(where=where), page)
            if not times:
                return []
            page |= {"newest": times[0][0], "oldest": times[-1][0]}
            ((newer,),) = self._query(_NEWER.format(where=where), page)
            page["skip"] = max(0, skip - newer)
            where += " AND started_at BETWEEN :oldest AND :newest"
        return [key for (key,) in self._query(_NEWEST.format(where=where), page)]

    def selected_facts(self, selection: Selection, keys: Collection[int]) -> set[str]:
        where, parameters = _fact_conditions(selection)
        rows = self._query(
            "SELECT DISTINCT f.uuid FROM fact_turns ft JOIN facts f ON f.key = ft.fact "
            f"WHERE ft.turn IN (SELECT value FROM json_each(:keys)) AND {where}",
            {**parameters, "keys": json.dumps(list(keys))},
        )
        return {uuid for (uuid,) in rows}

    def values(self, condition: Condition) -> list[str]:
        return sorted(value for (value,) in self._query(_VALUES[condition], {}))

    def _query(self, query: str, parameters: dict[str, Any]) -> list[Any]:
        # An argument that is no UTF-8 has halves of characters, which SQLite refuses.
        bound = {
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in parameters.items()
        }
        return self._connection.execute(query, bound).fetchall()


def microseconds(time: datetime) -> int:
    """Return the microseconds since 1970, as the catalog stores a time."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def time_of(stored: int) -> datetime:
    return _EPOCH + timedelta(microseconds=stored)


def _turn_conditions(selection: Selection) -> tuple[str, dict[str, Any]]:
    conditions = dict(_conditions_on_turns(selection))
    parameters = {name: value for values in conditions.values() for name, value in values.items()}
    if selection.selects_facts:
        on_facts, of_facts = _fact_conditions(selection)
        conditions[
            "key IN (SELECT ft.turn FROM facts f JOIN fact_turns ft ON ft.fact = f.key "
            f"WHERE {on_facts})"
        ] = of_facts
        parameters |= of_facts
    return " AND ".join(conditions) or "TRUE", parameters


def _conditions_on_turns(selection: Selection) -> Iterator[tuple[str, dict[str, Any]]]:
    if selection.groups:
        names = {f"group{number}": group for number, group in enumerate(selection.groups)}
        yield f"group_id IN ({', '.join(f':{name}' for name in names)})", names
    if selection.since is not None:
        yield "started_at >= :since", {"since": microseconds(selection.since)}
    if selection.until is not None:
        yield "started_at < :until", {"until": microseconds(selection.until)}
    if selection.as_of is not None:
        yield "started_at < :as_of", {"as_of": microseconds(selection.as_of)}
    if selection.session is not None:
        yield _IN_SESSION, {"session": selection.session, "last_character": LAST_CHARACTER}
    if selection.format is not None:
        yield "format = :format", {"format": selection.format}
    if selection.branch is not None:
        yield "git_branch = :branch", {"branch": selection.branch}
    if selection.tool is not None:
        yield (
            "key IN (SELECT turn FROM turn_tools WHERE folded = :tool)",
            {"tool": fold(selection.tool)},
        )


def _fact_conditions(selection: Selection) -> tuple[str, dict[str, Any]]:
    """Return the conditions on a fact `f`, and their parameters."""
    conditions, parameters = ["TRUE"], dict[str, Any]()
    if selection.as_of is not None:
        conditions += [_HELD, _HELD_STILL]
        parameters["as_of"] = microseconds(selection.as_of)
    if selection.relation is not None:
        conditions.append("f.folded = :relation")
        parameters["relation"] = fold(selection.relation)
    if selection.entity is not None:
        conditions.append(_ABOUT.format(entities=_NAMED))
        parameters["entity"] = fold(selection.entity)
    if selection.label is not None:
        conditions.append(_ABOUT.format(entities=_LABELLED))
        parameters["label"] = fold(selection.label)
    if selection.file is not None:
        is_absolute = selection.file.startswith("/") or selection.file[1:3] == ":/"
        conditions.append(_ABOUT.format(entities=_FILE_AT if is_absolute else _FILES_THAT_END_SO))
        parameters["file"] = fold(selection.file.rstrip("/"))
    return " AND ".join(conditions), parameters
