"""A time for turns whose archive has none, so that they can be ingested.

It is assumed anew by each run and stands in no table: those say what the archives say.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from turnetl import schema
from turnetl.errors import BadUsage
from turnetl.lake import ArchiveMetadata

MTIME = "mtime"
_ROW = ["archive", "first_byte", "content_hash"]
"""What tells a row of the turns table; a copy may bear another turn's id in the episodes table."""


@dataclass(frozen=True, slots=True)
class AssumedTime:
    """When an archive without times was begun."""

    at: datetime | None
    """None: when the archive was last written."""


def read(text: str, now: datetime) -> AssumedTime:
    """Read what a person gave: an ISO 8601 time, UTC if it has no zone, or `mtime`.

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
            f"`{text}` is no time to assume: give an ISO time such as 2026-03-02 or "
            "2026-03-02T09:00+01:00, or the word `mtime` for when each archive was last written"
        ) from error
    if at > now:
        raise BadUsage(f"`{text}` is no time to assume: it lies in the future (in UTC)")
    return AssumedTime(at)


def fill(
    episodes: pl.LazyFrame,
    turns: pl.LazyFrame,
    origins: Iterable[ArchiveMetadata],
    assume: AssumedTime,
) -> pl.LazyFrame:
    """Give a time to the episodes that have none, and put all in the order of time again.

    The k-th turn of an archive, from 0, gets the archive's time and k milliseconds: its order
    stays, and the next run gives the same times. No turn starts after its own end.

    Args:
        episodes: rows of `schema.EPISODES`.
        turns: rows of `schema.TURNS` of the group; those of an archive in its own order.
        origins: the archives of the group.
        assume: the time.
    """
    started = pl.col("begun") + pl.duration(milliseconds=pl.col("place"))
    places = _places(turns).join(_begun(origins, assume).lazy(), on="archive", how="left")
    filled = episodes.join(places, on=_ROW, how="left").with_columns(
        pl.coalesce("started_at", pl.min_horizontal(started, "ended_at")).alias("started_at")
    )
    return filled.drop("place", "begun").sort(
        "started_at", "session_id", "ordinal", "turn_id", nulls_last=True
    )


def _places(turns: pl.LazyFrame) -> pl.LazyFrame:
    rows = turns.select(_ROW).with_row_index("place")
    place = (pl.col("place") - pl.col("place").min().over("archive")).cast(pl.Int64)
    return rows.with_columns(place).unique(_ROW, keep="first", maintain_order=True)


def _begun(origins: Iterable[ArchiveMetadata], assume: AssumedTime) -> pl.DataFrame:
    times = {
        origin.archive: _microseconds(assume.at) if assume.at else origin.mtime_ns // 1000
        for origin in origins
    }
    columns = {"archive": list(times), "begun": list(times.values())}
    frame = pl.DataFrame(columns, schema={"archive": pl.String, "begun": pl.Int64})
    return frame.with_columns(pl.col("begun").cast(schema.TIME))


def _microseconds(time: datetime) -> int:
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
