"""Run a search: from a query to hits, each with its best fact and its lineage.

It reads only the index, so hits do not depend on the graph store. It writes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from turnetl.index.documents import fact_text
from turnetl.index.port import IndexedFact, SearchIndex
from turnetl.index.selection import Selection
from turnetl.index.terms import Tokenizer
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.model import GroupId, SessionId, TurnId
from turnetl.retrieval.excerpts import ExcerptRanking, prompt_title
from turnetl.retrieval.query import Query, analyze
from turnetl.retrieval.ranking import RERANKED, WEIGHTS, Evidence, RankedTurn, rank
from turnetl.retrieval.turn_summary import ID_CHARS, changed_files, one_line, repeats

_MORE_FACTS = 4
"""Further facts in a hit."""

PASSAGE = "PASSAGE"
"""The relation of a hit whose turn has no fact: its best passage is shown in place of one."""
MIN_SCORE = 0.15
"""A turn with a lower score is close to the query only if it contains all of its terms.

It is low on purpose: a user skips a wrong hit at a glance, and never sees a hit that is missing.
"""


@dataclass(frozen=True, slots=True)
class Hits:
    """The result of a search."""

    hits: tuple["SearchHit", ...] = ()
    """Best first, one per turn."""
    distant: int = 0
    """Turns that were left out because nothing is close to the query."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A turn, with the fact of it that matches the query best."""

    id: str
    """The beginning of the turn's id, which other commands accept."""
    prompt: str
    """The first line of what the user wrote."""
    fact: str
    score: float
    """From 0 to 1: how much of the query was found."""
    relevance: float | None
    """From 0 to 1: how well a model says that the turn answers; None if none rated it."""
    relation: str
    """Relation of the fact, or `PASSAGE`."""
    valid_at: datetime | None
    invalid_at: datetime | None
    """When the fact stopped being valid; None if it still is."""
    group_id: GroupId
    session_id: SessionId
    turn_id: TurnId
    archive: str
    first_line: int
    last_line: int
    passage: str
    """The part of the turn's text that matches best."""
    more_facts: tuple[str, ...]
    """Further facts of the turn, best first."""
    files: tuple[str, ...]
    """Files that the turn changed."""


async def search(
    index: SearchIndex,
    query: str,
    embedder: Embedder,
    *,
    selection: Selection = Selection(),  # noqa: B008 - a frozen value
    limit: int = 10,
    nearest: bool = False,
    weights: Mapping[Evidence, float] = WEIGHTS,
    model: ChatModel | None = None,
) -> Hits:
    """Return the turns that match the query, best first, one hit per turn; possibly none.

    Args:
        index: the index of the graph.
        query: words, identifiers or a question; an empty query has no hits. A quoted part must
            occur in a hit as it is.
        embedder: the one that the index was made with.
        selection: which turns to look at.
        limit: maximum number of hits.
        nearest: return hits even if none is close to the query.
        weights: of the kinds of evidence.
        model: rates the best turns again; None: none does.

    Raises:
        TurnetlError: as the model or the embedder.
    """
    if not query.strip() or limit < 1:
        return Hits()
    keys = None if selection.is_empty else index.select(selection)
    static_model = StaticModel.open()
    analyzed = await analyze(query, embedder, static_model)
    considered = limit if model is None else max(limit, RERANKED)
    ranked = rank(analyzed, index, static_model, keys, weights)[:considered]
    facts = index.facts([hit.turn.key for hit in ranked])
    if not nearest and not any(_is_close(hit, facts[hit.turn.key], analyzed) for hit in ranked):
        return Hits(distant=len(ranked[:limit]))
    excerpts = ExcerptRanking(analyzed, static_model)
    if model is not None:
        from turnetl.retrieval.reranking import rerank  # noqa: PLC0415 - imports graphiti

        ranked = await rerank(query, ranked, facts, excerpts, model)
    return Hits(tuple(_hit(turn, facts[turn.turn.key], excerpts) for turn in ranked[:limit]))


def _is_close(ranked: RankedTurn, facts: Sequence[IndexedFact], query: Query) -> bool:
    if ranked.score >= MIN_SCORE:
        return True
    terms = Tokenizer().count("\n".join((ranked.turn.text, *map(fact_text, facts))))
    return bool(query.terms) and query.terms.keys() <= terms.keys()


def _hit(ranked: RankedTurn, facts: Sequence[IndexedFact], excerpts: ExcerptRanking) -> SearchHit:
    receipt = ranked.turn.receipt
    title = one_line(prompt_title(ranked.turn.text))
    ordered = excerpts.best_facts([fact for fact in facts if not repeats(fact.fact.text, title)])
    best = ordered[0].fact if ordered else None
    passage = one_line(excerpts.best_passage(ranked.turn.text))
    return SearchHit(
        id=receipt.turn_id[:ID_CHARS],
        prompt=title,
        fact=best.text if best else passage,
        score=round(ranked.score, 4),
        relevance=ranked.relevance,
        relation=best.relation if best else PASSAGE,
        valid_at=best.valid_at if best else receipt.started_at,
        invalid_at=best.invalid_at if best else None,
        group_id=receipt.group_id,
        session_id=receipt.session_id,
        turn_id=receipt.turn_id,
        archive=receipt.archive,
        first_line=receipt.first_line,
        last_line=receipt.last_line,
        passage=passage,
        more_facts=tuple(fact.fact.text for fact in ordered[1 : 1 + _MORE_FACTS]),
        files=changed_files(facts),
    )
