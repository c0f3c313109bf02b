"""How the databases (SQLite) of agents hold sessions, and the JSON lines as which these are read.

A layout is recognised by its tables. Its queries list the sessions with their states, cheaply, and
return the rows of one. Each row is a line: a column named `...` holds an object whose fields are
those of the line, `x:json` holds JSON, `x.y` is the field `y` of `x`, and `_x` only orders. A
query has `$table.column` where not every version has the column, which then is null.
"""

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import msgspec

from turnetl.parsing.compression import decompress

# ruff: noqa: S608 - queries are put together of constants

_FIELDS, _JSON, _HIDDEN = "...", ":json", "_"
_OPTIONAL = re.compile(r"\$(\w+)\.(\w+)")
_MAX_BYTES = 1 << 30
"""Of a decompressed value."""
_MILLISECONDS = range(10**12, 5 * 10**12)
"""Since 1970, in the years 2001 to 2128."""


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session in its state at one point in time."""

    stamp: tuple[str, ...]
    """Changes with the rows of the session."""
    bytes: int
    """Of its rows, estimated: to measure them would be to read them."""
    changed_ms: int | None
    """When it changed last, in milliseconds since 1970; None: its rows do not say."""


@dataclass(frozen=True, slots=True)
class SessionTables:
    """A layout of tables that hold sessions."""

    columns: Mapping[str, str]
    """By table, the columns by which the layout is recognised."""
    states: Sequence[str]
    """Queries of `id` and `bytes` of each session, and of `changed`, which changes with its rows.
    The first one lists all sessions."""
    rows: str
    """Query of the rows of the session `:id`, in order."""

    def is_in(self, columns: Mapping[str, set[str]]) -> bool:
        """Return whether a database with these columns, by table, has the layout."""
        return all(
            columns.get(table, set()).issuperset(names.split())
            for table, names in self.columns.items()
        )

    def of(self, columns: Mapping[str, set[str]]) -> "SessionTables":
        """Return the layout with the queries for a database with these columns."""

        def column(match: re.Match[str]) -> str:
            table, name = match.groups()
            return name if name in columns.get(table, set()) else "null"

        states = [_OPTIONAL.sub(column, query) for query in self.states]
        return replace(self, states=states, rows=_OPTIONAL.sub(column, self.rows))


def layouts_in(database: sqlite3.Connection) -> list[SessionTables]:
    """Return the layouts of a database, for the functions below; none: no agent writes it."""
    listed = "select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c order by 1"
    columns = {
        _text(table): {_text(name) for _, name in names}
        for table, names in groupby(database.execute(listed), key=lambda row: row[0])
    }
    return [layout.of(columns) for layout in LAYOUTS if layout.is_in(columns)]


def session_ids(database: sqlite3.Connection, layouts: Iterable[SessionTables]) -> list[str]:
    """Return the ids of the sessions, sorted."""
    listed = (database.execute(f"select id from ({layout.states[0]})") for layout in layouts)
    return sorted({_text(session) for ids in listed for (session,) in ids})


def session_states(
    database: sqlite3.Connection, layouts: Sequence[SessionTables], session: str | None = None
) -> dict[str, SessionState]:
    """Return the states of all sessions by their ids, or of one. The first layout counts."""
    parts: dict[str, list[tuple[Any, ...]]] = {}
    for layout in reversed(layouts):
        parts |= _parts(database, layout, session)
    return {name: _state(of_session) for name, of_session in parts.items()}


def session_lines(
    database: sqlite3.Connection, layouts: Iterable[SessionTables], session: str
) -> bytes:
    """Return the rows of a session, one on each line; nothing if it does not exist."""
    for layout in layouts:
        listed = f"select 1 from ({layout.states[0]}) where id = ?"
        if database.execute(listed, (session,)).fetchone():
            rows = database.execute(layout.rows, {"id": session})
            names = [column[0] for column in rows.description]
            return b"".join(_line(dict(zip(names, row, strict=True))) for row in rows)
    return b""


def _parts(
    database: sqlite3.Connection, layout: SessionTables, session: str | None
) -> dict[str, list[tuple[Any, ...]]]:
    """Return what each query of states says of each session, or of one."""
    where = "" if session is None else "where id = :id"
    found: dict[str, list[tuple[Any, ...]]] = {}
    for number, query in enumerate(layout.states):
        for name, *part in database.execute(f"select * from ({query}) {where}", {"id": session}):
            if number == 0 or _text(name) in found:
                found.setdefault(_text(name), []).append((number, *part))
    return found


def _state(parts: Sequence[tuple[Any, ...]]) -> SessionState:
    times = [changed for *_, changed in parts if changed in _MILLISECONDS]
    return SessionState(
        tuple(map(repr, parts)),
        sum(size or 0 for _, size, _ in parts),
        max(times, default=None),
    )


def _line(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON without nulls. Damaged fields are the line as they are."""
    fields: dict[str, Any] = {}
    rest = b""
    for name, value in row.items():
        if value is None or name.startswith(_HIDDEN):
            continue
        if name == _FIELDS:
            rest = _on_one_line(value)
            continue
        outer, _, inner = name.removesuffix(_JSON).rpartition(".")
        target = fields.setdefault(outer, {}) if outer else fields
        target[inner] = _json(value) if name.endswith(_JSON) else _plain(value)
    line = msgspec.json.encode(fields)
    if rest.startswith(b"{"):
        line = line[:-1] + (b"," if fields and rest != b"{}" else b"") + rest[1:]
    elif rest:
        line = rest
    return line + b"\n"


def _json(value: object) -> object:
    """Return JSON to be inserted, or the text if it is none."""
    raw = _on_one_line(value)
    try:
        return msgspec.json.decode(raw, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return _text(raw)


def _on_one_line(value: object) -> bytes:
    """Return a value as JSON without the breaks of lines, which are outside of its strings."""
    raw = value if isinstance(value, bytes) else _text(value).encode()
    return decompress(raw, _MAX_BYTES).data.strip().replace(b"\r", b" ").replace(b"\n", b" ")


def _plain(value: object) -> object:
    return _text(value) if isinstance(value, bytes) else value


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


_ROW_BYTES = 2048
"""What the row of a message or of a part has, more or less."""
_SESSION = """
    select 0 as _1, null as _2, null as _3, null as _4, id, null as sessionID, null as messageID,
        null as type, null as seq, $session.project_id as projectID,
        $session.parent_id as parentID, $session.fork_session_id as "fork.sessionID", directory,
        $session.title as title, $session.version as version, time_created as "time.created",
        null as "..."
    from session where id = :id
    """
_V1 = SessionTables(
    columns={
        "session": "id directory time_created",
        "message": "id session_id time_created data",
        "part": "id message_id session_id data",
    },
    states=(
        f"""
        select session_id as id, {_ROW_BYTES} * count(*) as bytes,
            max(coalesce($message.time_updated, rowid)) as changed
        from message group by session_id
        """,
        f"""
        select session_id as id, {_ROW_BYTES} * count(*) as bytes,
            max(coalesce($part.time_updated, rowid)) as changed
        from part group by session_id
        """,
    ),
    rows=f"""{_SESSION}
    union all select 1, time_created, id, null, id, session_id, null, null, null, null, null, null,
        null, null, null, null, data
    from message where session_id = :id
    union all select 1, m.time_created, p.message_id, p.id, p.id, p.session_id, p.message_id, null,
        null, null, null, null, null, null, null, null, p.data
    from part p left join message m on m.id = p.message_id where p.session_id = :id
    order by 1, 2, 3, 4
    """,
)
"""OpenCode 1.2 and Kilo: the rows are those of the files before, each message before its parts."""
_V2 = SessionTables(
    columns={
        "session_v2": "id directory time_created",
        "session_message": "id session_id type seq data",
    },
    states=(
        f"""
        select session_id as id, {_ROW_BYTES} * count(*) as bytes,
            max(coalesce($session_message.time_updated, rowid)) as changed
        from session_message group by session_id having max(type in ('user', 'assistant'))
        """,
    ),
    rows=f"""{_SESSION}
    union all select 1, seq, null, null, id, session_id, null, type, seq, null, null, null, null,
        null, null, null, data
    from session_message where session_id = :id order by 1, 2
    """.replace("$session.", "$session_v2.").replace("from session ", "from session_v2 "),
)
"""OpenCode 2. It also holds what was migrated from the tables of version 1, with the same ids."""
_V2_EARLY = replace(
    _V2,
    columns={"session": "fork_session_id", "session_message": _V2.columns["session_message"]},
    rows=_V2.rows.replace("session_v2", "session"),
)
LAYOUTS = (_V2, _V2_EARLY, _V1)
"""The first that lists a session counts."""
