"""Compare the turns of a group with those of the search index."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import polars as pl

from turnetl.base.graph_model import GroupVersion
from turnetl.base.model import TurnId
from turnetl.verification.check import Check
from turnetl.verification.group_state import GroupState
from turnetl.verification.turn_checks import Examples


@dataclass(frozen=True, slots=True)
class IndexedTurns:
    """The turns of a group in the search index, read before the graph."""

    sequence: int
    """The number of the last commit that the index has read; 0 if none."""
    creation_id: str
    turns: Collection[TurnId]


def index_checks(
    state: GroupState, indexed: IndexedTurns, version: GroupVersion | None
) -> Iterator[Examples]:
    """Compare the receipts with the index.

    Args:
        state: the group.
        indexed: the group in the index.
        version: the group in the graph, read after the index; None: it is not in the graph.
    """
    is_same = version is None or indexed.creation_id == version.creation_id
    last = version.sequence if version is not None else indexed.sequence
    is_ahead = is_same and indexed.sequence > last
    # The next catch-up reads the whole group if it is another one, or an older state of it.
    read_up_to = indexed.sequence if is_same and not is_ahead else 0
    found = pl.Series("turn_id", sorted(indexed.turns), dtype=pl.String)
    lacking = state.known_commits.filter(~pl.col("turn_id").is_in(found.implode()))
    missing = lacking.filter(pl.col("sequence") <= read_up_to)
    behind = state.known_commits.filter(pl.col("sequence") > read_up_to)
    surplus = found.filter(~found.is_in(state.known_commits["turn_id"].implode()))
    yield Check.INDEX_MISSING, [f"turn {turn}" for turn in missing["turn_id"]]
    yield Check.INDEX_SURPLUS, [f"turn {turn}" for turn in surplus] if is_same else []
    ahead = f"group {state.group}: commit {indexed.sequence} of {last}"
    yield Check.INDEX_SEQUENCE, [ahead] if is_ahead else []
    yield Check.INDEX_BEHIND, [f"turn {turn}" for turn in behind["turn_id"]]
