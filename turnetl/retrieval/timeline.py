"""The turns that meet conditions, in the order of time."""

from dataclasses import dataclass
from typing import Annotated

from turnetl.base.results import described
from turnetl.index.lookup import LookupIndex
from turnetl.index.selection import Selection
from turnetl.retrieval.turn_summary import TurnSummary, summarize


@dataclass(frozen=True, slots=True)
class Timeline:
    """The last turns that meet the conditions."""

    turns: Annotated[tuple[TurnSummary, ...], described("The turns, oldest first.")]
    count: Annotated[int, described("How many turns meet the conditions.")]


def timeline(index: LookupIndex, selection: Selection, *, limit: int, skip: int = 0) -> Timeline:
    """Return the last turns that meet the conditions.

    Args:
        index: of the graph.
        selection: the conditions, with ids of groups.
        limit: at most this many turns.
        skip: leave out this many turns after those that are returned.
    """
    count = len(index.select(selection))
    last = index.newest(selection, limit=limit, skip=skip)[::-1]
    return Timeline(tuple(summarize(index, last)), count)
