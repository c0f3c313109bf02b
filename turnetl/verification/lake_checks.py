"""Compare the turns of a group with the lake. Archives may be gone: nothing here is wrong."""

from collections.abc import Iterator

import polars as pl

from turnetl.verification.check import Check
from turnetl.verification.group_state import GroupState
from turnetl.verification.turn_checks import Examples


def lake_checks(state: GroupState, turns: pl.DataFrame) -> Iterator[Examples]:
    """Compare the receipts with the lake.

    Args:
        state: the group.
        turns: the episodes table of the group: `turn_id`, `content_hash`, `noise`.
    """
    commits = state.known_commits
    pending = turns.filter(pl.col("noise").is_null()).join(commits, on="turn_id", how="anti")
    yield Check.PENDING, _turns(pending)
    yield Check.NOT_IN_LAKE, _turns(commits.join(turns, on="turn_id", how="anti"))
    both = commits.join(turns, on="turn_id", suffix="_in_lake")
    yield Check.STALE, _turns(both.filter(pl.col("content_hash") != pl.col("content_hash_in_lake")))


def _turns(rows: pl.DataFrame) -> list[str]:
    return [f"turn {turn}" for turn in rows["turn_id"]]
