"""Statistics of a journal, and the removal of responses."""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from turnetl.base.model import Usage
from turnetl.base.results import INLINED, described
from turnetl.llm.journal.file import size, transaction
from turnetl.llm.journal.rows import format_time, parse_time

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


@dataclass(frozen=True, slots=True)
class PruneSelection:
    """The responses to remove: those that match every field."""

    older_than: datetime | None
    model: str | None
    """Model name, with or without its provider."""

    def as_parameters(self) -> dict[str, str | None]:
        before = format_time(self.older_than) if self.older_than is not None else None
        return {"before": before, "model": self.model}


def stats(connection: sqlite3.Connection, path: Path) -> JournalStats:
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


def prune(
    connection: sqlite3.Connection, path: Path, selection: PruneSelection, *, dry_run: bool
) -> PruneResult:
    before = size(path)
    entries, total_bytes = connection.execute(_SIZES).fetchone()
    parameters = selection.as_parameters()
    selected, selected_bytes = connection.execute(_SIZES + _SELECTED, parameters).fetchone()
    if dry_run:
        freed = int(before * selected_bytes / total_bytes) if total_bytes else 0
        return PruneResult(path, selected, freed, entries - selected, dry_run)
    # Without a condition SQLite writes hardly anything, which a full disk still has room for.
    where = "" if selection == PruneSelection(None, None) else _SELECTED
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
    """Add up totals with the same name; sorted by name."""
    sums: dict[str, JournalTotals] = {}
    for name, totals in parts:
        sums[name] = sums.get(name, JournalTotals()) + totals
    return dict(sorted(sums.items()))
