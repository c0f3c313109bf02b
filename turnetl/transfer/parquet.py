"""Parquet: turns files as a lake has them, which `turnetl import` reads, with entities and facts.

turns/<group>/<digest of the archive's path>.parquet   entities.parquet   facts.parquet

A subagent is in no turn, but a session started it: its tokens of a day belong to the turn of that
session that was the last to start when the first message of the day was written.
"""

import io
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

import msgspec
import polars as pl

from turnetl.base import ids, schema
from turnetl.base.batched import batched
from turnetl.base.model import Entity, Fact, GroupId, SubagentUsage
from turnetl.lake import ArchiveMetadata, Lake, TurnFile
from turnetl.lake.paths import TURNS
from turnetl.redact import Redactor
from turnetl.transfer.content import ExportContent
from turnetl.transfer.redaction import (
    BATCH_FILES,
    RedactedNames,
    redacted_machine,
    redacted_tables,
)


@dataclass(frozen=True, slots=True)
class SelectedUsage:
    """The part of an archive's tokens of subagents that belongs to the selected turns."""

    usage: tuple[SubagentUsage, ...]
    left_out: frozenset[str]
    """Subagents whose turn is not known, and may be one of the selected ones."""


@dataclass(frozen=True, slots=True)
class SessionTurns:
    """When the turns of each session started, and whether they are selected."""

    sessions: Mapping[str, Sequence[tuple[datetime, bool]]]
    """By digest of the session's id; oldest first."""

    @classmethod
    def of(cls, lake: Lake, groups: Collection[GroupId], condition: pl.Expr) -> "SessionTurns":
        """Read the turns files of groups; `condition` selects rows of `schema.TURNS`."""
        sessions: dict[str, list[tuple[datetime, bool]]] = {}
        for group in groups:
            turns = lake.scan_turns(group).filter(pl.col("started_at").is_not_null())
            rows = turns.select("session_id", "started_at", selected=condition).collect()
            for session, started_at, is_selected in rows.iter_rows():
                sessions.setdefault(ids.digest(session), []).append((started_at, is_selected))
        return cls({name: sorted(turns) for name, turns in sessions.items()})

    def select(self, usage: Iterable[SubagentUsage], own_sessions: Iterable[str]) -> SelectedUsage:
        """Return the tokens of selected turns; `own_sessions`: of those that name no session."""
        own = [ids.digest(session) for session in own_sessions]
        kept, left_out = list[SubagentUsage](), set[str]()
        for one in usage:
            is_selected = self._is_selected(one, [one.session] if one.session else own)
            if is_selected:
                kept.append(one)
            elif is_selected is None:
                left_out.add(one.subagent)
        return SelectedUsage(tuple(kept), frozenset(left_out))

    def _is_selected(self, usage: SubagentUsage, sessions: Iterable[str]) -> bool | None:
        """Return whether the turn of tokens is selected; None: it is not known which turn it is."""
        turns = sorted(turn for name in sessions for turn in self.sessions.get(name, ()))
        if usage.started_at is not None:
            # After all turns that started at the same time.
            after = bisect_right(turns, (usage.started_at, True))
            if after:
                return turns[after - 1][1]
        if len(found := {is_selected for _, is_selected in turns}) == 1:
            return found.pop()
        return None


_TIME = pl.Datetime("us", "UTC")
ENTITY_COLUMNS = {
    "uuid": pl.String,
    "group_id": pl.String,
    "name": pl.String,
    "labels": pl.List(pl.String),
    "summary": pl.String,
    "created_at": _TIME,
    "attributes": pl.String,
}
"""Columns of `entities.parquet`; attributes are a JSON object."""
FACT_COLUMNS = {
    "uuid": pl.String,
    "group_id": pl.String,
    "source": pl.String,
    "target": pl.String,
    "relation": pl.String,
    "text": pl.String,
    "turns": pl.List(pl.String),
    "created_at": _TIME,
    "valid_at": _TIME,
    "invalid_at": _TIME,
    "expired_at": _TIME,
    "reference_time": _TIME,
    "attributes": pl.String,
}
"""Columns of `facts.parquet`; source and target are uuids of entities."""


@dataclass(frozen=True, slots=True)
class ParquetExport:
    """The files of an export, and what they hold."""

    files: Mapping[str, bytes]
    """By path."""
    turns: int
    redactions: int
    """In turns."""
    subagents_left_out: int
    """Subagents whose tokens are left out: their archives do not say which turns started them."""


def to_parquet(
    lake: Lake,
    groups: Collection[GroupId],
    condition: pl.Expr | None,
    content: ExportContent,
    redactor: Redactor,
) -> ParquetExport:
    """Return turns files, entities and facts as Parquet.

    A file without a row that meets the condition is left out, unless it has tokens of subagents.
    """
    files = {
        "entities.parquet": encoded(frame(content.entities, ENTITY_COLUMNS)),
        "facts.parquet": encoded(frame(content.facts, FACT_COLUMNS)),
    }
    turns = redactions = 0
    turn_files = lake.turn_files_of(groups)
    selection = _FileSelection.of(lake, groups, turn_files, condition)
    for batch in batched(turn_files, BATCH_FILES):
        selected = selection.select(batch)
        clean = redacted_tables([one.rows for one in selected], redactor)
        names = RedactedNames.of([one.file for one in selected], redactor)
        for one, (redacted, found) in zip(selected, clean, strict=True):
            machine = redacted_machine(one.file.metadata.machine, redactor)
            metadata = replace(names.replaced(one.file.metadata), machine=machine)
            if found or not one.is_whole:
                metadata = _changed(metadata, redacted)
            archive_rows = redacted.with_columns(archive=pl.lit(metadata.archive))
            path = f"{TURNS}/{metadata.group}/{one.file.path.name}"
            files[path] = lake.turns_bytes(archive_rows, metadata)
            turns += redacted.filter(schema.IS_TURN).height
            redactions += found
    return ParquetExport(files, turns, redactions, len(selection.left_out))


@dataclass(frozen=True, slots=True)
class _SelectedRows:
    """The rows of a turns file that are exported."""

    file: TurnFile
    """Its metadata have the tokens of subagents that are exported."""
    rows: pl.DataFrame
    is_whole: bool
    """Whether these are all rows of the file."""


@dataclass(frozen=True, slots=True)
class _FileSelection:
    """What of each turns file is exported."""

    lake: Lake
    condition: pl.Expr | None
    turns: SessionTurns
    left_out: set[str] = field(default_factory=set)
    """Subagents whose tokens are left out, because the turns of these are not known."""

    @classmethod
    def of(
        cls,
        lake: Lake,
        groups: Collection[GroupId],
        files: Iterable[TurnFile],
        condition: pl.Expr | None,
    ) -> Self:
        has_subagents = any(file.metadata.subagent_usage for file in files)
        if condition is None or not has_subagents:
            return cls(lake, condition, SessionTurns({}))
        return cls(lake, condition, SessionTurns.of(lake, groups, condition))

    def select(self, files: Iterable[TurnFile]) -> list[_SelectedRows]:
        return [one for file in files if (one := self._select(file)) is not None]

    def _select(self, file: TurnFile) -> _SelectedRows | None:
        rows = self.lake.read_turns_file(file.path)
        if self.condition is None:
            return _SelectedRows(file, rows, is_whole=True)
        selected = rows.filter(self.condition)
        is_whole = selected.height == rows.height
        if not is_whole or rows.is_empty():
            file = self._with_selected_usage(file, rows)
        # Its metadata name an archive and a folder, which the condition does not select.
        if selected.is_empty() and not file.metadata.subagent_usage:
            return None
        return _SelectedRows(file, selected, is_whole=is_whole)

    def _with_selected_usage(self, file: TurnFile, rows: pl.DataFrame) -> TurnFile:
        usage = file.metadata.subagent_usage
        if not usage:
            return file
        selected = self.turns.select(usage, rows["session_id"].unique())
        self.left_out.update(selected.left_out)
        return TurnFile(file.path, replace(file.metadata, subagent_usage=selected.usage))


def _changed(metadata: ArchiveMetadata, rows: pl.DataFrame) -> ArchiveMetadata:
    """Return the metadata of rows that are not those of the archive's content any more."""
    return replace(
        metadata,
        sha256=ids.digest(*rows["content_hash"]),
        counts={**metadata.counts, "turns": rows.filter(schema.IS_TURN).height},
        retained_turns=0,
        retained_digest="",
    )


def frame(items: Iterable[Entity | Fact], columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return entities or facts as a table of `ENTITY_COLUMNS` or `FACT_COLUMNS`, in their order."""
    return pl.DataFrame([_values(one, columns) for one in items], schema=dict(columns))


def _values(item: Entity | Fact, columns: Iterable[str]) -> Mapping[str, object]:
    values = {name: getattr(item, name) for name in columns}
    lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
    return values | lists | {"attributes": msgspec.json.encode(dict(item.attributes)).decode()}


def encoded(rows: pl.DataFrame) -> bytes:
    """Return a table as a Parquet file."""
    buffer = io.BytesIO()
    rows.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
