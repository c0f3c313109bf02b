"""Assumed times for turns whose archive has none, so that they can be ingested.

Each run assumes the times again and no table contains them: tables hold what the archives record.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from turnetl.base import schema
from turnetl.base.clock import as_utc
from turnetl.base.errors import BadUsage
from turnetl.lake import ArchiveMetadata

MTIME = "mtime"
_ROW_KEY = ["archive", "first_byte", "content_hash"]
"""Identifies a row of the turns table; a copy may have another turn's id in the episodes table."""


@dataclass(frozen=True, slots=True)
class AssumedTime:
    """When an archive without times was started."""

    at: datetime | None
    """None: the modification time of the archive. UTC without a time zone."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", as_utc(self.at))


def read(text: str, now: datetime) -> AssumedTime:
    """Read an option's value: an ISO 8601 time, UTC if it has no zone, or `mtime`.

    Raises:
        BadUsage: it is neither, or lies in the future.
    """
    if text.strip().lower() == MTIME:
        return AssumedTime(None)
    try:
        given = datetime.fromisoformat(text.strip())
        at = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadUsage(
            f"`{text}` is not a valid time to assume: use an ISO time such as 2026-03-02 or "
            "2026-03-02T09:00+01:00, or `mtime` for the modification time of each archive"
        ) from error
    if at > now:
        raise BadUsage(f"`{text}` is not a valid time to assume: it lies in the future (in UTC)")
    return AssumedTime(at)


def fill(
    episodes: pl.LazyFrame,
    turns: pl.LazyFrame,
    archives: Iterable[ArchiveMetadata],
    assume: AssumedTime,
) -> pl.LazyFrame:
    """Set the time of the episodes that have none, and sort all rows by time again.

    The k-th turn of an archive, from 0, gets the archive's time plus k milliseconds: the order of
    the archive stays, and the next run assumes the same times. No turn starts after its own end.

    Args:
        episodes: rows of `schema.EPISODES`.
        turns: rows of `schema.TURNS` of the group; those of an archive in its own order.
        archives: the archives of the group.
        assume: the time.
    """
    started_at = pl.col("archive_started_at") + pl.duration(milliseconds=pl.col("position"))
    positions = _positions(turns).join(
        _archive_times(archives, assume).lazy(), on="archive", how="left"
    )
    filled = episodes.join(positions, on=_ROW_KEY, how="left").with_columns(
        pl.coalesce("started_at", pl.min_horizontal(started_at, "ended_at")).alias("started_at")
    )
    return filled.drop("position", "archive_started_at").sort(
        "started_at", "session_id", "ordinal", "turn_id", nulls_last=True
    )


def _positions(turns: pl.LazyFrame) -> pl.LazyFrame:
    rows = turns.select(_ROW_KEY).with_row_index("position")
    position = (pl.col("position") - pl.col("position").min().over("archive")).cast(pl.Int64)
    return rows.with_columns(position).unique(_ROW_KEY, keep="first", maintain_order=True)


def _archive_times(archives: Iterable[ArchiveMetadata], assume: AssumedTime) -> pl.DataFrame:
    times = {
        archive.archive: _microseconds(assume.at) if assume.at else archive.mtime_ns // 1000
        for archive in archives
    }
    columns = {"archive": list(times), "archive_started_at": list(times.values())}
    frame = pl.DataFrame(columns, schema={"archive": pl.String, "archive_started_at": pl.Int64})
    return frame.with_columns(pl.col("archive_started_at").cast(schema.TIME))


def _microseconds(time: datetime) -> int:
    since_epoch = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since_epoch.days * 86_400 + since_epoch.seconds) * 1_000_000 + since_epoch.microseconds
