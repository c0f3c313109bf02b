"""Search: which turns answer a question, each with what it says and where it stands.

Works on groups as a graph holds them, so every graph answers alike. Reads and writes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from turnetl.llm.embedders.port import Embedder
from turnetl.model import Entity, Fact, GroupContents, GroupId, Receipt, SessionId, TurnId
from turnetl.search.ranking import Ranked, Source, Told, rank

_MORE = 4
"""Further facts shown with a hit."""
_SHOWN = 300
"""Characters of a passage in a hit."""

PASSAGE = "PASSAGE"
"""The kind of a hit whose turn has no fact: its best passage stands in."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn, and the fact of it that answers best."""

    fact: str
    score: float
    """Between 0 and 1: how much of the question was found."""
    kind: str
    """The fact's relation, or `PASSAGE`."""
    valid_at: datetime | None
    invalid_at: datetime | None
    """When the fact ceased to hold; None if it still does."""
    group_id: GroupId
    session_id: SessionId
    turn_id: TurnId
    archive: str
    first_line: int
    last_line: int
    passage: str
    """What the turn says where it answers best."""
    more: tuple[str, ...]
    """Further facts of the turn, best first."""


async def search(
    groups: Sequence[GroupContents],
    query: str,
    embedder: Embedder,
    *,
    limit: int = 10,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Hit]:
    """Return the turns that answer the query best, best first, one hit a turn; maybe none.

    Things (entities) count for the turns with a fact about them: by their name, labels and summary,
    and by the meaning of their name.

    Args:
        groups: what is searched, all together.
        query: words, identifiers or a question; an empty one finds nothing.
        since: no turn that began before.
        until: no turn that began at that time or later.
    """
    sources = list(_sources(groups, embedder, since, until))
    if not query.strip() or not sources or limit < 1:
        return []
    ranked = await rank(sources, query, embedder)
    return [_hit(one) for one in ranked[:limit]]


def _sources(
    groups: Sequence[GroupContents],
    embedder: Embedder,
    since: datetime | None,
    until: datetime | None,
) -> Iterator[Source]:
    """Yield the turns of all groups, in the order of (group, session, time)."""
    for contents in sorted(groups, key=lambda one: one.group_id):
        facts = _facts_by_turn(contents, embedder)
        for receipt in sorted(contents.receipts, key=_place):
            if _within(receipt, since, until):
                text = contents.texts.get(receipt.turn_id, "")
                yield Source(receipt, text, tuple(facts.get(receipt.turn_id, ())))


def _facts_by_turn(contents: GroupContents, embedder: Embedder) -> dict[TurnId, list[Told]]:
    """Return what each turn says, in the order it was said."""
    # Vectors of another embedder, or of another length, cannot be compared with the question's.
    made = contents.profile
    alike = (
        made is not None
        and made.embedder == embedder.name
        and made.dimensions == embedder.dimensions
    )
    things = {
        entity.uuid: entity if alike else replace(entity, embedding=None)
        for entity in contents.entities
    }
    told: dict[TurnId, list[Told]] = {}
    for fact in sorted(contents.facts, key=lambda one: (one.created_at, one.uuid)):
        one = _told(fact if alike else replace(fact, embedding=None), things)
        for turn in fact.turns:
            told.setdefault(turn, []).append(one)
    return told


def _told(fact: Fact, things: Mapping[str, Entity]) -> Told:
    about = tuple(things[uuid] for uuid in (fact.source, fact.target) if uuid in things)
    return Told(fact, " ".join((fact.text, *(thing.name for thing in about))), about)


def _place(receipt: Receipt) -> tuple[SessionId, datetime, TurnId]:
    return receipt.session_id, receipt.started_at, receipt.turn_id


def _within(receipt: Receipt, since: datetime | None, until: datetime | None) -> bool:
    early = since is not None and receipt.started_at < since
    late = until is not None and receipt.started_at >= until
    return not early and not late


def _hit(ranked: Ranked) -> Hit:
    receipt = ranked.source.receipt
    best = ranked.facts[0] if ranked.facts else None
    return Hit(
        fact=best.text if best else _clipped(ranked.passage),
        score=round(ranked.score, 4),
        kind=best.name if best else PASSAGE,
        valid_at=best.valid_at if best else receipt.started_at,
        invalid_at=best.invalid_at if best else None,
        group_id=receipt.group_id,
        session_id=receipt.session_id,
        turn_id=receipt.turn_id,
        archive=receipt.archive,
        first_line=receipt.first_line,
        last_line=receipt.last_line,
        passage=_clipped(ranked.passage),
        more=tuple(fact.text for fact in ranked.facts[1 : 1 + _MORE]),
    )


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
