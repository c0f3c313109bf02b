"""The state that all processes with the same limits share, and the stores that keep it.

Times are seconds of the state's clock, which needs no machine's clock to be right. A process that
takes part knows how many seconds passed since its last exchange, and a time of the state never goes
back. The clock of the store counts only when a process joins.
"""

import asyncio
import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.base.sqlite import connect, ensure_private_file, is_busy, primary_code, transaction
from turnetl.llm.retry import Sleep

Change = Callable[[bytes | None, float], bytes]
"""Called with the present state, None if there is none, and the seconds of the store's clock since
the epoch; returns the new state. It may raise."""


class LimitsStore(Protocol):
    """Keeps a state by name, for all processes that share it."""

    @property
    def place(self) -> str:
        """Where the states are, for messages."""

    async def update(self, name: str, change: Change) -> None:
        """Replace the state of a name. No other process reads or writes it meanwhile.

        If the change raises, the state stays as it is. Opens the store at its first use.

        Raises:
            ModelBusy: the store did not respond. The change may have been made.
            ModelUnusable: the store cannot be used until the user acts. Nothing was changed.
        """

    async def close(self) -> None:
        """Close connections and files. Idempotent; the next update opens them again."""


class MemoryLimits:
    """States in the memory of one process; the clock gives seconds since the epoch."""

    place = "memory"

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._states: dict[str, bytes] = {}

    async def update(self, name: str, change: Change) -> None:
        self._states[name] = change(self._states.get(name), self._clock())

    async def close(self) -> None:
        """Keep the states."""


VERSION = 1
_BUCKET = 0.5
"""Seconds. Requests count from the end of their bucket on, at most this much too long."""


class Member(msgspec.Struct, array_like=True):
    """A process, as of its last exchange."""

    batch: int
    limits: tuple[int | None, int | None, int]
    """Requests per minute, tokens per minute, concurrency."""
    seen: float
    """Time of its last exchange."""
    slots: int
    """Requests that are or may be in flight."""
    slots_until: float
    """They have all ended then, even if the process does not report it."""
    requests: int
    tokens: int
    """Its block: granted, and not known to be used. It counts as used at `until`."""
    until: float
    wanted_slots: int
    unmet: int
    """Requests that it wanted beyond its block."""
    head_tokens: int
    """Tokens of its next request."""
    waiting_since: float
    """When it last got something, or began to want more."""


class LimitsState(msgspec.Struct):
    """Who takes part, and what was used in the last minute."""

    version: int = VERSION
    time: float = 0.0
    """Of the last exchange."""
    spaced: float = 0.0
    """When the next request would start if all were spaced evenly."""
    members: dict[str, Member] = {}
    usage: dict[int, tuple[int, int]] = {}
    """Requests and tokens by bucket."""


class UnknownState(ValueError):
    """The state was not written by this version of turnetl."""


_decoder = msgspec.json.Decoder(LimitsState)
_encoder = msgspec.json.Encoder()


def decode_state(content: bytes | None) -> LimitsState:
    """Return the state; an empty one if there is none."""
    if content is None:
        return LimitsState()
    try:
        state = _decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UnknownState("is damaged") from error
    if state.version != VERSION:
        raise UnknownState(f"has version {state.version}, and this turnetl has {VERSION}")
    return state


def encode_state(state: LimitsState) -> bytes:
    return _encoder.encode(state)


def bucket(time: float) -> int:
    return math.ceil(time / _BUCKET)


def bucket_end(number: int) -> float:
    """Return the time from which the requests of a bucket are counted."""
    return number * _BUCKET


_APPLICATION_ID = 0x74726C6D
"""SQLite's `application_id` of the file."""
_TABLE = "CREATE TABLE IF NOT EXISTS limits (name TEXT PRIMARY KEY, state BLOB NOT NULL)"
_SELECT = "SELECT state FROM limits WHERE name = ?"
_REPLACE = "INSERT OR REPLACE INTO limits VALUES (?, ?)"
_WAIT = 5.0
"""Seconds to wait for other processes. An update takes less than a millisecond."""
_POLL_SECONDS = 0.005


class SqliteLimits:
    """`LimitsStore` in a SQLite file, for the processes of one machine.

    A killed process leaves the old state or the new one. Nothing is lost with the file but the use
    of the last minute.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float],
        wait: float = _WAIT,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Open no file; it and its folder are created at the first use.

        `clock` is in seconds since the epoch; `wait` is the seconds to wait for other processes.
        """
        self._path = path
        self._clock = clock
        self._wait = wait
        self._sleep = sleep
        self._connection: sqlite3.Connection | None = None

    @property
    def place(self) -> str:
        return f"`{self._path}`"

    async def update(self, name: str, change: Change) -> None:
        # SQLite's own wait would block all requests of the process.
        for _ in range(round(self._wait / _POLL_SECONDS)):
            if self._try_update(name, change):
                return
            await self._sleep(_POLL_SECONDS)
        raise ModelBusy(
            f"shared limits `{self._path}` were locked by another process for {self._wait:g} s: "
            "continue or end the process that has the file open"
        )

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _try_update(self, name: str, change: Change) -> bool:
        """Return False, with nothing changed, if another process has the lock."""
        with self._translated(), ExitStack() as opened:
            try:
                connection = self._open()
                opened.enter_context(transaction(connection))
            except sqlite3.OperationalError as error:
                if is_busy(error):
                    return False
                raise
            row = connection.execute(_SELECT, (name,)).fetchone()
            content = change(row[0] if row is not None else None, self._clock())
            connection.execute(_REPLACE, (name, content))
        return True

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            ensure_private_file(self._path)
            connection = connect(self._path, 0)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if tables and application != _APPLICATION_ID:
            raise ModelUnusable(
                f"`{self._path}` is a database of another program: move it away and run again"
            )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(_TABLE)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise ModelUnusable(self._sentence(error)) from error

    def _sentence(self, error: sqlite3.Error | OSError) -> str:
        if isinstance(error, OSError):
            reason = error.strerror or type(error).__name__
        elif primary_code(error) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return (
                f"shared limits `{self._path}` are damaged ({error}): move the file and its "
                "`-wal` and `-shm` files away, and run again; nothing else is lost"
            )
        else:
            reason = str(error)
        return (
            f"shared limits `{self._path}` cannot be read or written ({reason}): make sure that "
            "the folder is writable and its disk has free space, or set llm.shared_limits to none"
        )
