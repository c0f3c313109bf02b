"""Run a search: from a query to hits, each with its best fact and its lineage.

It reads only the index, so hits do not depend on the graph store. It writes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from turnetl.base.time_span import TimeSpan
from turnetl.index.port import IndexedFact, SearchIndex
from turnetl.index.selection import Selection
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.cut_off import CutOff, cut_off
from turnetl.retrieval.excerpts import ExcerptRanking
from turnetl.retrieval.hits import SearchHit, build_hits, held_facts
from turnetl.retrieval.query import analyze, used_part
from turnetl.retrieval.query_time import asks_for_all, find_time, weigh_by_time
from turnetl.retrieval.ranking import RERANKED, WEIGHTS, Evidence, RankedTurn, rank

if TYPE_CHECKING:  # a search without a model does without it
    from turnetl.llm.chat import ChatModel


@dataclass(frozen=True, slots=True)
class Hits:
    """The result of a search."""

    hits: tuple[SearchHit, ...] = ()
    """Best first, one per turn."""
    distant: int = 0
    """Turns that were left out because nothing is close to the query."""
    is_list: bool = False
    """Whether these are all turns of a time or of the conditions, newest first: no turn is better
    than another one."""


class Order(StrEnum):
    """The order of hits."""

    SCORE = "score"
    """Best first."""
    TIME = "time"
    """Newest first: the same hits, in another order."""


async def search(
    index: SearchIndex,
    query: str,
    embedder: Embedder,
    *,
    now: datetime | None = None,
    selection: Selection = Selection(),  # noqa: B008 - a frozen value
    order: Order = Order.SCORE,
    limit: int = 10,
    nearest: bool = False,
    weights: Mapping[Evidence, float] = WEIGHTS,
    model: "ChatModel | None" = None,
) -> Hits:
    """Return the turns that match the query, best first, one hit per turn; possibly none.

    Args:
        index: the index of the graph.
        query: words, identifiers or a question. A quoted part must occur in a hit as it is. An
            empty query lists the selected turns, newest first; without a selection it has no hits.
        embedder: the one that the index was made with.
        now: the current time, in the zone of the times that the query names; None: such times are
            words like others.
        selection: which turns to look at.
        order: of the hits.
        limit: maximum number of hits.
        nearest: return hits even if none is close to the query.
        weights: of the kinds of evidence.
        model: rates the best turns again; None: none does.

    Raises:
        TurnetlError: as the model or the embedder.
    """
    time, text = find_time(used_part(query), now) if now else (None, query)
    if limit < 1 or (selection.is_empty and not query.strip()):
        return Hits()
    if not query.strip() or (time and asks_for_all(text)):
        return _list_newest(index, _within(selection, time), limit)
    static_model = StaticModel.open()
    analyzed = await analyze(text, embedder, static_model)

    def ranked_in(selection: Selection) -> list[RankedTurn]:
        keys = None if selection.is_empty else index.select(selection)
        return rank(analyzed, index, static_model, keys, weights)

    ranked = ranked_in(selection)
    if time:
        ranked = weigh_by_time(ranked, ranked_in(_within(selection, time)))
    ranked = ranked[: limit if model is None else max(limit, RERANKED)]
    facts = held_facts(index, ranked, selection.as_of)
    if not nearest and not _any_close(cut_off(analyzed, index), ranked, facts):
        return Hits(distant=len(ranked[:limit]))
    shown = np.array(sorted(hit.turn.key for hit in ranked), dtype=np.int64)
    excerpts = ExcerptRanking(analyzed, static_model, index.passage_tokens(shown))
    if model is not None:
        from turnetl.retrieval.reranking import rerank  # noqa: PLC0415 - imports graphiti

        ranked = await rerank(query, ranked, facts, excerpts, model)
    best = ranked[:limit]
    if order is Order.TIME:
        best.sort(key=lambda hit: hit.turn.receipt.started_at, reverse=True)
    return Hits(build_hits(best, facts, _selected_facts(index, selection, best), excerpts))


def _list_newest(index: SearchIndex, selection: Selection, limit: int) -> Hits:
    keys = index.newest(selection, limit=limit)
    turns = index.turns(keys)
    listed = [RankedTurn(turns[key], 1.0, {}) for key in keys]
    facts = held_facts(index, listed, selection.as_of)
    return Hits(build_hits(listed, facts, _selected_facts(index, selection, listed)), is_list=True)


def _selected_facts(
    index: SearchIndex, selection: Selection, ranked: Sequence[RankedTurn]
) -> Collection[str]:
    """Return the uuids of the facts for which the turns were selected."""
    if not selection.selects_facts:
        return ()
    return index.selected_facts(selection, [hit.turn.key for hit in ranked])


def _within(selection: Selection, time: TimeSpan | None) -> Selection:
    """Return the selection, restricted to a time."""
    if time is None:
        return selection
    return replace(
        selection,
        since=max(time.start, selection.since or time.start),
        until=min(time.end, selection.until or time.end),
    )


def _any_close(
    limit: CutOff, ranked: Sequence[RankedTurn], facts: Mapping[int, Sequence[IndexedFact]]
) -> bool:
    return any(limit.is_close(hit, facts[hit.turn.key]) for hit in ranked)
