"""Hits: turns with the facts that match best, and where they are in their archives."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.model import ID_CHARS, Fact, GroupId, SessionId, TurnId
from turnetl.base.text import one_line
from turnetl.episode_text.passages import first_passage, prompt_title
from turnetl.index.port import IndexedFact, SearchIndex
from turnetl.retrieval.excerpts import ExcerptRanking
from turnetl.retrieval.ranking import RankedTurn
from turnetl.retrieval.repetition import distinct_facts, repeats_any, repeats_title, shown_text
from turnetl.retrieval.turn_summary import changed_files

_MORE_FACTS = 4
"""Further facts in a hit."""

PASSAGE = "PASSAGE"
"""The relation of a hit whose turn has no fact: its best passage is shown in place of one."""


@dataclass(frozen=True, slots=True)
class HitFact:
    """A fact of a hit."""

    fact: str
    relation: str
    valid_at: datetime | None
    invalid_at: datetime | None
    """When the fact stopped being valid; None if it still is."""


@dataclass(frozen=True, slots=True)
class SessionHit:
    """An episode that another program wrote about a whole session, or about something else.

    It leads to the session that it names, if it names one, and never to a turn or a line.
    """

    episode: str
    """Uuid of the Episodic node."""
    name: str
    """Of the episode."""
    group_id: GroupId
    session_id: SessionId | None
    """The session that the episode names; None if it names none, or several."""
    reference_time: datetime | None
    """Of the episode; None if it has none."""
    score: float
    """As of `SearchHit`."""
    fact: str
    """The fact that matches best, or the best passage. No turn states it."""
    relation: str
    """Relation of the fact, or `PASSAGE`."""
    valid_at: datetime | None
    """As the program dated it: possibly the time of its run."""
    invalid_at: datetime | None
    """When the fact stopped being valid; None if it still is."""
    passage: str
    """The part of the episode's text that matches best; empty if a fact says it."""
    more_facts: tuple[HitFact, ...]
    """Further facts that only this or other such episodes state, best first."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A turn, with the fact of it that matches the query best."""

    id: str
    """The beginning of the turn's id, which other commands accept."""
    prompt: str
    """The first line of what the user wrote."""
    started_at: datetime
    fact: str
    score: float
    """From 0 to 1: how much of the query was found; 1 without a query."""
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
    """The part of the turn's text that matches best; empty if the prompt or a fact says it."""
    more_facts: tuple[HitFact, ...]
    """Further facts of the turn, best first."""
    files: tuple[str, ...]
    """Files that the turn changed."""
    session_hits: tuple[SessionHit, ...] = ()
    """Session-level episodes about the session of the turn, under its best turn only."""


def held(fact: Fact, as_of: datetime | None) -> bool:
    """Return whether a fact held immediately before that time; None: whether or not it did."""
    if as_of is None:
        return True
    begun = fact.valid_at is None or fact.valid_at < as_of
    return begun and (fact.invalid_at is None or fact.invalid_at >= as_of)


def hit_facts(hit: SearchHit | SessionHit) -> list[HitFact]:
    """Return the facts of a hit, best first; a passage in place of one is among them."""
    first = HitFact(hit.fact, hit.relation, hit.valid_at, hit.invalid_at)
    return [first, *hit.more_facts]


def facts_beside_title(hit: SearchHit | SessionHit) -> list[HitFact]:
    """Return the facts of a hit without those that only repeat its prompt or its episode's name."""
    title = hit.name if isinstance(hit, SessionHit) else hit.prompt
    return [fact for fact in hit_facts(hit) if fact.fact not in ("", title)]


def held_facts(
    index: SearchIndex, ranked: Sequence[RankedTurn], as_of: datetime | None
) -> dict[int, Sequence[IndexedFact]]:
    """Return the facts of each turn, by its key: those that held immediately before that time.

    Args:
        index: has the facts.
        ranked: the turns.
        as_of: the time; None: all facts.
    """
    facts = index.facts([hit.turn.key for hit in ranked])
    return {
        key: [indexed for indexed in of_turn if held(indexed.fact, as_of)]
        for key, of_turn in facts.items()
    }


def build_hits(
    ranked: Sequence[RankedTurn],
    facts: Mapping[int, Sequence[IndexedFact]],
    selected: Collection[str] = (),
    excerpts: ExcerptRanking | None = None,
) -> tuple[SearchHit, ...]:
    """Return the hits for these turns.

    No fact of a hit repeats its prompt or another fact, and no passage repeats either of them.

    Args:
        ranked: turns, in the order of the hits.
        facts: of each turn.
        selected: uuids of the facts that come first, whatever they repeat.
        excerpts: orders facts and passages; None: facts are in the order of the turn.
    """
    titles = [one_line(prompt_title(hit.turn.text)) for hit in ranked]
    shown = [
        _shown_facts(facts[hit.turn.key], title, selected)
        for hit, title in zip(ranked, titles, strict=True)
    ]
    ordered = excerpts.best_facts(shown) if excerpts else shown
    hits = []
    for hit, title, of_turn in zip(ranked, titles, ordered, strict=True):
        of_turn.sort(key=lambda indexed: indexed.fact.uuid not in selected)
        best = distinct_facts((indexed.fact for indexed in of_turn), 1 + _MORE_FACTS, selected)
        passage = excerpts.best_passage(hit.turn) if excerpts else first_passage(hit.turn.text)
        changed = changed_files(facts[hit.turn.key])
        hits.append(_hit(hit, title, best, one_line(passage), changed))
    return tuple(hits)


def _shown_facts(
    facts: Sequence[IndexedFact], title: str, selected: Collection[str]
) -> list[IndexedFact]:
    """Return the selected facts, and those that say more than the title."""
    written = shown_text(title)
    return [
        indexed
        for indexed in facts
        if indexed.fact.uuid in selected or not repeats_title(indexed.fact, written)
    ]


def _hit(
    ranked: RankedTurn, title: str, facts: Sequence[Fact], passage: str, files: tuple[str, ...]
) -> SearchHit:
    receipt = ranked.turn.receipt
    best = facts[0] if facts else None
    shown = [fact.text for fact in facts] or [passage]
    return SearchHit(
        id=receipt.turn_id[:ID_CHARS],
        prompt=title,
        started_at=receipt.started_at,
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
        passage="" if repeats_any(passage, (title, *shown)) else passage,
        more_facts=tuple(
            HitFact(fact.text, fact.relation, fact.valid_at, fact.invalid_at) for fact in facts[1:]
        ),
        files=files,
    )
