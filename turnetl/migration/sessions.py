"""The sessions of archives, as a migration compares them with what a graph holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from turnetl.base.graph_model import GroupContents, Receipt
from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.lake import Lake


@dataclass(frozen=True, slots=True)
class ArchivedSession:
    """A session that archives hold."""

    format: str
    session_id: SessionId
    started_at: datetime | None
    """None if its archives have no times."""
    ended_at: datetime | None
    """Time of its last row; None if unknown."""
    turns: int
    """Turns that a migration would ingest."""
    noise: int
    """Turns that are noise."""
    chars: int
    """Of the episode texts of `turns`."""
    tokens: int
    """Of the same, estimated."""
    archives: tuple[Path, ...]
    """Of its turns and of the runs of their subagents, sorted."""
    text: str
    """The episode texts of all of its turns, joined."""


_COLUMNS = (
    *("format", "session_id", "started_at", "ended_at", "noise"),
    *("text", "chars_after", "tokens", "ordinal"),
)


def archived_sessions(lake: Lake, groups: Iterable[GroupId]) -> list[ArchivedSession]:
    """Return the sessions of these groups of a lake, each once, by (format, session_id)."""
    of_runs = pl.col("subagents").list.eval(pl.element().struct.field("archive"))
    columns = (*_COLUMNS, pl.concat_list("archive", of_runs).alias("archives"))
    frames = [lake.scan_episodes(group).select(columns).collect() for group in groups]
    if not frames:
        return []
    is_kept = pl.col("noise").is_null()
    sessions = (
        pl.concat(frames)
        .sort("format", "session_id", "ordinal", "started_at")
        .group_by("format", "session_id", maintain_order=True)
        .agg(
            started_at=pl.col("started_at").min(),
            ended_at=pl.max_horizontal(pl.col("started_at").max(), pl.col("ended_at").max()),
            turns=is_kept.sum(),
            noise=(~is_kept).sum(),
            chars=pl.col("chars_after").filter(is_kept).sum(),
            tokens=pl.col("tokens").filter(is_kept).sum(),
            archives=pl.col("archives").explode().unique().sort(),
            text=pl.col("text").str.join("\n"),
        )
    )
    return [
        ArchivedSession(**{**row, "archives": tuple(map(Path, row["archives"]))})
        for row in sessions.iter_rows(named=True)
    ]


def loaded_sessions(
    contents: GroupContents, expected: Iterable[tuple[str, str]]
) -> list[ArchivedSession]:
    """Return the sessions of a loaded group and the expected ones, by (format, session_id)."""
    receipts: dict[tuple[str, str], list[Receipt]] = {key: [] for key in expected}
    for receipt in contents.receipts:
        receipts.setdefault((receipt.format, receipt.session_id), []).append(receipt)
    return [_loaded_session(key, receipts[key], contents.texts) for key in sorted(receipts)]


def _loaded_session(
    key: tuple[str, str], receipts: Sequence[Receipt], texts: Mapping[TurnId, str]
) -> ArchivedSession:
    found = [texts.get(one.turn_id, "") for one in receipts]
    return ArchivedSession(
        format=key[0],
        session_id=SessionId(key[1]),
        started_at=min((one.started_at for one in receipts), default=None),
        ended_at=max((one.ended_at or one.started_at for one in receipts), default=None),
        turns=len(receipts),
        noise=0,
        chars=sum(map(len, found)),
        tokens=0,
        archives=(),
        text="\n".join(found),
    )
