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
    """Queries of `id`, `bytes` and `changed` of each session, or of the one that `:id` names.
    `changed` changes with the rows. The first query lists all sessions."""
    rows: str
    """Query of the rows of the session `:id`, in order."""
    files: Sequence[str] = ()
    """Globs, beside the database, of files that end with the ids of the sessions that they hold,
    more completely."""

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
    found = [layout.of(columns) for layout in LAYOUTS if layout.is_in(columns)]
    # Of those that list the same sessions, the first is enough.
    return [*{layout.states[0]: layout for layout in reversed(found)}.values()][::-1]


def session_ids(database: sqlite3.Connection, layouts: Iterable[SessionTables]) -> list[str]:
    """Return the ids of the sessions, sorted."""
    listed = (
        database.execute(f"select id from ({layout.states[0]})", {"id": None}) for layout in layouts
    )
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
        listed = f"select 1 from ({layout.states[0]}) where id = :id"
        if database.execute(listed, {"id": session}).fetchone():
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
    # A range is searched, endlessly, for what is no integer.
    times = [at for *_, at in parts if isinstance(at, int) and at in _MILLISECONDS]
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
_V1_BY_MESSAGE = replace(
    _V1,
    columns={**_V1.columns, "part": "id message_id data"},
    states=(
        _V1.states[0],
        _V1.states[1].replace(
            "from part",
            """from (select m.session_id, p.rowid, p.* from part p
                join message m on m.id = p.message_id)""",
        ),
    ),
    rows=_V1.rows.replace("p.session_id", "m.session_id"),
)
"""Parts name only their message."""
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
_CODEX = SessionTables(
    columns={
        "thread_turns": "thread_id turn_id rollout_ordinal status",
        "thread_items": "thread_id turn_id item_id rollout_ordinal item_json",
    },
    states=(
        f"""
        select thread_id as id, {_ROW_BYTES} * count(*) as bytes,
            group_concat(coalesce($thread_items.updated_at_ordinal, rollout_ordinal)) as changed
        from thread_items group by thread_id
        """,
        """
        select thread_id as id, 0 as bytes,
            group_concat(status || coalesce($thread_turns.completed_at, '')) as changed
        from thread_turns group by thread_id
        """,
    ),
    rows="""
    with valid as (select rollout_ordinal, item_json as item,
        json_extract(item_json, '$.type') as kind
        from thread_items where thread_id = :id and json_valid(item_json)),
    spelled as (select rollout_ordinal, kind, json_set(item,
        '$.type', upper(substr(kind, 1, 1)) || substr(kind, 2),
        '$.aggregated_output', json_extract(item, '$.aggregatedOutput'),
        '$.exit_code', json_extract(item, '$.exitCode')) as item from valid),
    items as (select rollout_ordinal, case kind
        when 'agentMessage' then json_set(item, '$.content',
            json_array(json_object('type', 'Text', 'text', json_extract(item, '$.text'))))
        when 'fileChange' then json_set(item, '$.changes', json((
            select json_group_object(coalesce(json_extract(one.value, '$.path'), ''), json_object(
                'type', json_extract(one.value, '$.kind.type'),
                'unified_diff', json_extract(one.value, '$.diff')))
            from json_each(item, '$.changes') one where one.type = 'object')))
        else item end as item from spelled)
    select -1 as _1, 0 as _2, 'session_meta' as type, null as timestamp, :id as "payload.id",
        (select json_extract(item, '$.cwd') from valid where kind = 'commandExecution' limit 1)
            as "payload.cwd",
        null as "payload.type", null as "payload.turn_id", null as "payload.started_at",
        null as "payload.completed_at", null as "payload.item:json"
    union all select rollout_ordinal, 0, 'event_msg', null, null, null, 'task_started', turn_id,
        $thread_turns.started_at, null, null
    from thread_turns where thread_id = :id
    union all select rollout_ordinal, 1, 'event_msg',
        strftime('%Y-%m-%dT%H:%M:%fZ', $thread_items.created_at_ms / 1000.0, 'unixepoch'),
        null, null, 'item_completed', turn_id, null, null, coalesce(
            (select item from items i where i.rollout_ordinal = t.rollout_ordinal), item_json)
    from thread_items t where thread_id = :id
    union all select (select max(rollout_ordinal) from thread_items i
            where i.thread_id = :id and i.turn_id = t.turn_id), 2, 'event_msg', null, null, null,
        iif(status = 'completed', 'task_complete', 'turn_aborted'), turn_id, null,
        $thread_turns.completed_at, null
    from thread_turns t where thread_id = :id and status in ('completed', 'interrupted', 'failed')
    order by 1, 2
    """,
    files=("sessions/*/*/*/rollout-*", "archived_sessions/rollout-*"),
)
"""Codex's history of threads, with its items in the spelling of the rollouts."""
_GOOSE = SessionTables(
    columns={
        "sessions": "id working_dir",
        "messages": "id session_id role content_json created_timestamp",
    },
    states=(
        f"""
        select session_id as id, {_ROW_BYTES} * count(*) as bytes, max(id) as changed
        from messages group by session_id
        """,
        "select id, 0 as bytes, $sessions.updated_at as changed from sessions",
    ),
    rows="""
    select 0 as _1, id, working_dir, $sessions.name as description,
        $sessions.session_type as session_type, 0 as message_count,
        iif(json_valid($sessions.model_config_json),
            json_extract($sessions.model_config_json, '$.model_name'), null) as model,
        null as role, null as created, null as "content:json", null as "metadata:json"
    from sessions where id = :id
    union all select id, $messages.message_id, null, null, null, null, null, role,
        created_timestamp, content_json, $messages.metadata_json
    from messages where session_id = :id order by 1
    """,
)
_KIRO = SessionTables(
    columns={"conversations_v2": "key conversation_id value created_at updated_at"},
    states=(
        """
        select conversation_id as id, sum(length(value)) as bytes, max(updated_at) as changed
        from conversations_v2 group by conversation_id
        """,
    ),
    rows="""
    select updated_at as _1, -1 as _2, conversation_id, key, null as "entry:json"
    from conversations_v2 where conversation_id = :id
    union all select updated_at, entry.key, null, null, entry.value
    from conversations_v2 c, json_each(iif(json_valid(c.value), c.value,
        json_object('history', json_array(cast(c.value as text)))), '$.history') entry
    where conversation_id = :id order by 1, 2
    """,
)
_KIRO_FIRST = SessionTables(
    columns={"conversations": "key value"},
    states=(
        """
        select coalesce(iif(json_valid(value), json_extract(value, '$.conversation_id'), null), key)
            as id, length(value) as bytes, value as changed
        from conversations
        """,
    ),
    rows="""
    with one as (select * from conversations where json_valid(value)
        and coalesce(json_extract(value, '$.conversation_id'), key) = :id)
    select -1 as _1, :id as conversation_id, key, null as "entry:json" from one
    union all select entry.key, null, null, entry.value
    from one, json_each(one.value, '$.history') entry order by 1
    """,
)
"""Kiro CLI before its session files: a conversation for each folder, later several."""
_CURSOR = SessionTables(
    columns={"cursorDiskKV": "key value"},
    states=(
        """
        select substr(key, 14) as id, 0 as bytes,
            iif(json_valid(value), json_extract(value, '$.lastUpdatedAt'), length(value)) as changed
        from cursorDiskKV where key >= 'composerData:' || coalesce(:id, '')
            and key <= 'composerData:' || coalesce(:id, '~')
            and case when json_valid(value)
                then json_array_length(value, '$.fullConversationHeadersOnly') > 0
                    or json_array_length(value, '$.conversation') > 0
                else length(value) > 0 end
        """,
        f"""
        select substr(key, 10, instr(substr(key, 10), ':') - 1) as id,
            {_ROW_BYTES} * count(*) as bytes, max(rowid) as changed
        from cursorDiskKV where key >= 'bubbleId:' || coalesce(:id || ':', '')
            and key < 'bubbleId:' || coalesce(:id || ';', '~') group by 1
        """,
    ),
    rows="""
    with stored as (select value from cursorDiskKV where key = 'composerData:' || :id),
    composer as (select iif(json_valid(value), value, '{}') as value from stored),
    headers as (select h.key as place, json_extract(h.value, '$.bubbleId') as bubble
        from composer, json_each(composer.value, '$.fullConversationHeadersOnly') h)
    select -1 as _1, :id as composerId, json_extract(value, '$.name') as name,
        json_extract(value, '$.createdAt') as createdAt,
        json_extract(value, '$.modelConfig.modelName') as modelName,
        json_extract(value, '$.subagentInfo.parentComposerId') as parentComposerId,
        null as isOrphan, null as "..."
    from composer
    union all select 0, null, null, null, null, null, null, value
    from stored where not json_valid(value)
    union all select c.key, null, null, null, null, null, null, c.value
    from composer, json_each(composer.value, '$.conversation') c
    union all select place, null, null, null, null, null, null, value
    from headers join cursorDiskKV on key = 'bubbleId:' || :id || ':' || bubble
    union all select 1 << 40, null, null, null, null, null, 1, value
    from cursorDiskKV where key >= 'bubbleId:' || :id || ':' and key < 'bubbleId:' || :id || ';'
        and substr(key, 11 + length(:id)) not in (select bubble from headers)
    order by 1
    """,
)
"""Cursor's editor. A row that changes gets another number: its key is replaced."""
_ZED = SessionTables(
    columns={"threads": "id updated_at data_type data"},
    states=(
        """
        select id, length(data) as bytes, coalesce(
            cast(round((julianday(updated_at) - 2440587.5) * 86400000) as integer), updated_at
        ) as changed
        from threads
        """,
    ),
    rows="""
    select id, data_type, $threads.created_at as created_at, $threads.folder_paths as folder_paths,
        $threads.parent_id as parent_id, data as "..."
    from threads where id = :id
    """,
)
_HERMES = SessionTables(
    columns={"messages": "id session_id role content tool_call_id tool_calls tool_name timestamp"},
    states=(
        f"""
        select session_id as id, {_ROW_BYTES} * count(*) as bytes,
            max(id) + sum(coalesce($messages.active, 1)) as changed
        from messages group by session_id
        """,
    ),
    rows="""
    select id, session_id, role, content, tool_call_id, tool_calls as "tool_calls:json", tool_name,
        timestamp, $messages.active as active
    from messages where session_id = :id order by id
    """,
)
_HERMES_SESSIONS = replace(
    _HERMES,
    columns={"sessions": "id source model started_at", **_HERMES.columns},
    rows="""
    select 0 as _1, null as id, id as session_id, $sessions.cwd as cwd, model,
        $sessions.git_branch as git_branch, source, iif(json_valid($sessions.model_config),
            json_extract($sessions.model_config, '$._delegate_from'), null) as delegate_from,
        null as role, null as content,
        null as tool_call_id, null as "tool_calls:json", null as tool_name,
        started_at as timestamp, null as active
    from sessions where id = :id
    union all select id, id, session_id, null, null, null, null, null, role, content,
        tool_call_id, tool_calls, tool_name, timestamp, $messages.active
    from messages where session_id = :id order by 1
    """,
)
LAYOUTS = (
    *(_V2, _V2_EARLY, _V1, _V1_BY_MESSAGE, _CODEX, _GOOSE, _KIRO, _KIRO_FIRST, _CURSOR, _ZED),
    *(_HERMES_SESSIONS, _HERMES),
)
"""The first that lists a session counts."""
