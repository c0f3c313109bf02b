"""The journal: responses by the digest of their requests, in one SQLite file in the lake."""

import asyncio
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar
from uuid import uuid4

from turnetl.base.disks import free_bytes
from turnetl.base.errors import BadUsage, JournalUnusable
from turnetl.base.model import Usage
from turnetl.base.results import INLINED, described
from turnetl.base.sqlite import transaction
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.llm.journal.file import (
    FAILURES,
    JournalConnection,
    JournalRow,
    disk_full,
    erase_responses,
    format_time,
    not_stored,
    parse_time,
    size,
    to_response,
    to_row,
    unreadable_row,
)

# `total` instead of `sum`: it cannot overflow.
_SUMS = """
SELECT prompt_name, model, count(*), total(calls), total(prompt_tokens), total(completion_tokens),
    total(cached_tokens), total(seconds), total(hits),
    iif(count(cost) = count(*), total(cost), NULL),
    iif(total(cost IS NULL AND hits > 0), NULL, total(hits * cost))
FROM responses GROUP BY prompt_name, model
"""
_SELECTED = """
WHERE (:before IS NULL OR stored_at < :before)
    AND (:model IS NULL OR model = :model OR substr(model, instr(model, '/') + 1) = :model)
"""
# Per row: its key twice, its other columns, and SQLite's overhead.
_SIZES = (
    "SELECT count(*), total(length(response) + length(prompt_name) + length(model) + 180) "
    "FROM responses"
)


@dataclass(frozen=True, slots=True)
class JournalTotals:
    """Responses in the journal, and what their requests used when they were sent."""

    entries: Annotated[int, described("Responses in the journal.", name="responses")] = 0
    usage: Annotated[Usage, INLINED] = field(default_factory=Usage)
    """Their first cost, each response counted once."""
    hits: Annotated[int, described("Requests that the journal answered.")] = 0
    """Without those of a killed run."""
    saved_cost: Annotated[
        float | None,
        described("US dollars that the hits saved; null if a price is not known.", digits=6),
    ] = 0.0

    def __add__(self, other: "JournalTotals") -> "JournalTotals":
        return JournalTotals(
            self.entries + other.entries,
            self.usage + other.usage,
            self.hits + other.hits,
            _sum(self.saved_cost, other.saved_cost),
        )


@dataclass(frozen=True, slots=True)
class JournalStats:
    """The contents of the journal."""

    path: Annotated[Path, described("Path of the journal.", name="journal")]
    bytes: Annotated[int, described("Size on disk.")] = 0
    """Including SQLite's overhead."""
    oldest: Annotated[
        datetime | None, described("Time of the oldest response; null if there is none.")
    ] = None
    newest: Annotated[
        datetime | None, described("Time of the newest response; null if there is none.")
    ] = None
    by_prompt: Annotated[
        Mapping[str, JournalTotals], described("The same per prompt, sorted by name.")
    ] = field(default_factory=dict)
    by_model: Annotated[
        Mapping[str, JournalTotals], described("The same per model, sorted by name.")
    ] = field(default_factory=dict)
    by_model_and_prompt: Mapping[tuple[str, str], JournalTotals] = field(default_factory=dict)

    @property
    def total(self) -> Annotated[JournalTotals, INLINED]:
        return sum(self.by_model.values(), JournalTotals())


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The responses that were removed from the journal."""

    path: Annotated[Path, described("Path of the journal.", name="journal")]
    entries: Annotated[int, described("Responses removed, or that would be.", name="responses")]
    bytes: Annotated[int, described("Bytes freed; of a dry run an estimate.")]
    remaining: Annotated[int, described("Responses that stay.")]
    dry_run: Annotated[bool, described("Whether nothing was removed.")]


def journal_stats(connection: sqlite3.Connection, path: Path) -> JournalStats:
    rows = connection.execute(_SUMS).fetchall()
    times = connection.execute("SELECT min(stored_at), max(stored_at) FROM responses").fetchone()
    return JournalStats(
        path=path,
        bytes=size(path),
        oldest=parse_time(times[0]),
        newest=parse_time(times[1]),
        by_prompt=_by_name((row[0], _totals(*row[2:])) for row in rows),
        by_model=_by_name((row[1], _totals(*row[2:])) for row in rows),
        by_model_and_prompt={(row[1], row[0]): _totals(*row[2:]) for row in rows},
    )


def prune_responses(
    connection: sqlite3.Connection,
    path: Path,
    parameters: Mapping[str, str | None],
    *,
    dry_run: bool,
) -> PruneResult:
    before = size(path)
    entries, total_bytes = connection.execute(_SIZES).fetchone()
    selected, selected_bytes = connection.execute(_SIZES + _SELECTED, parameters).fetchone()
    if dry_run:
        freed = int(before * selected_bytes / total_bytes) if total_bytes else 0
        return PruneResult(path, selected, freed, entries - selected, dry_run)
    # Without a condition SQLite writes hardly anything, which a full disk still has room for.
    is_everything = all(value is None for value in parameters.values())
    where = "" if is_everything else _SELECTED
    with transaction(connection):
        removed = connection.execute(f"DELETE FROM responses {where}", parameters).rowcount  # noqa: S608 - constants
    # As a script: Python executes one step of a statement without rows, which frees one page.
    connection.executescript("PRAGMA incremental_vacuum")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return PruneResult(path, removed, max(0, before - size(path)), entries - removed, dry_run)


def _sum(cost: float | None, other: float | None) -> float | None:
    return None if cost is None or other is None else cost + other


def _totals(*row: Any) -> JournalTotals:
    entries, calls, prompt, completion, cached, seconds, hits, cost, saved = row
    usage = Usage(int(calls), int(prompt), int(completion), cost, int(cached), seconds)
    return JournalTotals(entries, usage, int(hits), saved)


def _by_name(parts: Iterable[tuple[str, JournalTotals]]) -> dict[str, JournalTotals]:
    sums: dict[str, JournalTotals] = {}
    for name, totals in parts:
        sums[name] = sums.get(name, JournalTotals()) + totals
    return dict(sorted(sums.items()))


log = logging.getLogger(__name__)

_MAX_COUNTED_KEYS = 10_000
"""Keys whose hits are counted in memory."""

T = TypeVar("T")


class Journal:
    """A cache of paid responses. One object per process; several processes may share a file.

    The file is opened at the first lookup. If a response cannot be written, it stays in memory and
    no further request is sent: `check_writable` raises the reason. `close` tries to write it again.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], datetime],
        wait: float = 60.0,
        min_free_bytes: int = 32 << 20,
        owner: str | None = None,
        is_dead: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Configure the journal; opens no file.

        Args:
            wait: seconds to wait for other processes.
            min_free_bytes: free space on the disk that is required before a request is sent.
            owner: of the claims on requests that this process sends; None: a random name.
            is_dead: whether the process of such an owner is known to have ended.
        """
        self.path = path
        self.hits = 0
        """Cache hits of this process."""
        self._clock = clock
        self._min_free_bytes = min_free_bytes
        self._connection = JournalConnection(path, wait)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._unwritten: dict[str, JournalRow] = {}
        self._unreadable: set[str] = set()
        self._uncounted_hits: Counter[str] = Counter()
        self._claims = Claims(owner or uuid4().hex, clock, is_dead)

    def get(self, key: str) -> ChatResponse | None:
        """Return the response with its first cost; None if it is missing or unreadable."""
        with self._connection.translated():
            return self._get(key, wait=True)

    def put(self, key: str, request: ChatRequest, model_name: str, response: ChatResponse) -> None:
        """Write a complete response or nothing. An existing response stays."""
        self._write(to_row(key, request, model_name, response, self._clock()))

    async def get_async(self, key: str) -> ChatResponse | None:
        """Do as `get` without blocking the event loop."""
        if self._connection.file is None:
            await self._in_thread(self._connection.open)
        try:
            return self._get(key, wait=False)
        except FAILURES as error:
            # A lock may last: wait for it in the thread. Any other error occurs there again and is
            # raised then.
            log.debug("journal lookup failed without waiting", exc_info=error)
        return await self._in_thread(self._get_waiting, key)

    async def put_async(
        self, key: str, request: ChatRequest, model_name: str, response: ChatResponse
    ) -> None:
        """Do as `put` without blocking the event loop; rows that cannot be written are kept."""
        row = to_row(key, request, model_name, response, self._clock())
        # Written even if the caller is cancelled: the response is paid for.
        await asyncio.shield(self._in_thread(self._write_or_keep, row))

    async def claim(self, key: str) -> bool:
        """Claim a request before it is sent; return False if another process has claimed it."""
        return await self._in_thread(self._claim, key)

    async def renew_claim(self, key: str) -> None:
        await self._in_thread(self._change_claims, self._claims.renew, key)

    def release_claim(self, key: str) -> None:
        """Let other processes send the request soon. A claim that cannot be released expires."""
        # Not waited for: a cancelled call must end even while another process locks the file.
        self._thread.submit(self._change_claims, self._claims.release, key)

    def count_hit(self, key: str) -> None:
        self.hits += 1
        self._uncounted_hits[key] += 1
        if len(self._uncounted_hits) >= _MAX_COUNTED_KEYS:
            self._thread.submit(self._write_hits)

    async def check_writable(self) -> None:
        """Raise JournalUnusable if a response could not be stored, before it is paid for."""
        self._connection.raise_failure()
        if not self._connection.is_writable:
            await self._in_thread(self._connection.check_writable)
        if (free := free_bytes(self.path.parent)) < self._min_free_bytes:
            raise disk_full(self.path, free)

    def mark_unreadable(self, key: str, prompt_name: str) -> None:
        """Ignore the stored response of this key; the next response replaces it."""
        log.warning(unreadable_row(self.path, prompt_name))
        self._unreadable.add(key)

    def stats(self) -> JournalStats:
        """Return statistics. Does not create a file."""
        if not self.path.exists():
            return JournalStats(self.path)
        with self._connection.translated():
            return journal_stats(self._connection.open().writer, self.path)

    def prune(
        self,
        *,
        older_than: datetime | None = None,
        model: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> PruneResult:
        """Remove responses that match all conditions, at least one, and shrink the file.

        The model is with or without its provider.
        """
        if older_than is None and model is None and not everything:
            raise BadUsage("choose the responses to prune: by age, by model, or all")
        if not self.path.exists():
            return PruneResult(self.path, 0, 0, 0, dry_run)
        before = format_time(older_than) if older_than is not None else None
        parameters = {"before": before, "model": model}
        with self._connection.translated():
            writer = self._connection.open().writer
            return prune_responses(writer, self.path, parameters, dry_run=dry_run)

    def erase(self, is_erased: Callable[[bytes], bool]) -> int:
        """Remove responses so that the file holds no byte of them; return their number.

        No other process may have the file open.
        """
        if not self.path.exists():
            return 0
        with self._connection.translated():
            return erase_responses(self._connection.open().writer, is_erased)

    def close(self) -> None:
        """Write responses kept in memory, if possible now, and close the file. Safe to repeat."""
        self._thread.shutdown()
        if (file := self._connection.file) is not None:
            file.shorten_timeout()
        if self._unwritten:
            self._write_unwritten()
        if self._connection.file is not None:
            self._write_hits()
            self._change_claims(self._claims.release_all)
            self._connection.close()

    def _claim(self, key: str) -> bool:
        with self._connection.attempt():
            return self._claims.take(self._connection.open().writer, key)

    def _change_claims(self, change: Callable[..., None], *arguments: str) -> None:
        try:
            self._connection.raise_failure()
            change(self._connection.open().writer, *arguments)
        except (JournalUnusable, *FAILURES) as error:
            log.info("claims of the journal not changed", exc_info=error)

    def _get_waiting(self, key: str) -> ChatResponse | None:
        with self._connection.attempt():
            return self._get(key, wait=True)

    def _get(self, key: str, *, wait: bool) -> ChatResponse | None:
        if key in self._unwritten:
            return self._unwritten[key].response
        row = self._connection.open().find(key, wait=wait)
        if row is None or key in self._unreadable:
            return None
        if (response := to_response(key, row)) is None:
            self.mark_unreadable(key, str(row[2]))
            return None
        return response

    def _write_hits(self) -> None:
        hits, self._uncounted_hits = self._uncounted_hits, Counter()
        try:
            if hits:
                self._connection.open().add_hits(hits)
        except (JournalUnusable, *FAILURES) as error:
            log.info("cache hits of the journal not counted", exc_info=error)

    def _write(self, row: JournalRow) -> None:
        with self._connection.translated():
            self._connection.open().insert(row, replace=row.key in self._unreadable)
        self._unreadable.discard(row.key)

    def _write_or_keep(self, row: JournalRow) -> None:
        try:
            with self._connection.attempt():
                self._write(row)
        except JournalUnusable:
            self._unwritten[row.key] = row

    def _write_unwritten(self) -> None:
        """Try once more: the disk may have room now, or the lock may be released."""
        try:
            for key in tuple(self._unwritten):
                self._write(self._unwritten[key])
                del self._unwritten[key]
        except JournalUnusable as error:
            log.warning(not_stored(len(self._unwritten), error))

    def _in_thread(self, function: Callable[..., T], *arguments: Any) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)


TTL = timedelta(seconds=60)
"""Lifetime of a claim without renewal."""
_SELECT = "SELECT owner, until FROM claims WHERE key = ?"
_REPLACE = "INSERT OR REPLACE INTO claims VALUES (?, ?, ?)"
_RENEW = "UPDATE claims SET until = ? WHERE key = ? AND owner = ?"
_RELEASE = "DELETE FROM claims WHERE key = ? AND owner = ?"
_RELEASE_ALL = "DELETE FROM claims WHERE owner = ?"


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one process. Each method is one transaction; SQLite's exceptions pass.

    A claim is a row with an owner and an expiry: of several processes with one journal, one sends a
    request. It is deleted when its request has a response or has failed; that of a process that
    ended or no longer renews it is taken over.
    """

    owner: str
    clock: Callable[[], datetime]
    is_dead: Callable[[str], bool]

    def take(self, connection: sqlite3.Connection, key: str) -> bool:
        # Without a transaction first: a process that waits must not lock the others out.
        if self._is_taken(connection, key):
            return False
        with transaction(connection):
            if self._is_taken(connection, key):
                return False
            connection.execute(_REPLACE, (key, self.owner, self._until()))
        return True

    def renew(self, connection: sqlite3.Connection, key: str) -> None:
        connection.execute(_RENEW, (self._until(), key, self.owner))

    def release(self, connection: sqlite3.Connection, key: str) -> None:
        connection.execute(_RELEASE, (key, self.owner))

    def release_all(self, connection: sqlite3.Connection) -> None:
        connection.execute(_RELEASE_ALL, (self.owner,))

    def _is_taken(self, connection: sqlite3.Connection, key: str) -> bool:
        row = connection.execute(_SELECT, (key,)).fetchone()
        if row is None:
            return False
        owner, until = row
        is_running = until > self.clock().timestamp() and not self.is_dead(owner)
        return owner != self.owner and is_running

    def _until(self) -> float:
        return (self.clock() + TTL).timestamp()
