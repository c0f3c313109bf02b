"""The journal's file: one SQLite database that several processes may use concurrently; its rows.

In WAL mode, readers never wait for a writer, and a killed process leaves complete rows or none.
"""

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from turnetl.base import ids
from turnetl.base.errors import JournalUnusable
from turnetl.base.sqlite import connect, ensure_private_file, is_busy, primary_code, transaction
from turnetl.llm.chat import ChatRequest, ChatResponse

TABLE = """
CREATE TABLE responses (
    key TEXT NOT NULL PRIMARY KEY, -- digest of model, messages, schema and parameters
    prompt_name TEXT NOT NULL,
    model TEXT NOT NULL,           -- provider and model
    stored_at TEXT NOT NULL,       -- UTC, ISO
    characters INTEGER NOT NULL,   -- of the request's messages
    calls INTEGER NOT NULL,        -- attempts until the response was valid
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,         -- latency
    cost REAL,                     -- US dollars; null if the price is unknown
    truncated INTEGER NOT NULL,    -- whether the response was; its text is empty then
    hits INTEGER NOT NULL,         -- cache hits
    checksum TEXT NOT NULL,        -- digest of key, response and usage
    response BLOB NOT NULL         -- UTF-8
)
"""
CLAIMS_TABLE = """
CREATE TABLE IF NOT EXISTS claims (
    key TEXT NOT NULL PRIMARY KEY, -- of a request that has no response yet
    owner TEXT NOT NULL,           -- the process that sends it
    until REAL NOT NULL            -- seconds since 1970; then another process may send it
)
"""
COLUMNS = 15
READ = (
    "response, checksum, prompt_name, "
    "calls, prompt_tokens, completion_tokens, cached_tokens, seconds, cost, truncated"
)
_MAX_INTEGER = 2**62
"""The range of SQLite; a provider may report any number."""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """A response with a digest and the size of its request, not the request itself."""

    key: str
    values: tuple[Any, ...]
    """The values of the row, in the column order of `TABLE`."""
    response: ChatResponse
    """The response as a lookup returns it."""
    stored_at: datetime


def to_row(
    key: str, request: ChatRequest, model: str, response: ChatResponse, now: datetime
) -> JournalRow:
    text, usage = response.text.encode("utf-8", "surrogatepass"), usage_fields(response)
    names = (_encodable(request.prompt_name), _encodable(model))
    values = (key, *names, format_time(now), request.characters, *usage, 0)
    stored = replace(response, cache_write_tokens=0)
    return JournalRow(key, (*values, checksum(key, text, usage), text), stored, now)


def to_response(key: str, row: Sequence[Any]) -> ChatResponse | None:
    """Return the response of a row with the columns of `READ`; None if the row is damaged."""
    text, stored, _, *usage = row
    if not isinstance(text, bytes) or stored != checksum(key, text, usage):
        return None
    calls, prompt, completion, cached, seconds, cost, truncated = usage
    return ChatResponse(
        text=text.decode("utf-8", "surrogatepass"),
        prompt_tokens=prompt,
        completion_tokens=completion,
        truncated=bool(truncated),
        cached_tokens=cached,
        calls=calls,
        seconds=seconds,
        cost=cost,
    )


def format_time(time: datetime) -> str:
    """Return a time as text that sorts like the time."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def parse_time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text is not None else None
    except (ValueError, TypeError):
        return None


def usage_fields(response: ChatResponse) -> tuple[int, int, int, int, float, float | None, int]:
    """Return the usage of a response as it is stored: from `calls` to `truncated`."""
    return (
        _integer(response.calls),
        _integer(response.prompt_tokens),
        _integer(response.completion_tokens),
        _integer(response.cached_tokens),
        _real(response.seconds),
        None if response.cost is None else _real(response.cost),
        int(response.truncated),
    )


def _integer(value: int) -> int:
    return max(-_MAX_INTEGER, min(int(value), _MAX_INTEGER))


def _real(value: float) -> float:
    # SQLite stores NaN as null, and -0.0 as 0.0.
    return float(value) if math.isfinite(value) and value else 0.0


def checksum(key: str, text: bytes, usage: Sequence[Any]) -> str:
    """Return the digest of a response and its `usage_fields`."""
    return ids.digest(key, text, *map(repr, usage))[:16]


def _encodable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


_VERSION = "journal/1"


# A request has a key when it runs ahead, in the journal, and again when its turn is committed.
@lru_cache(maxsize=200)
def request_key(model_name: str, request: ChatRequest, parameters: str = "") -> str:
    """Return 32 hex digits: equal requests have equal keys on every machine and in every run.

    It digests the model with its provider, the parameters sent with every request, and all that is
    sent in this one. Not included: the name of the prompt, the pydantic class that validates the
    response, and the order of the keys in the schema. Providers do not receive them.
    """
    header = (model_name, parameters, str(request.max_tokens))
    return ids.digest(_VERSION, *header, *_content(request))


def _content(request: ChatRequest) -> Iterator[str | bytes]:
    yield request.schema.name if request.schema is not None else ""
    yield request.schema.canonical if request.schema is not None else b""
    for message in request.messages:
        yield message.role
        yield message.text


def erase_responses(connection: sqlite3.Connection, is_erased: Callable[[bytes], bool]) -> int:
    """Remove the responses that the function selects, and rewrite the file; return their number.

    It is rewritten even if nothing is removed: an earlier call may have been killed between.
    OperationalError: another process has the journal open.
    """
    connection.execute("PRAGMA secure_delete = ON")
    rows = connection.execute("SELECT key, response FROM responses")
    keys = [(key,) for key, response in rows if is_erased(_bytes(response))]
    with transaction(connection):
        connection.executemany("DELETE FROM responses WHERE key = ?", keys)
    connection.execute("VACUUM")
    [busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        # The write-ahead log may still hold pages with the responses.
        error = sqlite3.OperationalError("the write-ahead log is in use")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error
    return len(keys)


def _bytes(value: object) -> bytes:
    """Return a response as it is stored; a damaged row may hold a text."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


_WAIT = 5.0
"""Seconds to wait for a process that changes the file's structure."""
_SELECT_ALL = f"SELECT key, {READ} FROM responses"  # noqa: S608 - constants


def count_damaged(path: Path) -> tuple[int, int]:
    """Return the number of responses of a journal, and of damaged ones. Writes nothing."""
    with translated_errors(path, _WAIT), closing(_connect(path, _WAIT)) as connection:
        connection.execute("PRAGMA query_only = ON")
        check_version(connection, path)
        [found, *_] = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(str(found))
        responses = damaged = 0
        for key, *row in connection.execute(_SELECT_ALL):
            responses += 1
            damaged += to_response(key, row) is None
        return responses, damaged


VERSION = 3
_APPLICATION_ID = 0x7475726E
"""SQLite's `application_id` of a journal."""
_POLL_INTERVAL = 0.05
"""Seconds."""
_CLOSING_TIMEOUT = 5_000
"""Milliseconds."""
_SYNC_INTERVAL = timedelta(seconds=1)
_SELECT = f"SELECT {READ} FROM responses WHERE key = ?"  # noqa: S608 - constants
_INSERT = f"INSERT OR IGNORE INTO responses VALUES ({', '.join('?' * COLUMNS)})"  # noqa: S608 - as above
_REPLACE = _INSERT.replace("IGNORE", "REPLACE")
_ADD_HITS = "UPDATE responses SET hits = hits + ? WHERE key = ?"


class JournalFile:
    """An open journal. SQLite's exceptions pass through."""

    def __init__(self, reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
        self.reader = reader
        """Fails immediately instead of waiting for a lock."""
        self.writer = writer
        self._synced_at: datetime | None = None

    @classmethod
    def open(cls, path: Path, wait: float) -> "JournalFile":
        """Open the journal for reading and writing; create it and its folder if necessary.

        Each write waits that many seconds for other processes.
        """
        ensure_private_file(path)
        writer = _connect(path, wait)
        try:
            _prepare(writer, path, wait)
            return cls(_connect(path, 0), writer)
        except BaseException:
            writer.close()
            raise

    def check_writable(self) -> None:
        """Write a value. The start of a transaction alone would prove nothing."""
        with transaction(self.writer):
            self.writer.execute(f"PRAGMA user_version = {VERSION}")

    def find(self, key: str, *, wait: bool) -> tuple[Any, ...] | None:
        """Return a row with the columns of `rows.READ`; without `wait`, a lock is an error."""
        connection = self.writer if wait else self.reader
        row: tuple[Any, ...] | None = connection.execute(_SELECT, (key,)).fetchone()
        return row

    def insert(self, row: JournalRow, *, replace: bool) -> None:
        """Write a complete row or nothing; an existing row stays unless it is to be replaced.

        The row survives the end of the process. A power failure may lose rows of the last second:
        an fsync per row would add ten milliseconds to each request.
        """
        sync = self._synced_at is None or abs(row.stored_at - self._synced_at) >= _SYNC_INTERVAL
        if sync:
            self.writer.execute("PRAGMA synchronous = FULL")
        self.writer.execute(_REPLACE if replace else _INSERT, row.values)
        if sync:
            self.writer.execute("PRAGMA synchronous = NORMAL")
            self._synced_at = row.stored_at

    def add_hits(self, hits: Mapping[str, int]) -> None:
        with transaction(self.writer):
            self.writer.executemany(_ADD_HITS, [(count, key) for key, count in hits.items()])

    def shorten_timeout(self) -> None:
        """From now on, wait only a few seconds for other processes."""
        self.writer.execute(f"PRAGMA busy_timeout = {_CLOSING_TIMEOUT}")

    def close(self) -> None:
        self.reader.close()
        self.writer.close()


def size(path: Path) -> int:
    """Return the bytes on disk, including rows that are still in the WAL."""
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    connection = connect(path, wait)
    connection.text_factory = _text
    return connection


def _text(value: bytes) -> str:
    # A damaged name is no reason to fail: the checksum decides whether a row is intact.
    return value.decode("utf-8", "replace")


def _prepare(connection: sqlite3.Connection, path: Path, wait: float) -> None:
    check_version(connection, path)
    if _is_empty(connection):
        # Lets `prune` shrink the file without a second copy of the rest.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _enable_wal(connection, wait)
    connection.execute("PRAGMA synchronous = NORMAL")
    with transaction(connection):
        if _is_empty(connection):
            connection.execute(TABLE)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    check_version(connection, path)
    connection.execute(CLAIMS_TABLE)


def _enable_wal(connection: sqlite3.Connection, wait: float) -> None:
    """Change to WAL mode. SQLite itself does not wait for other processes that do the same."""
    deadline = time.monotonic() + wait
    while _pragma(connection, "journal_mode") != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(_POLL_INTERVAL)
        else:
            # A file system without support for WAL stays in another mode, safe but slower.
            return


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    if _is_empty(connection):
        return
    if _pragma(connection, "application_id") != _APPLICATION_ID:
        raise JournalUnusable(
            f"`{path}` is a database, but not a journal of turnetl: move it away and run again"
        )
    if (version := _pragma(connection, "user_version")) != VERSION:
        raise _other_version(path, version)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _pragma(connection: sqlite3.Connection, name: str) -> int | str:
    value: int | str = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


class JournalConnection:
    """The file in one process, and the failure after which no request is sent."""

    def __init__(self, path: Path, wait: float) -> None:
        """Open no file; `wait` is in seconds."""
        self._path = path
        self._wait = wait
        self._opening = threading.Lock()
        self._failure: JournalUnusable | None = None
        self.file: JournalFile | None = None
        """None before the first use."""
        self.is_writable = False
        """It was found to be."""

    def open(self) -> JournalFile:
        """Return the file; the first call opens it. A failure is raised again by later calls."""
        with self._opening:
            if self.file is None:
                with self.attempt():
                    self.file = JournalFile.open(self._path, self._wait)
            return self.file

    def check_writable(self) -> None:
        """Raise JournalUnusable if the file cannot be written; checked once."""
        if not self.is_writable:
            with self.attempt():
                self.open().check_writable()
            self.is_writable = True

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Use the file. A failure is translated, and raised again by later attempts."""
        self.raise_failure()
        try:
            with self.translated():
                yield
        except JournalUnusable as error:
            self._failure = error
            raise

    def raise_failure(self) -> None:
        """Raise an earlier failure again: each new try could wait a long time for a lock."""
        if self._failure is not None:
            raise self._failure

    def translated(self) -> AbstractContextManager[None]:
        return translated_errors(self._path, self._wait)


FAILURES = (sqlite3.Error, OSError, UnicodeError)
"""Exceptions of SQLite; UnicodeError where it quotes damaged text."""
_NO_LOSS = "turns in the graph are not requested again"


@contextmanager
def translated_errors(path: Path, wait: float) -> Iterator[None]:
    """Translate SQLite's exceptions, raised within `wait` seconds, into what the user must do."""
    try:
        yield
    except FAILURES as error:
        raise JournalUnusable(_sentence(path, error, wait)) from error


def _other_version(path: Path, version: int | str) -> JournalUnusable:
    is_newer = isinstance(version, int) and version > VERSION
    remedy = "update turnetl" if is_newer else "use the turnetl that wrote it"
    return JournalUnusable(
        f"journal `{path}` has version {version}, and this turnetl supports version {VERSION}: "
        f"{remedy}, or move it away and run again; {_NO_LOSS}"
    )


def disk_full(path: Path, free: float) -> JournalUnusable:
    return JournalUnusable(
        f"the disk of journal `{path}` has {free / 1e6:,.0f} MB free: responses could be paid for "
        "and not stored; free some space (`turnetl journal prune` may help), then run again"
    )


def unreadable_row(path: Path, prompt_name: str) -> str:
    return f"journal `{path}`: cannot read a response to `{prompt_name}`; it is requested again"


def not_stored(count: int, error: JournalUnusable) -> str:
    responses = "1 response is" if count == 1 else f"{count:,} responses are"
    return f"{responses} paid for but not stored, and requested again if needed: {error}"


def _sentence(path: Path, error: Exception, wait: float) -> str:
    # First: SQLite's own error about a pipe is that of a full disk.
    if (special := _special_file(path)) is not None:
        return special
    if isinstance(error, OSError):
        return f"journal `{path}`: {error.strerror}; make sure that its folder is writable"
    match primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                f"journal `{path}` was locked by another program for {wait:g} s: end the program "
                "that has it open and run again"
            )
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return (
                f"journal `{path}` cannot be written ({error}): make sure that its disk has free "
                "space and is not damaged, then run again"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return (
                f"journal `{path}` cannot be opened for writing ({error}): make sure that it is a "
                "file that you may write, in a folder that you may write to"
            )
        case _:
            reason = "unreadable" if isinstance(error, UnicodeError) else str(error)
            return (
                f"journal `{path}` is damaged ({reason}): move it and its `-wal` and `-shm` files "
                f"away, and run again; {_NO_LOSS}"
            )


def _special_file(path: Path) -> str | None:
    """Return the sentence about a link, a pipe, a socket or a device; None for all else."""
    if path.is_symlink():
        return (
            f"journal `{path}` is a symbolic link, which turnetl does not follow: put the file "
            "there, or the lake where the file is"
        )
    if os.path.lexists(path) and not (path.is_file() or path.is_dir()):
        return f"journal `{path}` is no regular file: move it away and run again; {_NO_LOSS}"
    return None
