"""Databases with sessions, as agents make them.

Each session has one turn: `Prompt 1` and `Answer 0`. Times are in milliseconds since 1970: `AT`,
and a second later for each session.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa

AT = 1_772_442_000_000
"""2026-03-02 09:00:00 UTC"""
Items = Iterable[tuple[str, dict[str, object]]]
_TIMES = "time_created integer not null, time_updated integer not null"
_OPENCODE = f"""
    create table session (id text primary key, project_id text not null, parent_id text,
        slug text, directory text not null, title text, version text, {_TIMES});
    create table message (id text primary key, session_id text not null, {_TIMES},
        data text not null);
    create index message_session_idx on message (session_id, time_created, id);
    create table part (id text primary key, message_id text not null, session_id text not null,
        {_TIMES}, data text not null);
    create index part_message_idx on part (message_id, id);
    create index part_session_idx on part (session_id);
"""
_OPENCODE_2 = f"""
    create table session_v2 (id text primary key, project_id text not null, parent_id text,
        fork_session_id text, directory text not null, title text, version text, {_TIMES});
    create table session_message (id text primary key, session_id text not null,
        type text not null, seq integer not null, {_TIMES}, data text not null);
    create unique index session_message_idx on session_message (session_id, seq);
"""


def write(path: Path, statements: Iterable[tuple[str, Sequence[object]]], schema: str = "") -> Path:
    """Make a database, or change it, in one transaction."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(schema)
        for statement, values in statements:
            database.execute(statement, values)
        database.commit()
    return path


def opencode(path: Path, sessions: int = 1, parts: int = 1) -> Path:
    """Make a database of OpenCode 1.2, in which each answer has this many parts."""
    rows = (row for number in range(1, sessions + 1) for row in _opencode_rows(number, parts))
    return write(path, rows, _OPENCODE)


def _opencode_rows(number: int, parts: int) -> Iterable[tuple[str, Sequence[object]]]:
    session, at = f"ses_{number}", AT + 1000 * number
    yield (
        "insert into session values (?, 'f00d', null, 'cart', '/home/dev/shop', ?, '1.2.0', ?, ?)",
        (session, "Cart", at, at),
    )
    said = {"user": (f"Prompt {number}",), "assistant": [f"Answer {n}" for n in range(parts)]}
    for place, (role, texts) in enumerate(said.items()):
        message = f"msg_{number}_{place}"
        data = {"role": role, "time": {"created": at + place, "completed": at + place}}
        yield (
            "insert into message values (?, ?, ?, ?, ?)",
            (message, session, at + place, at + place, json.dumps(data)),
        )
        for part, text in enumerate(texts):
            yield (
                "insert into part values (?, ?, ?, ?, ?, ?)",
                (
                    *(f"prt_{number}_{place}_{part}", message, session, at, at),
                    json.dumps({"type": "text", "text": text}),
                ),
            )


def opencode_2(path: Path, sessions: int = 1) -> Path:
    """Make a database of OpenCode 2, or add its tables and sessions to one of version 1."""
    rows = (row for number in range(1, sessions + 1) for row in _opencode_2_rows(number))
    return write(path, rows, _OPENCODE_2)


def _opencode_2_rows(number: int) -> Iterable[tuple[str, Sequence[object]]]:
    session, at = f"ses_{number}", AT + 1000 * number
    yield (
        "insert into session_v2 values (?, 'f00d', null, null, '/home/dev/shop', ?, '2.0.1', ?, ?)",
        (session, "Cart", at, at),
    )
    time = {"created": at, "completed": at}
    said = (
        ("user", {"text": f"Prompt {number}", "time": time}),
        ("synthetic", {"text": "Remember the mode", "time": time}),
        (
            "assistant",
            {
                "content": [{"type": "text", "text": "Answer 0"}],
                "model": {"id": "claude", "providerID": "anthropic"},
                "time": time,
            },
        ),
        ("idle", {"outcome": "succeeded", "time": time}),
    )
    for seq, (kind, data) in enumerate(said):
        yield (
            "insert into session_message values (?, ?, ?, ?, ?, ?, ?)",
            (f"msg_{number}_{seq}", session, kind, seq, at, at, json.dumps(data)),
        )


def codex(path: Path, sessions: int = 1) -> Path:
    """Make the history of Codex's threads."""
    schema = """
        create table thread_turns (thread_id text, turn_id text, rollout_ordinal integer,
            status text, started_at integer, completed_at integer);
        create table thread_items (thread_id text, turn_id text, item_id text,
            rollout_ordinal integer, created_at_ms integer, item_json text);
    """
    items: Items = (
        ("userMessage", {"content": [{"type": "text", "text": "Prompt {}"}]}),
        ("reasoning", {"summary": []}),
        (
            "commandExecution",
            {
                "command": "pytest -q",
                "cwd": "/home/dev/shop",
                "status": "failed",
                "exitCode": 1,
                "aggregatedOutput": "1 failed",
            },
        ),
        ("fileChange", {"changes": [{"path": "a.py", "kind": {"type": "add"}, "diff": "x = 1"}]}),
        ("agentMessage", {"text": "Answer 0"}),
    )
    return write(path, _codex_rows(sessions, items), schema)


def _codex_rows(sessions: int, items: Items) -> Iterable[tuple[str, Sequence[object]]]:
    for number in range(1, sessions + 1):
        thread = f"01a08ac2-8900-7901-8111-{number:012}"
        turn, at = f"01a08ac2-8ce8-71a1-8222-{number:012}", AT + 1000 * number
        yield (
            "insert into thread_turns values (?, ?, 1, 'completed', ?, ?)",
            (thread, turn, at // 1000, at // 1000),
        )
        for ordinal, (kind, item) in enumerate(items, 2):
            data = json.dumps({"type": kind, "id": f"i{ordinal}", **item})
            data = data.replace("{}", str(number))
            yield (
                "insert into thread_items values (?, ?, ?, ?, ?, ?)",
                (thread, turn, f"i{ordinal}", ordinal, at, data),
            )


def goose(path: Path, sessions: int = 1) -> Path:
    """Make a database of Goose."""
    schema = """
        create table sessions (id text primary key, name text, session_type text,
            working_dir text not null, updated_at timestamp, model_config_json text);
        create table messages (id integer primary key autoincrement, message_id text,
            session_id text not null, role text not null, content_json text not null,
            created_timestamp integer not null);
    """
    said = (
        ("user", [{"type": "text", "text": "Prompt {}"}]),
        (
            "assistant",
            [
                {
                    "type": "toolRequest",
                    "id": "t1",
                    "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {}}},
                }
            ],
        ),
        (
            "user",
            [
                {
                    "type": "toolResponse",
                    "id": "t1",
                    "toolResult": {"value": [{"type": "text", "text": "1 failed"}]},
                }
            ],
        ),
        ("assistant", [{"type": "text", "text": "Answer 0"}]),
    )
    return write(path, _goose_rows(sessions, said), schema)


def _goose_rows(
    sessions: int, said: Iterable[tuple[str, object]]
) -> Iterable[tuple[str, Sequence[object]]]:
    for number in range(1, sessions + 1):
        session, at = f"20260302_{number}", AT // 1000 + number
        yield (
            "insert into sessions values (?, 'Cart', 'user', '/home/dev/shop', ?, ?)",
            (session, f"2026-03-02 09:00:{number:02}", '{"model_name": "claude"}'),
        )
        for place, (role, content) in enumerate(said):
            data = json.dumps(content).replace("{}", str(number), 1)
            yield (
                "insert into messages values (null, ?, ?, ?, ?, ?)",
                (f"m{number}{place}", session, role, data, at),
            )


def kiro(path: Path, sessions: int = 1) -> Path:
    """Make the older database of Kiro CLI."""
    schema = """
        create table conversations (key text primary key, value text);
        create table conversations_v2 (key text not null, conversation_id text not null,
            value text not null, created_at integer not null, updated_at integer not null,
            primary key (key, conversation_id));
    """
    rows: list[tuple[str, Sequence[object]]] = []
    for number in range(1, sessions + 1):
        value = json.dumps({"conversation_id": f"c{number}", "history": _kiro_history(number)})
        at = AT + number
        if number == 1:
            rows.append(("insert into conversations values ('/home/dev/shop', ?)", (value,)))
        else:
            insert = "insert into conversations_v2 values ('/home/dev/shop', ?, ?, ?, ?)"
            rows.append((insert, (f"c{number}", value, at, at)))
    return write(path, rows, schema)


def _kiro_history(number: int) -> list[object]:
    use = {"id": "t1", "name": "fs_read", "args": {"path": "a.py"}}
    result = {"tool_use_id": "t1", "content": [{"Text": "x = 1"}], "status": "Success"}
    return [
        {
            "user": {"content": {"Prompt": {"prompt": f"Prompt {number}"}}},
            "assistant": {"ToolUse": {"message_id": "m1", "content": "", "tool_uses": [use]}},
            "request_metadata": {"request_start_timestamp_ms": AT + number},
        },
        {
            "user": {"content": {"ToolUseResults": {"tool_use_results": [result]}}},
            "assistant": {"Response": {"message_id": "m2", "content": "Answer 0"}},
        },
    ]


def cursor(path: Path, sessions: int = 1) -> Path:
    """Make the database of Cursor's editor, with a draft and a bubble that no chat lists."""
    schema = """
        create table ItemTable (key text unique on conflict replace, value blob);
        create table cursorDiskKV (key text unique on conflict replace, value blob);
        insert into cursorDiskKV values ('composerData:draft', '{"composerId": "draft"}');
    """
    return write(path, _cursor_rows(sessions), schema)


def _cursor_rows(sessions: int) -> Iterable[tuple[str, Sequence[object]]]:
    insert = "insert into cursorDiskKV values (?, ?)"
    call = {"name": "read_file", "rawArgs": '{"path": "a.py"}', "result": "x = 1"}
    for number in range(1, sessions + 1):
        composer = f"01a08ac2-0000-4000-8000-{number:012}"
        bubbles: tuple[dict[str, object], ...] = (
            {"type": 1, "text": f"Prompt {number}", "workspaceUris": ["file:///home/dev/shop"]},
            {"type": 2, "text": "", "toolFormerData": {**call, "status": "completed"}},
            {"type": 2, "text": "Answer 0"},
            {"type": 1, "text": "Taken back"},
        )
        headers = [{"bubbleId": f"b{place}"} for place in range(len(bubbles) - 1)]
        data = {"composerId": composer, "createdAt": AT, "lastUpdatedAt": AT + number}
        yield (
            insert,
            (
                f"composerData:{composer}",
                json.dumps({**data, "fullConversationHeadersOnly": headers}),
            ),
        )
        for place, bubble in enumerate(bubbles):
            time = {"bubbleId": f"b{place}", "createdAt": "2026-03-02T09:00:00.000Z"}
            yield insert, (f"bubbleId:{composer}:b{place}", json.dumps({**time, **bubble}))


def zed(path: Path, sessions: int = 1) -> Path:
    """Make the database of Zed's threads: the first in the older form, the others compressed."""
    schema = """
        create table threads (id text primary key, summary text not null, updated_at text not null,
            data_type text not null, data blob not null, parent_id text, folder_paths text,
            created_at text);
    """
    rows: list[tuple[str, Sequence[object]]] = []
    for number in range(1, sessions + 1):
        data = json.dumps(_zed_thread(number)).encode()
        kind, stored = (
            ("json", data.decode())
            if number == 1
            else ("zstd", pa.compress(data, "zstd", asbytes=True))
        )
        at = f"2026-03-02T09:00:{number:02}Z"
        insert = "insert into threads values (?, 'Cart', ?, ?, ?, null, '/home/dev/shop', ?)"
        rows.append((insert, (f"z{number}", at, kind, stored, at)))
    return write(path, rows, schema)


def _zed_thread(number: int) -> dict[str, object]:
    if number == 1:
        said = (("user", "Prompt 1"), ("assistant", "Answer 0"))
        messages: list[object] = [
            {"id": place, "role": role, "segments": [{"type": "text", "text": text}]}
            for place, (role, text) in enumerate(said)
        ]
        return {"version": "0.2.0", "updated_at": "2026-03-02T09:00:01Z", "messages": messages}
    use = {"id": "t1", "name": "read_file", "input": {"path": "a.py"}}
    results = {"t1": {"tool_use_id": "t1", "is_error": False, "content": {"Text": "x = 1"}}}
    messages = [
        {"User": {"id": f"u{number}", "content": [{"Text": f"Prompt {number}"}]}},
        {"Agent": {"content": [{"ToolUse": use}], "tool_results": results}},
        {"Agent": {"content": [{"Thinking": {"text": "?"}}, {"Text": "Answer 0"}]}},
        "Resume",
    ]
    return {"version": "0.3.0", "updated_at": "2026-03-02T09:00:02Z", "messages": messages}


def hermes(path: Path, sessions: int = 1) -> Path:
    """Make the database of Hermes."""
    schema = """
        create table sessions (id text primary key, source text not null, model text, cwd text,
            model_config text, started_at real not null);
        create table messages (id integer primary key autoincrement, session_id text not null,
            role text not null, content text, tool_call_id text, tool_calls text, tool_name text,
            timestamp real not null, active integer not null default 1);
    """
    return write(path, _hermes_rows(sessions), schema)


def _hermes_rows(sessions: int) -> Iterable[tuple[str, Sequence[object]]]:
    calls = json.dumps([{"id": "t1", "function": {"name": "read", "arguments": '{"path":"a.py"}'}}])
    for number in range(1, sessions + 1):
        session, at = f"20260302_{number}", AT / 1000 + number
        yield (
            "insert into sessions values (?, 'cli', 'large', '/home/dev/shop', null, ?)",
            (session, at),
        )
        for row in (
            ("user", f"Prompt {number}", None, None, 1),
            ("assistant", None, None, calls, 1),
            ("tool", "x = 1", "t1", None, 1),
            ("assistant", "Taken back", None, None, 0),
            ("assistant", "Answer 0", None, None, 1),
        ):
            role, content, call, made, active = row
            yield (
                "insert into messages values (null, ?, ?, ?, ?, ?, null, ?, ?)",
                (session, role, content, call, made, at, active),
            )


MAKERS: dict[str, Callable[[Path, int], Path]] = {
    "opencode.db": opencode,
    "opencode-next.db": opencode_2,
    "thread_history_1.sqlite": codex,
    "sessions.db": goose,
    "data.sqlite3": kiro,
    "state.vscdb": cursor,
    "threads.db": zed,
    "state.db": hermes,
}
"""By the name of the database, what makes it with a number of sessions."""
