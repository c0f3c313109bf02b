"""Databases with sessions, as agents make them.

Each session has one turn: `Prompt 1` and `Answer 0`. Times are in milliseconds since 1970: `AT`,
and a second later for each session.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

AT = 1_772_442_000_000
"""2026-03-02 09:00:00 UTC"""
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


MAKERS: dict[str, Callable[[Path, int], Path]] = {
    "opencode.db": opencode,
    "opencode-next.db": opencode_2,
}
"""By the name of the database, what makes it with a number of sessions."""
