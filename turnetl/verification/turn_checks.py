"""Checks of turns: receipts against episodes, and turns that are there twice."""

from collections.abc import Iterator

import polars as pl

from turnetl.verification.check import Check
from turnetl.verification.group_state import GroupState

Examples = tuple[Check, list[str]]
"""A check, and all that it found."""


def turn_checks(state: GroupState) -> Iterator[Examples]:
    incomplete = state.incomplete_turns
    yield Check.MISSING_EPISODES, _turns(incomplete.filter(pl.col("found") == 0))
    yield (
        Check.HALF_WRITTEN,
        [
            f"turn {turn}: {found} of {chunks} episodes"
            for turn, chunks, found in incomplete.filter(pl.col("found") > 0)
            .select("turn_id", "chunks", "found")
            .iter_rows()
        ],
    )
    known = state.expected["uuid"].implode()
    unknown = state.own_episodes.filter(~pl.col("uuid").is_in(known))
    yield Check.NO_RECEIPT, [f"episode {uuid}" for uuid in unknown["uuid"]]
    yield Check.DUPLICATE_EPISODES, [*_same_ids(state), *_same_turns(state.commits)]


def _same_ids(state: GroupState) -> list[str]:
    counts = state.own_episodes.group_by("uuid").len().filter(pl.col("len") > 1)
    return [f"episode {uuid}: {count} nodes" for uuid, count in counts.iter_rows()]


def _same_turns(commits: pl.DataFrame) -> list[str]:
    """Return each turn that repeats an earlier commit."""
    same = ["session_id", "started_at", "text_hash"]
    ordered = commits.sort("sequence")
    first = pl.col("turn_id").first().over(same)
    repeated = ordered.with_columns(first=first).filter(pl.col("turn_id") != pl.col("first"))
    return [
        f"turn {turn} repeats turn {earlier}"
        for turn, earlier in repeated.select("turn_id", "first").iter_rows()
    ]


def _turns(rows: pl.DataFrame) -> list[str]:
    return [f"turn {turn}" for turn in rows["turn_id"]]
