"""What a journal holds, and what is taken out of it."""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from turnetl.llm.journal.file import size, transaction
from turnetl.llm.journal.rows import format_time, parse_time
from turnetl.model import Usage

# `total`, not `sum`: no figures of a provider overflow it.
_SUMS = """
SELECT prompt, model, count(*), total(calls), total(prompt_tokens), total(completion_tokens),
    total(cached_tokens), total(seconds), total(used),
    iif(count(cost) = count(*), total(cost), NULL),
    iif(total(cost IS NULL AND used > 0), NULL, total(used * cost))
FROM answers GROUP BY prompt, model
"""
_CHOSEN = """
WHERE (:before IS NULL OR kept_at < :before)
    AND (:model IS NULL OR model = :model OR substr(model, instr(model, '/') + 1) = :model)
"""
# Of an entry, its key twice, its other columns and what SQLite keeps beside them.
_SIZES = (
    "SELECT count(*), total(length(answer) + length(prompt) + length(model) + 180) FROM answers"
)


@dataclass(frozen=True, slots=True)
class JournalTotals:
    """Some answers of a journal, summed up."""

    entries: int = 0
    usage: Usage = field(default_factory=Usage)
    """What they cost when they were given, once each."""
    used: int = 0
    """How often one of them stood in for a call. What a killed run used is not counted."""
    saved: float | None = 0.0
    """US dollars that these calls would have cost; None where no price is known."""

    def __add__(self, other: "JournalTotals") -> "JournalTotals":
        return JournalTotals(
            self.entries + other.entries,
            self.usage + other.usage,
            self.used + other.used,
            None if self.saved is None or other.saved is None else self.saved + other.saved,
        )


@dataclass(frozen=True, slots=True)
class JournalStats:
    """What a journal holds."""

    path: Path
    bytes: int = 0
    """On disk, with what SQLite keeps beside it."""
    oldest: datetime | None = None
    """None if it holds nothing."""
    newest: datetime | None = None
    by_prompt: Mapping[str, JournalTotals] = field(default_factory=dict)
    """By name, sorted."""
    by_model: Mapping[str, JournalTotals] = field(default_factory=dict)
    """By name, sorted."""

    @property
    def total(self) -> JournalTotals:
        return sum(self.by_model.values(), JournalTotals())


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What was taken out of a journal, or would be."""

    path: Path
    entries: int
    bytes: int
    """By which the file shrank; of a dry run, about by how much it would."""
    left: int
    """Entries that stay."""
    dry_run: bool


@dataclass(frozen=True, slots=True)
class PruneSelection:
    """Which answers are to go: those of which all that is said here is true."""

    older_than: datetime | None
    model: str | None
    """With or without its provider."""

    def as_mapping(self) -> dict[str, str | None]:
        before = format_time(self.older_than) if self.older_than is not None else None
        return {"before": before, "model": self.model}


def stats(connection: sqlite3.Connection, path: Path) -> JournalStats:
    rows = connection.execute(_SUMS).fetchall()
    times = connection.execute("SELECT min(kept_at), max(kept_at) FROM answers").fetchone()
    return JournalStats(
        path=path,
        bytes=size(path),
        oldest=parse_time(times[0]),
        newest=parse_time(times[1]),
        by_prompt=_by_name((row[0], _kept(*row[2:])) for row in rows),
        by_model=_by_name((row[1], _kept(*row[2:])) for row in rows),
    )


def prune(
    connection: sqlite3.Connection, path: Path, chosen: PruneSelection, *, dry_run: bool
) -> PruneResult:
    before = size(path)
    there, room = connection.execute(_SIZES).fetchone()
    go, freed = connection.execute(_SIZES + _CHOSEN, chosen.as_mapping()).fetchone()
    if dry_run:
        return PruneResult(path, go, int(before * freed / room) if room else 0, there - go, dry_run)
    # Without conditions it writes hardly anything, which is what a full disk has room for.
    which = "" if chosen == PruneSelection(None, None) else _CHOSEN
    with transaction(connection):
        gone = connection.execute(f"DELETE FROM answers {which}", chosen.as_mapping()).rowcount  # noqa: S608 - constants
    # As a script: Python takes one step of a statement without rows, which frees one page.
    connection.executescript("PRAGMA incremental_vacuum")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return PruneResult(path, gone, max(0, before - size(path)), there - gone, dry_run)


def _kept(*row: Any) -> JournalTotals:
    entries, calls, prompt, completion, cached, seconds, used, cost, saved = row
    usage = Usage(int(calls), int(prompt), int(completion), cost, int(cached), seconds)
    return JournalTotals(entries, usage, int(used), saved)


def _by_name(parts: Iterable[tuple[str, JournalTotals]]) -> dict[str, JournalTotals]:
    """Sum up what has the same name; sorted."""
    sums: dict[str, JournalTotals] = {}
    for name, kept in parts:
        sums[name] = sums.get(name, JournalTotals()) + kept
    return dict(sorted(sums.items()))
