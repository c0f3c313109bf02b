"""What the catalog of an index records about the index itself, and the catalog's tables.

A column `folded` holds `selection.fold` of a name.
"""

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from datetime import datetime
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import msgspec
import numpy as np
from numpy.typing import NDArray

from turnetl.base import private_files
from turnetl.base.errors import IndexUnusable
from turnetl.base.sqlite import sqlite_path, transaction
from turnetl.index.files import IndexEmbedder
from turnetl.index.port import Keys
from turnetl.index.vectors import ValidRows

TOKENS = 1 << 16
"""Tokens are numbers below this."""
BUSY_TIMEOUT = 5.0
"""Seconds to wait for another process that changes the file's structure."""


class CatalogState:
    """An open database. SQLite's exceptions pass through."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @classmethod
    def open(cls, path: Path) -> Self:
        connection = _connect(path)
        # Readers wait only while a commit is written, not while its transaction grows.
        connection.execute("PRAGMA cache_spill = OFF")
        # Words and vectors of a commit that was lost with the power may be gone already.
        connection.execute("PRAGMA synchronous = FULL")
        return cls(connection)

    @classmethod
    def create(cls, path: Path, embedder: IndexEmbedder) -> None:
        private_files.ensure_file(path)
        with closing(sqlite3.connect(sqlite_path(path), isolation_level=None)) as connection:
            catalog = cls(connection)
            with catalog.transaction():
                for statement in TABLES.split(";"):
                    connection.execute(statement)
                catalog.record("embedder", embedder.name)
                catalog.record("dimensions", embedder.dimensions)
                catalog.record("index_id", uuid4().hex)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {VERSION}")

    @classmethod
    def open_for_reading(cls, path: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> Self:
        """Open the file, which exists; nothing can be written. The timeout is in seconds."""
        connection = _connect(path, busy_timeout)
        # Not `mode=ro`: that could not undo what a killed writer left.
        connection.execute("PRAGMA query_only = ON")
        return cls(connection)

    @property
    def version(self) -> int:
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    def check_version(self, folder: Path) -> None:
        """Raise OtherVersion unless this version of turnetl made the index in the folder."""
        if self.version != VERSION:
            is_newer = self.version > VERSION
            update = "update turnetl, or " if is_newer else ""
            raise OtherVersion(
                f"the search index `{folder}` has version {self.version}, and this turnetl "
                f"supports version {VERSION}: {update}run `turnetl index --rebuild`, which reads "
                "the graph again",
                is_newer=is_newer,
            )

    def upgrade(self, rewrite_words: Callable[[], None]) -> None:
        """Turn an index of one of the two versions before into one of this; leave others.

        `rewrite_words` writes the words of all turns again: earlier versions spelled them as texts
        do. It is called again if the process is killed meanwhile.
        """
        if not WITHOUT_ALIASES <= self.version < VERSION:
            return
        with self.transaction():
            if self.version == WITHOUT_ALIASES:  # no other process did it meanwhile
                for statement in UPGRADE.split(";"):
                    self.connection.execute(statement)
            if self.version < VERSION:
                rewrite_words()
                self.connection.execute(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        self.connection.close()

    def transaction(self) -> AbstractContextManager[None]:
        return transaction(self.connection)

    def embedder(self) -> IndexEmbedder:
        return IndexEmbedder(self.setting("embedder") or "", self.setting("dimensions") or 0)

    def setting(self, name: str) -> Any:
        rows = self.query("SELECT value FROM settings WHERE name = ?", name)
        return rows[0][0] if rows else None

    def record(self, name: str, value: Any) -> None:
        self.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def last_key(self) -> int:
        """Return the highest key that a turn ever had."""
        rows = self.query(LAST_KEY)
        return int(rows[0][0]) if rows else 0

    def removed_turns(self) -> Keys:
        """Return the keys of all turns that were ever removed."""
        rows = self.query("SELECT key FROM removed_turns ORDER BY key")
        return np.array([key for (key,) in rows], dtype=np.int64)

    def removed_with_words(self) -> Keys:
        """Return the keys of removed turns whose words were not removed yet."""
        rows = self.query("SELECT key FROM removed_turns WHERE has_words ORDER BY key")
        return np.array([key for (key,) in rows], dtype=np.int64)

    def set_words_removed(self, keys: Keys) -> None:
        self.connection.executemany(
            "UPDATE removed_turns SET has_words = FALSE WHERE key = ?",
            [(key,) for key in keys.tolist()],
        )

    def valid_rows(self) -> ValidRows:
        packed = self.setting("valid_rows")
        return msgspec.json.decode(packed, type=ValidRows) if packed else ValidRows()

    def set_valid_rows(self, valid: ValidRows) -> None:
        self.record("valid_rows", msgspec.json.encode(valid))

    def generation(self) -> int:
        """Return a number that every change of rows and of turns increments."""
        return self.setting("generation") or 0

    def next_generation(self) -> None:
        self.record("generation", self.generation() + 1)

    def token_counts(self) -> NDArray[np.int64]:
        """Return how many turns contain each token."""
        packed = self.setting("token_counts")
        if packed is None:
            return np.zeros(TOKENS, dtype=np.int64)
        return np.frombuffer(zlib.decompress(packed), dtype=np.int64)

    def add_token_counts(self, counts: NDArray[np.int64]) -> None:
        packed = zlib.compress((self.token_counts() + counts).tobytes(), 1)
        self.record("token_counts", packed)

    def caught_up_at(self) -> datetime | None:
        text = self.setting("caught_up_at")
        return datetime.fromisoformat(text) if text else None

    def query(self, query: str, *parameters: Any) -> list[Any]:
        return self.connection.execute(query, parameters).fetchall()


class OtherVersion(IndexUnusable):
    """Another version of turnetl made the index."""

    def __init__(self, message: str, *, is_newer: bool) -> None:
        super().__init__(message)
        self.is_newer = is_newer


def _connect(path: Path, busy_timeout: float = BUSY_TIMEOUT) -> sqlite3.Connection:
    """Open a file that exists; a missing one is not created."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=busy_timeout,
        isolation_level=None,
        check_same_thread=False,
    )


VERSION = 13
WITHOUT_ALIASES = 11
"""The version whose entities had no aliases."""
APPLICATION_ID = 0x7475726F

UPGRADE = """
CREATE TABLE entity_names (
    folded TEXT NOT NULL, entity INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (folded, entity)
) WITHOUT ROWID;
INSERT OR IGNORE INTO entity_names SELECT folded, key, name FROM entities;
DROP INDEX entities_by_name;
ALTER TABLE entities DROP COLUMN folded"""
"""From `WITHOUT_ALIASES`."""

TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE groups (
    group_id TEXT PRIMARY KEY, creation_id TEXT NOT NULL, sequence INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE turns (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id TEXT NOT NULL UNIQUE,
    group_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    format TEXT,
    git_branch TEXT,
    receipt BLOB NOT NULL,
    text BLOB NOT NULL,
    touched BLOB NOT NULL
);
CREATE INDEX turns_by_session ON turns (group_id, session_id, started_at);
CREATE INDEX turns_by_time ON turns (started_at);
CREATE TABLE removed_turns (
    key INTEGER PRIMARY KEY, has_words INTEGER NOT NULL
);
CREATE INDEX removed_turns_with_words ON removed_turns (key) WHERE has_words;
CREATE TABLE turn_tools (
    folded TEXT NOT NULL, turn INTEGER NOT NULL, tool TEXT NOT NULL, PRIMARY KEY (folded, turn)
) WITHOUT ROWID;
CREATE TABLE entities (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    group_id TEXT NOT NULL,
    name TEXT NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE entity_labels (
    folded TEXT NOT NULL, entity INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY (folded, entity)
) WITHOUT ROWID;
CREATE TABLE entity_names (
    folded TEXT NOT NULL, entity INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (folded, entity)
) WITHOUT ROWID;
CREATE TABLE facts (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    relation TEXT NOT NULL,
    folded TEXT NOT NULL,
    valid_at INTEGER,
    invalid_at INTEGER,
    content BLOB NOT NULL
);
CREATE INDEX facts_by_source ON facts (source);
CREATE INDEX facts_by_target ON facts (target);
CREATE INDEX facts_by_relation ON facts (folded);
CREATE TABLE fact_turns (
    turn INTEGER NOT NULL, fact INTEGER NOT NULL, PRIMARY KEY (turn, fact)
) WITHOUT ROWID;
CREATE INDEX fact_turns_by_fact ON fact_turns (fact);
CREATE TABLE questions (
    turn_id TEXT PRIMARY KEY, digest TEXT NOT NULL, content TEXT NOT NULL
) WITHOUT ROWID;
"""

GROUPS = """
SELECT
    g.group_id, (SELECT count(*) FROM turns t WHERE t.group_id = g.group_id), g.sequence,
    g.creation_id
FROM groups g ORDER BY g.group_id"""

ADD_TURN = """
INSERT INTO turns
    (key, turn_id, group_id, session_id, started_at, format, git_branch, receipt, text, touched)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

LAST_KEY = "SELECT seq FROM sqlite_sequence WHERE name = 'turns'"

ADD_ENTITY = """
INSERT INTO entities (uuid, group_id, name, content) VALUES (?, ?, ?, ?)
ON CONFLICT (uuid) DO UPDATE SET name = excluded.name, content = excluded.content"""

ADD_FACT = """
INSERT INTO facts (uuid, source, target, relation, folded, valid_at, invalid_at, content)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (uuid) DO UPDATE SET
    source = excluded.source, target = excluded.target, relation = excluded.relation,
    folded = excluded.folded, valid_at = excluded.valid_at, invalid_at = excluded.invalid_at,
    content = excluded.content"""

TURNS = """
SELECT t.key, t.turn_id, t.started_at, t.receipt, t.text, (
    SELECT p.key FROM turns p
    WHERE p.group_id = t.group_id AND p.session_id = t.session_id AND p.started_at < t.started_at
    ORDER BY p.started_at DESC, p.turn_id DESC LIMIT 1)
FROM turns t WHERE t.key IN (SELECT value FROM json_each(?))"""

TEXTS = """
SELECT key, text FROM turns WHERE key IN (SELECT value FROM json_each(?))"""

NEXT_TURNS = """
SELECT (
    SELECT n.key FROM turns n
    WHERE n.group_id = t.group_id AND n.session_id = t.session_id AND n.started_at > t.started_at
    ORDER BY n.started_at, n.turn_id LIMIT 1)
FROM turns t WHERE t.key IN (SELECT value FROM json_each(?))"""

SESSION_TURNS = """
SELECT s.key, s.group_id, s.session_id FROM turns s
WHERE (s.group_id, s.session_id) IN (
    SELECT t.group_id, t.session_id FROM turns t WHERE t.key IN (SELECT value FROM json_each(?)))"""

FACTS = """
SELECT ft.turn, f.content, s.content, e.content
FROM fact_turns ft
JOIN facts f ON f.key = ft.fact
JOIN entities s ON s.key = f.source
JOIN entities e ON e.key = f.target
WHERE ft.turn IN (SELECT value FROM json_each(?))"""

FACT_COUNT = """
SELECT count(*) FROM facts f JOIN entities s ON s.key = f.source WHERE s.group_id = ?"""

FACTS_WITHOUT_TURN = """
DELETE FROM facts WHERE NOT EXISTS (SELECT 1 FROM fact_turns ft WHERE ft.fact = facts.key)
    AND uuid IN (SELECT value FROM json_each(?))"""

ENTITIES_WITHOUT_FACT = """
DELETE FROM entities WHERE uuid IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.source = entities.key)
    AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.target = entities.key)"""

WITHOUT_QUESTIONS = """
SELECT key FROM turns t WHERE NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn_id = t.turn_id)
ORDER BY key"""

QUESTIONED_TURNS = """
SELECT count(*) FROM turns t JOIN questions q ON q.turn_id = t.turn_id"""

QUESTIONS_WITHOUT_TURN = """
DELETE FROM questions AS q WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.turn_id = q.turn_id)"""

REMOVE_QUESTIONS = """
DELETE FROM questions WHERE turn_id IN (
    SELECT turn_id FROM turns WHERE key IN (SELECT value FROM json_each(?)))"""
