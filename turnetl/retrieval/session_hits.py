"""Hits of session-level data: episodes of other programs, beside the turns of their sessions."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from turnetl.base.model import GroupId, SessionId
from turnetl.base.results import described
from turnetl.graph.session_level import UNKNOWN_TIME
from turnetl.retrieval.hits import PASSAGE, HitFact, SearchHit, SessionHit, hit_facts
from turnetl.retrieval.repetition import repeats_any
from turnetl.retrieval.search import Hits, Order


@dataclass(frozen=True, slots=True)
class CombinedHits:
    """The result of a search over turns and session-level data."""

    results: tuple[SearchHit | SessionHit, ...]
    """Best first, or newest first: turns, each with the episodes of its session, and the episodes
    of which no turn is a hit."""
    distant: Annotated[
        int,
        described("Turns that were left out because nothing is close; --nearest prints them."),
    ]
    """With episodes."""

    @property
    def hits(
        self,
    ) -> Annotated[
        tuple[SearchHit, ...],
        described("The hits, one per turn: best first, or newest first without a query."),
    ]:
        return tuple(hit for hit in self.results if isinstance(hit, SearchHit))

    @property
    def session_hits(
        self,
    ) -> Annotated[
        tuple[SessionHit, ...],
        described(
            "Session-level episodes of whose sessions no turn is a hit, in the same order. They "
            "count for --limit; the scores tell where they are among the hits."
        ),
    ]:
        return tuple(hit for hit in self.results if isinstance(hit, SessionHit))


def combine(turns: Hits, sessions: Hits, *, order: Order, limit: int) -> CombinedHits:
    """Return the hits of both searches, each fact once.

    An episode is put under the best turn of the session that it names, without the facts that
    turns of this session say in their hits; else it is a hit of its own.

    Args:
        turns: the hits of the turns.
        sessions: the hits of the index of session-level episodes.
        order: of both.
        limit: maximum number of results; an episode under a turn is not counted.
    """
    best: dict[SessionId, SearchHit] = {}
    for hit in turns.hits:
        best.setdefault(hit.session_id, hit)
    under: dict[str, list[SessionHit]] = {}
    alone: list[SessionHit] = []
    for found in map(_session_hit, sessions.hits):
        turn = best.get(found.session_id) if found.session_id else None
        if turn is None:
            alone.append(found)
        else:
            of_session = [hit for hit in turns.hits if hit.session_id == turn.session_id]
            under.setdefault(turn.turn_id, []).append(_without_repeated(found, of_session))
    merged: list[SearchHit | SessionHit] = [
        replace(hit, session_hits=tuple(under.get(hit.turn_id, ()))) for hit in turns.hits
    ]
    merged += alone
    if order is Order.TIME or turns.is_list or sessions.is_list:
        merged.sort(key=_newest_first)
    elif all(hit.relevance is None for hit in turns.hits):
        merged.sort(key=lambda hit: -hit.score)
    distant = turns.distant + sessions.distant if not merged else 0
    return CombinedHits(tuple(merged[:limit]), distant)


def _newest_first(hit: SearchHit | SessionHit) -> float:
    time = hit.started_at if isinstance(hit, SearchHit) else hit.reference_time
    return -(time or UNKNOWN_TIME).timestamp()


def _session_hit(hit: SearchHit) -> SessionHit:
    """Return a hit of the index of session-level episodes, as `session_documents` fills it."""
    return SessionHit(
        episode=hit.turn_id,
        name=hit.archive,
        group_id=GroupId(hit.group_id),
        session_id=hit.session_id or None,
        reference_time=None if hit.started_at == UNKNOWN_TIME else hit.started_at,
        score=hit.score,
        fact=hit.fact,
        relation=hit.relation,
        valid_at=_known(hit.valid_at),
        invalid_at=hit.invalid_at,
        passage=hit.passage,
        more_facts=hit.more_facts,
    )


def _without_repeated(hit: SessionHit, turns: Iterable[SearchHit]) -> SessionHit:
    """Return the hit without the facts and the passage that hits of turns say."""
    shown = [text for turn in turns for text in _shown(turn)]
    facts = [fact for fact in hit_facts(hit) if not repeats_any(fact.fact, shown)]
    passage = "" if repeats_any(hit.passage, shown) else hit.passage
    best = facts[0] if facts else HitFact("", PASSAGE, hit.reference_time, None)
    return replace(
        hit,
        fact=best.fact,
        relation=best.relation,
        valid_at=best.valid_at,
        invalid_at=best.invalid_at,
        passage=passage,
        more_facts=tuple(facts[1:]),
    )


def _shown(turn: SearchHit) -> list[str]:
    return [turn.prompt, turn.fact, turn.passage, *(more.fact for more in turn.more_facts)]


def _known(time: datetime | None) -> datetime | None:
    return None if time == UNKNOWN_TIME else time
